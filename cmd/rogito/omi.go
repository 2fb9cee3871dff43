//go:build !files

package main

import (
	"errors"
	"strings"
	"text/tabwriter"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server"
)

func init() {
	add(groupOMI, "omi", "publications of real-estate quotations: import, list, use, remove, lookup, estimate", func() any { return &omiCommand{} })
}

type omiCommand struct {
	Import omiImport `cmd:"" help:"import a publication of the Agenzia delle Entrate"`
	List   omiList   `cmd:"" help:"list the publications"`
	Use    omiUse    `cmd:"" help:"make a semester the active one"`
	Remove omiRemove `cmd:"" help:"remove a publication"`
	Lookup omiLookup `cmd:"" help:"look up the zone at a place, or those of a municipality"`

	Estimate  omiEstimate  `cmd:"" help:"what a property comes to by the quotations of its zone"`
	Addresses omiAddresses `cmd:"" name:"import-addresses" help:"import street numbers (ANNCSU), by which the map finds addresses"`
}

// Help is the prose of the help page.
func (omiCommand) Help() string {
	return "Real-estate quotations of the Osservatorio del Mercato Immobiliare. The data is imported from the official files; " +
		"a running server takes over what these commands change within seconds. Source of the data: " + omi.Attribution + "."
}

// library opens the publications in the data folder.
func (f *dataFlags) library(s *session) (*omi.Library, server.Config, error) {
	cfg, err := f.load(s)
	if err != nil {
		return nil, cfg, err
	}
	l, err := omi.OpenLibrary(cfg.PublicationsDir())
	if err != nil {
		s.notef("%v", err)
	}
	return l, cfg, nil
}

// share announces the change to the other servers on a common database.
func (f *dataFlags) share(s *session, cfg server.Config) error {
	if !strings.HasPrefix(cfg.Database, "postgres") {
		return nil
	}
	srv, err := f.ProvideServer(s)
	if err != nil {
		return err
	}
	return srv.SharePublications(s.ctx)
}

type omiList struct {
	dataFlags
	JSON bool `help:"print one JSON object"`
}

// listed is a line of the list.
type listed struct {
	Semester string     `json:"semester"`
	Active   bool       `json:"active"`
	Bytes    int64      `json:"bytes"`
	ID       string     `json:"id"`
	Report   omi.Report `json:"report"`
}

func (c *omiList) Run(s *session) error {
	l, _, err := c.library(s)
	if err != nil {
		return err
	}
	set := l.Current()
	list := []listed{}
	for _, ix := range set.All() {
		list = append(list, listed{ix.Semester().String(), ix == set.Active(), ix.Size(), ix.ID(), ix.Report()})
	}
	if c.JSON {
		return printJSON(s, map[string]any{"publications": list})
	}
	w := tabwriter.NewWriter(s.text(), 0, 0, 2, ' ', 0)
	printRow(w, "SEMESTER", "PROCESSED", "MUNICIPALITIES", "ZONES", "VALUES", "WITH PERIMETER", "")
	for _, p := range list {
		r := p.Report
		printRow(w, p.Semester, r.ProcessedAt, r.Municipalities, r.Zones, r.Values, r.ZonesWithGeometry+r.ZonesGeometryOnly, mark(p))
	}
	return w.Flush()
}

func mark(p listed) string {
	var marks []string
	if p.Active {
		marks = append(marks, "active")
	}
	if p.Report.Sample {
		marks = append(marks, "sample: not official data")
	}
	return strings.Join(marks, ", ")
}

type omiUse struct {
	dataFlags
	outcome
	Semester string `arg:"" placeholder:"SEMESTER" help:"like 2018/2, or newest"`
}

func (c *omiUse) Run(s *session) error {
	l, cfg, err := c.library(s)
	if err != nil {
		return err
	}
	var sem omi.Semester
	if c.Semester != "newest" {
		if sem, err = omi.ParseSemester(c.Semester); err != nil {
			return err
		}
	}
	if err := l.Use(sem); err != nil {
		return named(err, c.Semester)
	}
	active := l.Current().Active().Semester().String()
	if err := c.report(s, map[string]any{"active": active}, "active: %s", active); err != nil {
		return err
	}
	return c.share(s, cfg)
}

type omiRemove struct {
	dataFlags
	outcome
	Semester string `arg:"" placeholder:"SEMESTER" help:"like 2018/2"`
}

func (c *omiRemove) Run(s *session) error {
	l, cfg, err := c.library(s)
	if err != nil {
		return err
	}
	sem, err := omi.ParseSemester(c.Semester)
	if err != nil {
		return err
	}
	if err := l.Remove(sem); err != nil {
		return named(err, c.Semester)
	}
	if err := c.report(s, map[string]any{"removed": sem.String()}, "removed: %s", sem); err != nil {
		return err
	}
	return c.share(s, cfg)
}

// named says which semester is unknown.
func named(err error, semester string) error {
	if errors.Is(err, omi.ErrUnknownSemester) {
		return errors.New("there is no publication of " + semester + "; see: rogito omi list")
	}
	return err
}
