package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
)

// degrees is a coordinate as an argument. A minus sign may be the hyphen of
// the keyboard or the one that is printed.
type degrees float64

const minus = "−" // U+2212

// parse reads a coordinate.
func (d *degrees) parse(text string) error {
	f, err := strconv.ParseFloat(strings.Replace(text, minus, "-", 1), 64)
	point, comma := omi.DecimalPoint(strings.Replace(text, minus, "-", 1))
	lat, lng, both := strings.Cut(text, ",")
	switch {
	case err == nil:
	case comma:
		return fmt.Errorf("%q is not a number of degrees: decimals come after a point, %s", text, point)
	case both:
		return fmt.Errorf("%q is not a number of degrees: latitude and longitude are two arguments, %s %s", text, lat, strings.TrimSpace(lng))
	default:
		return fmt.Errorf("%q is not a number of degrees", text)
	}
	*d = degrees(f)
	return nil
}

// negative lets coordinates begin with a hyphen, which the parser would take
// for a flag: they get the printed sign, which degrees reads. Everything else
// is left alone, as are arguments after --.
func negative(args []string) []string {
	at := slices.Index(args, "omi")
	if at < 0 || at+1 >= len(args) || args[at+1] != "lookup" && args[at+1] != "estimate" {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		if rest, ok := strings.CutPrefix(a, "-"); ok && rest != "" && (rest[0] == '.' || rest[0] >= '0' && rest[0] <= '9') {
			args[i] = minus + rest
		}
	}
	return args
}
