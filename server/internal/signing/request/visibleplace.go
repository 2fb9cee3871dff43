package request

import (
	"math"
	"strconv"
	"strings"
)

// mostVisible bounds the places of one visible signature.
const mostVisible = 20

// ParsePlace reads "page,x,y" or "page,x,y,width,height": points from the left and the top
// of a page, -1 for the last one. A size that is not given is 0.
func ParsePlace(text string) (s Spot, ok bool) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 && len(parts) != 5 {
		return s, false
	}
	page, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || page < 1 && page != -1 {
		return s, false
	}
	var n [4]float64
	for i, part := range parts[1:] {
		if n[i], err = strconv.ParseFloat(strings.TrimSpace(part), 64); err != nil || !(math.Abs(n[i]) <= 20000) {
			return s, false
		}
	}
	s = Spot{Page: page, X: n[0], Y: n[1], Width: n[2], Height: n[3]}
	return s, len(parts) == 3 || s.Width >= 1 && s.Height >= 1 && s.Width <= 5000 && s.Height <= 5000
}
