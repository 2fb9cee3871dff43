//go:build !files

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/omi"
)

type omiEstimate struct {
	omiPlace
	Surface   float64 `required:"" placeholder:"M2" help:"square metres, of the kind that the quotation counts"`
	Type      string  `placeholder:"TYPE" help:"type of property, by its Italian name or its code; by default the prevalent one of the zone"`
	Condition string  `placeholder:"WORD" help:"NORMALE, OTTIMO or SCADENTE; by default the prevalent one"`
	JSON      bool    `help:"print the estimate as JSON, as GET /IT-omi/estimate has it"`
}

// Help lists the exit codes.
func (omiEstimate) Help() string {
	return example("A range for sale and rent from the quotation of the zone, times the surface; an estimate, not an appraisal. "+
		"Exits 0 if the zone quotes the type, 1 if not or if there is no zone, 3 on an error.",
		"rogito omi estimate 45.4642 9.19 --surface 85", "rogito omi estimate Roma B29 --surface 60 --type Negozi --condition NORMALE")
}

func (c *omiEstimate) Run(s *session) error {
	condition := strings.ToUpper(c.Condition)
	switch {
	case !(c.Surface >= 1 && c.Surface <= omi.MostSurface):
		return fmt.Errorf("--surface must be a number of square metres from 1 to %d", omi.MostSurface)
	case condition != "" && !slices.Contains(omi.Conditions, condition):
		return errors.New("--condition must be one of " + strings.Join(omi.Conditions, ", "))
	}
	found, err := c.find(s, 0)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return exit{code: exitNotFound}
	}
	if len(found) > 1 {
		s.notef("several zones fit: name one by its code, such as %s/%s", found[0].Zone.Municipality().CadastralCode, found[0].Zone.Code())
		return errors.Join(printZones(s.text(), zonesOf(found)), exit{code: exitError})
	}
	z := found[0].Zone
	v, ok := z.Quoted(c.Type, condition)
	if !ok {
		s.notef("zone %s does not quote it; quoted there: %s", z.Code(), strings.Join(z.Types(), ", "))
		return exit{code: exitNotFound}
	}
	e := z.Estimate(v, c.Surface)
	if c.JSON {
		return printJSON(s, json.RawMessage(e.AppendJSON(nil)))
	}
	return printEstimate(s, e)
}

func zonesOf(found []omi.Answer) []omi.Zone {
	var zones []omi.Zone
	for _, ans := range found {
		zones = append(zones, ans.Zone)
	}
	return zones
}

func printEstimate(s *session, e omi.Estimate) error {
	m, v := e.Zone.Municipality(), e.Value
	out := s.text()
	fmt.Fprintf(out, "%s (%s), zone %s: %s\n", m.Name, m.Province, e.Zone.Code(), e.Zone.Description())
	fmt.Fprintf(out, "%s, %s, %s m², semester %s\n\n", v.Type, strings.ToLower(v.Condition), strings.TrimSpace(amount(e.Surface)+" "+e.Kind().String()), e.Zone.Index().Semester())
	side := func(a *omi.Amounts, unit string) string {
		if a == nil {
			return "not quoted"
		}
		return amount(a.Min) + " – " + amount(a.Max) + unit
	}
	printTable(out, [][]string{{"Sale", side(e.Sale, " €")}, {"Rent", side(e.Rent, " € a month")}, {"Gross yield", side(e.Yield, " % a year")}}, 1)
	if e.Mixed() {
		fmt.Fprintf(out, "The sale counts %s square metres, the rent %s ones.\n", v.Sale.Surface, v.Rent.Surface)
	}
	if e.Zone.Index().Report().Sample {
		fmt.Fprintln(out, "This is a made-up sample, not official data: import a publication with rogito omi import.")
	}
	_, err := fmt.Fprintf(out, "\n%s\nSource: %s\n", omi.Caveat, omi.Attribution)
	return err
}
