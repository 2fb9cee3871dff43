//go:build !files

package main

import "fmt"

type omiAddresses struct {
	dataFlags
	JSON  bool     `help:"print the report as JSON"`
	Paths []string `arg:"" name:"path" help:"tables of street numbers (indirizzario) of the ANNCSU, packed or not"`
}

// Help says where the tables come from.
func (omiAddresses) Help() string {
	return example("Street numbers with their coordinates, from the open data of the Archivio nazionale dei numeri civici delle strade urbane (ANNCSU): a region or all Italy. "+
		"They take the place of those that were imported before; /map then finds addresses. Rows without coordinates are left out and counted.",
		"rogito omi import-addresses INDIR_LOMB.zip")
}

func (c *omiAddresses) Run(s *session) error {
	l, _, err := c.library(s)
	if err != nil {
		return err
	}
	p := s.newProgress("reading")
	report, err := l.ImportAddresses(s.ctx, c.Paths, p.at)
	p.end()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s, report)
	}
	_, err = fmt.Fprintf(s.text(), "%d street numbers of %d streets in %d municipalities\n%d without coordinates, %d that cannot be read\n",
		report.Numbers, report.Streets, report.Municipalities, report.WithoutPlace, report.Skipped)
	return err
}
