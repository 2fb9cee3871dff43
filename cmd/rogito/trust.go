package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
)

func init() {
	add(groupFiles, "trust", "EU trusted lists: fetch them, show their state", func() any { return new(trustCommand) })
}

// trustFlags say whom to trust and whether to ask the network.
type trustFlags struct {
	Trust     []string `placeholder:"PEM" help:"certificates to trust (PEM or DER); repeatable"`
	NoNetwork bool     `help:"fetch nothing: neither revocation data nor lists"`
	listFlags
}

// listFlags say which trusted lists to keep.
type listFlags struct {
	Data        string `default:"./data" env:"ROGITO_DATA" help:"the data folder, where lists are kept"`
	LOTL        string `name:"lotl" env:"ROGITO_TRUST_LOTL" placeholder:"URL" help:"the list of lists; the EU's by default"`
	LOTLAnchors string `name:"lotl-anchors" env:"ROGITO_TRUST_LOTL_ANCHORS" placeholder:"PEM" help:"certificates of the Official Journal that sign it; without them no list is used"`
}

// set is the lists of the flags; nil when no anchor for them is configured.
func (f *listFlags) set(network bool) (*tsl.Set, error) {
	path := f.LOTLAnchors
	if path == "" {
		path = filepath.Join(f.Data, "trust", "lotl-anchors.pem")
		if _, err := os.Stat(path); err != nil {
			return nil, nil
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := tsl.Config{LOTL: f.LOTL, Anchors: trust.Certificates(b), Dir: filepath.Join(f.Data, "trust", "lists")}
	if len(c.Anchors) == 0 {
		return nil, fmt.Errorf("%s: %w", path, trust.ErrNoCertificate)
	}
	if network {
		c.Client = client()
	}
	return tsl.NewSet(c)
}

// store is the trust store of the flags. Lists come from the data folder
// only: they are never fetched while somebody waits for a verdict.
func (f *trustFlags) store(s *session) (*trust.Store, error) {
	store := new(trust.Store)
	if !f.NoNetwork {
		store.Client = client()
	}
	for _, path := range f.Trust {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := store.AddAnchors(b); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	set, err := f.set(false)
	if err != nil || set == nil {
		return store, err
	}
	if err := set.Load(s.ctx); err != nil {
		s.notef("trusted lists: %v (see: rogito trust update)", err)
	}
	store.Lists = set
	return store, nil
}

type trustCommand struct {
	Update trustUpdate `cmd:"" help:"fetch the lists"`
	List   trustList   `cmd:"" help:"show the lists that are there"`
}

type trustUpdate struct{ listFlags }

// noLOTL says what is missing and where to put it.
func (f *listFlags) noLOTL() error {
	return fmt.Errorf("no list of lists can be believed yet: put the certificates (PEM) that the Official Journal of the EU names as its signers into %s, or name a file with --lotl-anchors", filepath.Join(f.Data, "trust", "lotl-anchors.pem"))
}

func (c *trustUpdate) Run(s *session) error {
	set, err := c.set(true)
	if err != nil {
		return err
	}
	if set == nil {
		return c.noLOTL()
	}
	_ = set.Load(s.ctx)
	err = set.Refresh(s.ctx)
	printLists(s, set.State())
	if err != nil {
		return fmt.Errorf("%w (what was fetched before stays in use until its next update)", err)
	}
	return nil
}

type trustList struct {
	listFlags
}

func (c *trustList) Run(s *session) error {
	set, err := c.set(false)
	if err != nil {
		return err
	}
	if set == nil {
		return c.noLOTL()
	}
	if err := set.Load(s.ctx); err != nil {
		s.notef("%v", err)
	}
	printLists(s, set.State())
	return nil
}

func printLists(s *session, lists []report.ListState) {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LIST\tSEQUENCE\tISSUED\tNEXT UPDATE\tSERVICES\tSTATE")
	for _, l := range lists {
		state := "usable"
		switch {
		case l.Error != "" && l.Usable:
			state = "usable, last refresh: " + l.Error
		case l.Error != "":
			state = l.Error
		case !l.Usable:
			state = "past its next update"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", l.Territory, l.Sequence, date(l.Issued), date(l.NextUpdate), l.Services, state)
	}
	w.Flush()
}

func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateOnly)
}

// client asks the servers that certificates and lists name. On one's own
// machine, for one's own files, they are not guarded as a server guards them.
func client() *http.Client { return &http.Client{Timeout: 30 * time.Second} }
