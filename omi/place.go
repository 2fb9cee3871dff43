package omi

import (
	"strconv"
	"strings"
)

// Lookup is the zone at a place in the first of the publications whose perimeters contain it:
// [Set.Since] returns those from the active one backwards, of which the newest may only cover a
// single municipality. Outside every zone it is the nearest within a distance in metres, with its
// distance; of equally near ones that of the first publication.
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

// Swapped reports whether a place is outside Italy, but inside with its coordinates exchanged.
func Swapped(lat, lng float64) bool { return !inItaly(lat, lng) && inItaly(lng, lat) }

func inItaly(lat, lng float64) bool { return lat >= 35 && lat <= 48 && lng >= 6 && lng <= 19 }

// DecimalPoint replaces the decimal comma of a number, as used in Italy, by a point.
func DecimalPoint(text string) (string, bool) {
	point := strings.Replace(strings.TrimSpace(text), ",", ".", 1)
	_, err := strconv.ParseFloat(point, 64)
	return point, err == nil && strings.Contains(text, ",")
}
