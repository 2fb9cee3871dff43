package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
)

func init() {
	add(groupFiles, "trust", "the European trusted lists: fetch, import, export, show them", func() any { return new(trustCommand) })
}

// trustFlags say whom to trust and whether to ask the network.
type trustFlags struct {
	Trust     []string `placeholder:"PEM" help:"certificates to trust (PEM or DER); repeatable"`
	NoNetwork bool     `env:"ROGITO_NETWORK_OFFLINE" help:"fetch nothing: neither revocation data nor lists"`

	networkFlags
	Lists bool `default:"true" negatable:"" env:"ROGITO_TRUST_LISTS" help:"fetch the European lists where none are in the data folder"`
	listFlags
}

// listFlags say which trusted lists to keep.
type listFlags struct {
	Data        string `default:"./data" env:"ROGITO_DATA" help:"the data folder, where lists are kept"`
	LOTL        string `name:"lotl" env:"ROGITO_TRUST_LOTL" placeholder:"URL" help:"the list of lists; the EU's by default"`
	LOTLAnchors string `name:"lotl-anchors" env:"ROGITO_TRUST_LOTL_ANCHORS" placeholder:"PEM" help:"certificates that sign it; by default those of the Official Journal, C/2026/1944"`
}

// set is the lists of the flags, none of them loaded yet.
func (f *listFlags) set(network bool) (*tsl.Set, error) {
	c := tsl.Config{LOTL: f.LOTL, Dir: filepath.Join(f.Data, "trust", "lists")}
	if f.LOTLAnchors != "" {
		b, err := os.ReadFile(f.LOTLAnchors)
		if err != nil {
			return nil, err
		}
		if c.Anchors = trust.Certificates(b); len(c.Anchors) == 0 {
			return nil, fmt.Errorf("%s: %w", f.LOTLAnchors, trust.ErrNoCertificate)
		}
	}
	if network {
		c.Client = listClient()
	}
	return tsl.NewSet(c)
}

func addAnchors(store *trust.Store, paths []string) error {
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := store.AddAnchors(b); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// firstFetch bounds the one time that a verdict waits for lists.
const firstFetch = 90 * time.Second

// store is the trust store of the flags, with the lists of the data folder.
// Where there are none and the network may be used, they are fetched once.
func (f *trustFlags) store(s *session) (*trust.Store, error) {
	store := new(trust.Store)
	if !f.NoNetwork {
		var err error
		if store.Client, err = f.client(); err != nil {
			return nil, err
		}
	}
	if err := addAnchors(store, f.Trust); err != nil {
		return nil, err
	}
	fetch := f.Lists && !f.NoNetwork
	set, err := f.set(fetch)
	if err != nil {
		return nil, err
	}
	store.Lists = set
	_ = set.Load(s.ctx) // what is missing shows in the report
	if set.Loaded() || !fetch {
		return store, nil
	}
	s.notef("there are no European trusted lists in %s yet: fetching them (once)", f.Data)
	ctx, cancel := context.WithTimeout(s.ctx, firstFetch)
	defer cancel()
	var lotl *tsl.LOTLError
	if err := set.Refresh(ctx); err != nil && (errors.As(err, &lotl) || ctx.Err() != nil) {
		s.notef("the lists cannot be had: %v", err)
	}
	return store, nil
}

type trustCommand struct {
	Update trustUpdate `cmd:"" help:"fetch the lists"`
	Import trustImport `cmd:"" help:"take lists from a folder or zip, on a machine without network"`
	Export trustExport `cmd:"" help:"write the lists that are there into a zip"`
	List   trustList   `cmd:"" help:"show the lists that are there"`
}

// Help says what the lists are for.
func (*trustCommand) Help() string {
	return example(`
The member states publish whom they supervise as trust service providers; the Commission publishes a list of these lists. With
them a certificate of any European provider is known, and whether it is qualified. The certificates that sign the list of lists,
as the Official Journal names them, come with this program. A list is taken only if whoever should have signed it did, and
never an older one than that held. One that cannot be had hurts no other.

The server fetches them by itself (trust.lists), and "rogito verify" does so once where there are none.`,
		"rogito trust update", "rogito trust list", "rogito trust export lists.zip      # here", "rogito trust import lists.zip      # on a machine without network")
}

type trustUpdate struct {
	listFlags
	listForm
}

// listForm is how lists are shown.
type listForm struct {
	JSON bool `help:"print an array: territory, sequence, issued, nextUpdate, verified"`
}

func (c *trustUpdate) Run(s *session) error {
	set, err := c.set(true)
	if err != nil {
		return err
	}
	return c.printUpdated(s, set, set.Refresh(s.ctx))
}

// printUpdated prints the lists after an update. Lists that failed are named and do not affect the
// others; a list of lists that does not verify is an error.
func (c listForm) printUpdated(s *session, set *tsl.Set, err error) error {
	if set.Loaded() {
		if err := c.print(s, set.State()); err != nil {
			return err
		}
	}
	var lotl *tsl.LOTLError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lotl), !set.Loaded(), s.ctx.Err() != nil:
		return fmt.Errorf("%w (what was there before stays in use until its next update)", err)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		s.notef("%s", line)
	}
	return nil
}

type trustImport struct {
	listFlags
	listForm
	Path string `arg:"" help:"folder or zip with lists; their names do not matter"`
}

func (c *trustImport) Run(s *session) error {
	set, err := c.set(false)
	if err != nil {
		return err
	}
	info, err := os.Stat(c.Path)
	if err != nil {
		return err
	}
	from := os.DirFS(c.Path)
	if !info.IsDir() {
		z, err := zip.OpenReader(c.Path)
		if err != nil {
			return fmt.Errorf("%s is neither a folder nor a zip: %w", c.Path, err)
		}
		defer z.Close()
		from = z
	}
	return c.printUpdated(s, set, set.Import(s.ctx, from))
}

type trustExport struct {
	listFlags
	outcome
	File string `arg:"" help:"the zip to write"`
}

func (c *trustExport) Run(s *session) error {
	set, err := c.set(false)
	if err != nil {
		return err
	}
	if err := set.Load(s.ctx); !set.Loaded() {
		return fmt.Errorf("no lists are there yet; see: rogito trust update, rogito trust import (%w)", err)
	}
	var b bytes.Buffer
	if err := set.Export(&b); err != nil {
		return err
	}
	if err := os.WriteFile(c.File, b.Bytes(), 0o644); err != nil {
		return err
	}
	return c.report(s, map[string]any{"file": c.File, "lists": len(set.State())}, "%s", c.File)
}

type trustList struct {
	listFlags
	listForm
}

func (c *trustList) Run(s *session) error {
	set, err := c.set(false)
	if err != nil {
		return err
	}
	_ = set.Load(s.ctx)
	if !set.Loaded() && !c.JSON {
		s.notef("no lists are there yet; see: rogito trust update, rogito trust import")
	}
	return c.print(s, set.State())
}

// listJSON is a list in the words of the contract; what is not known is null.
type listJSON struct {
	Territory  string  `json:"territory"`
	Sequence   *int    `json:"sequence"`
	Issued     *string `json:"issued"`
	NextUpdate *string `json:"nextUpdate"`
	Verified   bool    `json:"verified"`
}

func listsJSON(lists []report.ListState) []listJSON {
	out := []listJSON{}
	for _, l := range lists {
		j := listJSON{Territory: l.Territory, Issued: rfc3339(l.Issued), NextUpdate: rfc3339(l.NextUpdate), Verified: l.Verified}
		if l.Sequence > 0 {
			j.Sequence = &l.Sequence
		}
		out = append(out, j)
	}
	return out
}

func rfc3339(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}

func (c listForm) print(s *session, lists []report.ListState) error {
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(listsJSON(lists))
	}
	w := tabwriter.NewWriter(s.text(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LIST\tSEQUENCE\tISSUED\tNEXT UPDATE\tSERVICES\tSTATE")
	for _, l := range lists {
		state := "usable"
		switch {
		case l.Error != "" && l.Usable:
			state = "usable, last refresh: " + firstLine(l.Error)
		case l.Error != "":
			state = firstLine(l.Error)
		case !l.Usable:
			state = "past its next update"
		}
		sequence := "-"
		if l.Sequence > 0 {
			sequence = fmt.Sprint(l.Sequence)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", l.Territory, sequence, date(l.Issued), date(l.NextUpdate), l.Services, state)
	}
	return w.Flush()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

// networkFlags say which hosts the addresses in certificates and documents may lead to. Those
// addresses are untrusted.
type networkFlags struct {
	AllowPrivate []string `name:"allow-private" env:"ROGITO_NETWORK_ALLOW_PRIVATE" placeholder:"HOST[:PORT]" help:"private host that may be fetched from; repeatable"`
}

// client reaches public addresses and the private ones that were allowed, and
// follows no redirect, as the server's does.
func (f networkFlags) client() (*http.Client, error) {
	guard, err := fetch.New(fetch.Config{AllowPrivate: f.AllowPrivate, Teach: "add"})
	if err != nil {
		return nil, err
	}
	return guard.Client(30 * time.Second), nil
}

// listClient fetches lists: the address of the list of lists is the
// operator's, and the lists that it names are believed by their signatures.
func listClient() *http.Client { return &http.Client{Timeout: 30 * time.Second} }
