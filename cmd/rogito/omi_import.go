//go:build !files

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"rogito.dev/rogito/omi"
)

type omiImport struct {
	dataFlags
	AllowMixed   bool     `help:"take files of different semesters: that of the values rules"`
	AllowPartial bool     `name:"allow-partial" help:"take a publication in which less than half of the zones have a perimeter, or with files that their names hide"`
	JSON         bool     `help:"print the report as JSON"`
	Paths        []string `arg:"" name:"path" help:"archives (zip, kmz), files or folders of one publication or of several, whatever their names"`
}

func (omiImport) Help() string {
	return "All paths together are one publication: the tables VALORI and ZONE, and the perimeters if there are any. " +
		"Where they name several semesters, and each has its own tables, they are so many publications, and all are imported or none. " +
		"It is built beside what is served and swapped in whole, or refused whole (exit 3). " +
		"One in which less than half of the zones have a perimeter, or with tables or perimeters whose names begin with a dot, is taken only with --allow-partial: " +
		"no coordinates would lead there, while it counts as the newest."
}

func (c *omiImport) Run(s *session) error {
	l, cfg, err := c.library(s)
	if err != nil {
		return err
	}
	p := s.newProgress("reading")
	reports, err := l.ImportAll(s.ctx, c.Paths, omi.ImportOptions{AllowMixed: c.AllowMixed, AllowPartial: c.AllowPartial, Progress: p.at})
	p.end()
	var refused *omi.RefusedError
	if errors.As(err, &refused) && refused.Partial {
		return fmt.Errorf("%w\n--allow-partial takes it all the same", err)
	}
	if err != nil {
		return err
	}
	for _, report := range reports {
		if c.JSON {
			err = printJSON(s, report)
		} else {
			err = printReport(s.text(), report)
		}
		if err != nil {
			return err
		}
	}
	return c.share(s, cfg)
}

func printReport(out io.Writer, r omi.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(n int, what string) { fmt.Fprintf(w, "%d\t %s\n", n, what) }
	fmt.Fprintf(out, "Publication %s, processed on %s\n", r.Semester, cmp.Or(r.ProcessedAt, "an unknown day"))
	line(r.Municipalities, "municipalities")
	line(r.Zones, "zones")
	line(r.Values, "values")
	line(r.ZonesWithGeometry, "zones with a perimeter and a row")
	line(r.ZonesWithoutValues, "of those without values")
	line(r.ZonesGeometryOnly, "zones with a perimeter only")
	line(r.ZonesWithoutGeometry, "zones without a perimeter")
	line(r.Polygons, "polygons")
	line(r.Holes, "holes")
	line(r.Vertices, "vertices")
	line(r.FilesRead, "files read")
	line(r.FilesIgnored, "files ignored")
	line(r.FilesUnreadable, "files unreadable")
	line(r.FilesLeftOut, "files left out for their names")
	line(r.PolygonsDropped, "polygons dropped")
	line(r.ZonesRepeated, "perimeters delivered twice")
	line(r.RowsSkipped, "rows skipped")
	line(r.RowsDuplicate+r.RowsSuperseded, "rows repeated or superseded")
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "note: %s\n", p)
	}
	return nil
}
