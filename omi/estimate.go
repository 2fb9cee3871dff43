package omi

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Caveat must be shown with every estimate.
const Caveat = "An estimate from the published range of a whole zone, for a property in ordinary order: not an appraisal. " +
	"Floor, view, age and works on the single property are not in it."

// Estimate applies a zone's quotation to a surface.
type Estimate struct {
	Zone       Zone
	Value      Value // the quotation used
	Surface    float64
	Sale, Rent *Amounts // euro, rent per month; nil if not quoted
	Yield      *Amounts // gross, per cent per year; nil if a side is not quoted
}

// Amounts are a minimum and a maximum.
type Amounts struct{ Min, Max float64 }

// Mixed reports whether sale and rent use different square metres: one gross, the other net.
func (e Estimate) Mixed() bool {
	return e.Sale != nil && e.Rent != nil && e.Value.Sale.Surface != e.Value.Rent.Surface
}

// Kind is the kind of square metres of the surface: that of the sale if it is quoted.
func (e Estimate) Kind() Surface {
	if e.Sale != nil {
		return e.Value.Sale.Surface
	}
	return e.Value.Rent.Surface
}

// MostSurface is the largest surface that is estimated, in square metres.
const MostSurface = 1_000_000

// Quoted is the quotation of a type of property, by its name or the source's code, in a condition.
// An empty type means the zone's prevalent one, or ordinary homes if it has none; an empty
// condition means the prevalent one.
func (z Zone) Quoted(kind, condition string) (Value, bool) {
	kind = strings.TrimSpace(kind)
	if kind == "" {
		if kind = z.PrevalentType(); kind == "" {
			if v, ok := z.HomeValue(); ok {
				kind = v.Type
			}
		}
	}
	var best Value
	rank := 4
	for i := range z.Values() {
		v := z.Value(i)
		if Plain(v.Type) != Plain(kind) && strconv.Itoa(v.TypeCode) != kind || !v.SaleQuoted && !v.RentQuoted {
			continue
		}
		r := 2
		switch {
		case condition != "" && !strings.EqualFold(v.Condition, strings.TrimSpace(condition)):
			continue
		case v.Prevalent:
			r = 0
		case v.Condition == z.PrevalentCondition():
			r = 1
		}
		if r < rank {
			best, rank = v, r
		}
	}
	return best, rank < 4
}

// Types returns the types of property that a zone quotes, without duplicates.
func (z Zone) Types() []string {
	var all []string
	for i := range z.Values() {
		if v := z.Value(i); (v.SaleQuoted || v.RentQuoted) && !slices.Contains(all, v.Type) {
			all = append(all, v.Type)
		}
	}
	return all
}

// Estimate applies a quotation of the zone to a surface in square metres, rounded to cents.
func (z Zone) Estimate(v Value, surface float64) Estimate {
	e := Estimate{Zone: z, Value: v, Surface: surface}
	if v.SaleQuoted {
		e.Sale = &Amounts{cents(float64(v.Sale.Min) * surface / 1000), cents(float64(v.Sale.Max) * surface / 1000)}
	}
	if v.RentQuoted {
		e.Rent = &Amounts{cents(float64(v.Rent.Min) * surface / 1000), cents(float64(v.Rent.Max) * surface / 1000)}
	}
	if v.SaleQuoted && v.RentQuoted && v.Sale.Min > 0 && v.Sale.Max > 0 {
		e.Yield = &Amounts{
			cents(float64(v.Rent.Min) * 12 / float64(v.Sale.Max) * 100),
			cents(float64(v.Rent.Max) * 12 / float64(v.Sale.Min) * 100),
		}
	}
	return e
}

func cents(v float64) float64 { return math.Round(v*100) / 100 }

// Change is how the middle of a range changed between two semesters, in per cent, in total and per
// year.
func Change(from Range, was Semester, to Range, is Semester) (whole, yearly float64, ok bool) {
	before, now := float64(from.Min)+float64(from.Max), float64(to.Min)+float64(to.Max)
	years := math.Abs(float64(is.number()-was.number())) / 2
	if before <= 0 || now <= 0 || years == 0 {
		return 0, 0, false
	}
	return (now/before - 1) * 100, (math.Pow(now/before, 1/years) - 1) * 100, true
}

// FindZone is the zone with a code, "H501/B12", in the first of the publications that quotes it,
// else in the first that has it.
func FindZone(publications []*Index, cadastral, code string) (z Zone, ok bool) {
	for _, ix := range publications {
		if at, found := ix.Zone(strings.ToUpper(cadastral), strings.ToUpper(code)); found && (!ok || z.Values() == 0 && at.Values() > 0) {
			z, ok = at, true
		}
	}
	return z, ok
}

// AppendJSON appends the estimate as one JSON object.
func (e Estimate) AppendJSON(b []byte) []byte {
	z := e.Zone
	b = Answer{Zone: z}.appendPlace(append(b, '{'))
	b = appendMunicipality(append(b, ','), z.Municipality())
	b = appendText(append(b, `,"omi_zone":`...), z.Code())
	b = z.appendDetails(append(b, `,"zone":`...))
	b = appendText(append(b, `,"property_type":`...), e.Value.Type)
	b = strconv.AppendInt(append(b, `,"property_type_code":`...), int64(e.Value.TypeCode), 10)
	b = appendText(append(b, `,"condition":`...), e.Value.Condition)
	b = strconv.AppendFloat(append(b, `,"surface":`...), e.Surface, 'f', -1, 64)
	b = appendSurface(append(b, `,"surface_kind":`...), e.Kind())
	b = e.Sale.append(append(b, `,"sale":`...), e.Value.Sale.Surface)
	b = e.Rent.append(append(b, `,"rent":`...), e.Value.Rent.Surface)
	b = e.Yield.append(append(b, `,"yield":`...), SurfaceUnknown)
	b = appendText(append(b, `,"source":`...), Attribution)
	b = appendText(append(b, `,"caveat":`...), Caveat)
	return append(b, '}')
}

func (a *Amounts) append(b []byte, kind Surface) []byte {
	if a == nil {
		return append(b, "null"...)
	}
	b = strconv.AppendFloat(append(b, `{"min":`...), a.Min, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"max":`...), a.Max, 'f', -1, 64)
	if kind != SurfaceUnknown {
		b = appendSurface(append(b, `,"surface":`...), kind)
	}
	return append(b, '}')
}

// Conditions are the conditions that the source distinguishes.
var Conditions = []string{"NORMALE", "OTTIMO", "SCADENTE"}
