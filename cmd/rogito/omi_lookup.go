//go:build !files

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/omi"
)

type omiLookup struct {
	omiPlace
	Nearest  float64 `placeholder:"METRES" help:"outside every zone, the nearest within so many metres (at most 1000)"`
	Geometry string  `enum:"full,simplified,none" default:"full" help:"how much of the perimeter, with --json and --geojson: ${enum}"`
	JSON     bool    `xor:"form" help:"print the zone as JSON; of several an array"`
	GeoJSON  bool    `name:"geojson" xor:"form" help:"print the zone as a GeoJSON Feature"`
	CSV      bool    `xor:"form" help:"print the values as CSV"`
}

func (c *omiLookup) Run(s *session) error {
	if !(c.Nearest >= 0 && c.Nearest <= 1000) {
		return errors.New("--nearest must be from 0 to 1000 metres")
	}
	found, err := c.find(s, c.Nearest)
	if err != nil {
		return err
	}
	g := map[string]omi.Geometry{"full": omi.FullGeometry, "simplified": omi.SimplifiedGeometry, "none": omi.NoGeometry}[c.Geometry]
	zones := zonesOf(found)
	switch {
	case len(found) == 0:
		if c.JSON || c.GeoJSON {
			s.printf("{}\n")
		}
		return exit{code: exitNotFound}
	case c.CSV:
		return omi.WriteCSV(s.stdout, zones)
	case c.GeoJSON && len(found) > 1:
		return printJSON(s, json.RawMessage(omi.AppendFeatureCollection(nil, zones, g)))
	case c.JSON && len(found) > 1:
		var all []json.RawMessage
		for _, ans := range found {
			all = append(all, ans.AppendJSON(nil, g))
		}
		return printJSON(s, all)
	case c.JSON:
		return printJSON(s, json.RawMessage(found[0].AppendJSON(nil, g)))
	case c.GeoJSON:
		return printJSON(s, json.RawMessage(found[0].AppendGeoJSON(nil, g)))
	case len(found) > 1:
		return printZones(s.text(), zones)
	}
	return printZone(s.text(), found[0])
}

// exitNotFound: nothing is wrong, and nothing there.
const exitNotFound = 1

// Help lists the exit codes.
func (omiLookup) Help() string {
	return example("A place by its degrees, which are written with a point; a municipality by its name, and in it a zone by its code or by words of its description. "+
		"Exits 0 if there is a zone, 1 if there is none, 3 on an error.",
		"rogito omi lookup 45.4642 9.19", "rogito omi lookup Milano", "rogito omi lookup Roma B29", "rogito omi lookup Milano --csv", "rogito omi lookup 45.4642 9.19 --semester 2018/2 --json")
}

// printZone is for people.
func printZone(out io.Writer, ans omi.Answer) error {
	z, m := ans.Zone, ans.Zone.Municipality()
	fmt.Fprintf(out, "%s (%s, %s), cadastral code %s, ISTAT %s\n", m.Name, m.Province, m.Region, m.CadastralCode, cmp.Or(m.ISTATCode, "none"))
	fmt.Fprintf(out, "zone %s: %s\n", z.Code(), cmp.Or(z.Description(), "without a description"))
	if ans.Near {
		fmt.Fprintf(out, "%.1f metres away\n", ans.Distance)
	}
	fmt.Fprintf(out, "semester %s, prevalent: %s %s\n", z.Index().Semester(), cmp.Or(z.PrevalentType(), "unknown"), strings.ToLower(z.PrevalentCondition()))
	if z.Index().Report().Sample {
		fmt.Fprintln(out, "This is a made-up sample, not official data: import a publication with rogito omi import.")
	}
	if z.Values() > 0 {
		fmt.Fprintln(out)
		printValues(out, z)
	}
	_, err := fmt.Fprintf(out, "\nSource: %s\n", omi.Attribution)
	return err
}

// printValues is the table of a zone: words to the left, amounts to the right, and
// what all amounts of a column are about in its heading.
func printValues(out io.Writer, z omi.Zone) {
	var sale, rent []omi.Surface
	for i := range z.Values() {
		v := z.Value(i)
		if v.SaleQuoted {
			sale = append(sale, v.Sale.Surface)
		}
		if v.RentQuoted {
			rent = append(rent, v.Rent.Surface)
		}
	}
	oneSale, oneRent := one(sale), one(rent)
	rows := [][]string{{"TYPE", "CONDITION", "SALE €/m²" + oneSale, "RENT €/m² a month" + oneRent}}
	for i := range z.Values() {
		v := z.Value(i)
		rows = append(rows, []string{visible.Line(v.Type), visible.Line(strings.ToLower(v.Condition) + prevalent(v)), amounts(v.Sale, v.SaleQuoted, oneSale == ""), amounts(v.Rent, v.RentQuoted, oneRent == "")})
	}
	printTable(out, rows, 2)
}

// printZones lists zones with what homes cost in them.
func printZones(out io.Writer, zones []omi.Zone) error {
	rows := [][]string{{"ZONE", "NAME", "HOMES €/m²"}}
	town := ""
	flush := func() {
		if len(rows) > 1 {
			printTable(out, rows, 2)
			rows = rows[:1]
		}
	}
	for _, z := range zones {
		if m := z.Municipality(); m.CadastralCode != town {
			flush()
			if town != "" {
				fmt.Fprintln(out)
			}
			town = m.CadastralCode
			fmt.Fprintf(out, "%s (%s, %s), cadastral code %s, semester %s\n", visible.Line(m.Name), m.Province, m.Region, m.CadastralCode, z.Index().Semester())
		}
		price := "not quoted"
		if v, ok := z.HomeValue(); ok {
			price = amounts(v.Sale, true, false)
		}
		rows = append(rows, []string{z.Code(), visible.Line(z.Description()), price})
	}
	flush()
	_, err := fmt.Fprintf(out, "\nSource: %s\n", omi.Attribution)
	return err
}

// printTable aligns columns: the first so many to the left, the others to the right.
func printTable(out io.Writer, rows [][]string, left int) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			if i > 0 {
				line += "  "
			}
			if space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)); i < left {
				line += cell + space
			} else {
				line += space + cell
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

var surfaces = map[omi.Surface]string{omi.Gross: " gross", omi.Net: " net"}

// one is the surface that all amounts are of; empty where they differ.
func one(list []omi.Surface) string {
	if len(list) == 0 || slices.ContainsFunc(list, func(s omi.Surface) bool { return s != list[0] }) {
		return ""
	}
	return surfaces[list[0]]
}

func prevalent(v omi.Value) string {
	if v.Prevalent {
		return " *"
	}
	return ""
}

func amounts(r omi.Range, quoted, surface bool) string {
	if !quoted {
		return "not quoted"
	}
	text := amount(float64(r.Min)/1000) + " – " + amount(float64(r.Max)/1000)
	if surface {
		text += surfaces[r.Surface]
	}
	return text
}

// amount has commas between thousands.
func amount(euro float64) string {
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(euro, 'f', -1, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

// printRow writes cells with tabs between, each of them in its own column whatever the untrusted
// text in it.
func printRow(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, visible.Line(fmt.Sprint(c)))
	}
	fmt.Fprintln(w)
}

// table prints a list: all that is known of it for programs, else rows, the heads first.
func (o outcome) table(s *session, all any, rows [][]any) error {
	if o.JSON {
		return json.NewEncoder(s.stdout).Encode(all)
	}
	w := tabwriter.NewWriter(s.text(), 0, 0, 2, ' ', 0)
	for _, row := range rows {
		printRow(w, row...)
	}
	return w.Flush()
}
