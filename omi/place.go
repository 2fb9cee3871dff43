package omi

import (
	"strconv"
	"strings"
)

// Lookup is the zone at a place in the first of the publications whose perimeters
// contain it: [Set.Since] gives those from the active one backwards, of which the
// newest may be one of a single municipality. Outside every zone it is the nearest
// of all within so many metres, with its distance; of those equally far, that of the
// first.
func Lookup(publications []*Index, lat, lng, metres float64) (z Zone, distance float64, ok bool) {
	for _, ix := range publications {
		if z, ok = ix.Lookup(lat, lng); ok {
			return z, 0, true
		}
	}
	if !(metres > 0) {
		return Zone{}, 0, false
	}
	for _, ix := range publications {
		if near, d, found := ix.Nearest(lat, lng, metres); found && (!ok || d < distance) {
			z, distance, ok = near, d, true
		}
	}
	return z, distance, ok
}

// Swapped says that a place is outside Italy, and in it with its coordinates
// exchanged.
func Swapped(lat, lng float64) bool { return !inItaly(lat, lng) && inItaly(lng, lat) }

func inItaly(lat, lng float64) bool { return lat >= 35 && lat <= 48 && lng >= 6 && lng <= 19 }

// DecimalPoint is a number that was written with a decimal comma, as in Italy,
// with a point.
func DecimalPoint(text string) (string, bool) {
	point := strings.Replace(strings.TrimSpace(text), ",", ".", 1)
	_, err := strconv.ParseFloat(point, 64)
	return point, err == nil && strings.Contains(text, ",")
}
