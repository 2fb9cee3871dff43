//go:build !files

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/omi"
)

type omiLookup struct {
	dataFlags
	Latitude  degrees `arg:"" name:"lat" help:"degrees north; negative ones are south"`
	Longitude degrees `arg:"" name:"lng" help:"degrees east; negative ones are west"`
	Semester  string  `placeholder:"SEMESTER" help:"like 2018/2; by default the newest, from the active one backwards, that has a zone there"`
	Strict    bool    `help:"look into the active publication only"`
	Nearest   float64 `placeholder:"METRES" help:"outside every zone, the nearest within so many metres (at most 1000)"`
	Geometry  string  `enum:"full,simplified,none" default:"full" help:"how much of the perimeter, with --json and --geojson: ${enum}"`
	JSON      bool    `xor:"form" help:"print the zone as JSON"`
	GeoJSON   bool    `name:"geojson" xor:"form" help:"print the zone as a GeoJSON Feature"`
}

func (c *omiLookup) Run(s *session) error {
	lat, lng := float64(c.Latitude), float64(c.Longitude)
	if !(math.Abs(lat) <= 90) || !(math.Abs(lng) <= 180) {
		return errors.New("the latitude must be between -90 and 90, the longitude between -180 and 180")
	}
	if !(c.Nearest >= 0 && c.Nearest <= 1000) {
		return errors.New("--nearest must be from 0 to 1000 metres")
	}
	publications, err := c.publications(s)
	if err != nil {
		return err
	}
	z, distance, found := omi.Lookup(publications, lat, lng, c.Nearest)
	ans := omi.Answer{Zone: z, Lat: lat, Lng: lng, Placed: true, Near: distance > 0, Distance: distance}
	g := map[string]omi.Geometry{"full": omi.FullGeometry, "simplified": omi.SimplifiedGeometry, "none": omi.NoGeometry}[c.Geometry]
	switch {
	case !found:
		if c.JSON || c.GeoJSON {
			s.printf("{}\n")
		}
		s.notef("no OMI zone at latitude %g, longitude %g in %s", lat, lng, publications[0].Semester())
		if omi.Swapped(lat, lng) {
			s.notef("they look swapped: rogito omi lookup %g %g", lng, lat)
		}
		return exit{code: exitNotFound}
	case z.Index() != publications[0]:
		s.notef("publication %s does not cover this place: the answer is from %s", publications[0].Semester(), z.Index().Semester())
	}
	switch {
	case c.JSON:
		return printJSON(s, json.RawMessage(ans.AppendJSON(nil, g)))
	case c.GeoJSON:
		return printJSON(s, json.RawMessage(ans.AppendGeoJSON(nil, g)))
	}
	return printZone(s.text(), ans)
}

// exitNotFound: nothing is wrong, and nothing there.
const exitNotFound = 1

// Help tells exit codes.
func (omiLookup) Help() string {
	return example("Exits 0 if there is a zone, 1 if there is none, 3 on an error. Degrees are written with a point.",
		"rogito omi lookup 45.4642 9.19", "rogito omi lookup 45.4642 9.19 --semester 2018/2 --json")
}

// publications are those that may answer.
func (c *omiLookup) publications(s *session) ([]*omi.Index, error) {
	l, _, err := c.library(s)
	if err != nil {
		return nil, err
	}
	set := l.Current()
	switch {
	case c.Semester == "" && c.Strict:
		return []*omi.Index{set.Active()}, nil
	case c.Semester == "":
		return set.Since(), nil
	}
	sem, err := omi.ParseSemester(c.Semester)
	if err != nil {
		return nil, err
	}
	ix, ok := set.Semester(sem)
	if !ok {
		return nil, named(omi.ErrUnknownSemester, c.Semester)
	}
	return []*omi.Index{ix}, nil
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
			if space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)); i < 2 {
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

// printRow writes cells with tabs between, each of them in its own column
// whatever strangers put into it.
func printRow(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, visible.Line(fmt.Sprint(c)))
	}
	fmt.Fprintln(w)
}
