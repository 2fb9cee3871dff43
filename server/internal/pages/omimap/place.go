package omimap

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
)

// point is a place in degrees.
type point struct{ Lat, Lng float64 }

// onEarth says whether there is such a place.
func (p point) onEarth() bool { return math.Abs(p.Lat) <= 90 && math.Abs(p.Lng) <= 180 }

// swapped says that the place is none in Italy, and would be one with latitude and
// longitude the other way round.
func (p point) swapped() bool { return omi.Swapped(p.Lat, p.Lng) }

// degrees writes a coordinate as addresses have it: six decimals at most, about
// ten centimetres.
func degrees(v float64) string {
	s := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

const (
	numberForm = `[-+]?\d{1,3}(?:[.,]\d{1,12})?`
	between    = `(?:\s*[;/|]\s*|\s*,\s+|\s+)`
)

var (
	// numbers with a decimal point, with a comma or blanks between
	points = regexp.MustCompile(`^([-+]?\d{1,3}(?:\.\d{1,12})?)\s*[,;/|\s]\s*([-+]?\d{1,3}(?:\.\d{1,12})?)$`)
	// with a comma in each, and something else between them
	commas = regexp.MustCompile(`^(` + numberForm + `)` + between + `(` + numberForm + `)$`)
	// with commas only: 45,4642,9,19
	allCommas = regexp.MustCompile(`^([-+]?\d{1,3},\d{1,12}),([-+]?\d{1,3},\d{1,12})$`)
	// what people copy along: 45.4° N
	north = regexp.MustCompile(`(\d)\s*[°º]?\s*[NEne]?(\s*[,;/|\s]|$)`)
)

// parsePoint reads a latitude and a longitude as people write and paste them. What
// has letters in it is none.
func parsePoint(s string) (point, bool) {
	s = strings.TrimSpace(north.ReplaceAllString(strings.Trim(s, " ()[]\t"), "$1$2"))
	for _, form := range []*regexp.Regexp{points, commas, allCommas} {
		if m := form.FindStringSubmatch(s); m != nil {
			lat, ok1 := parseDegrees(m[1])
			lng, ok2 := parseDegrees(m[2])
			return point{lat, lng}, ok1 && ok2
		}
	}
	return point{}, false
}

// parseDegrees reads one coordinate, with a point or a comma.
func parseDegrees(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(s), ",", ".", 1), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
