package omi

import (
	"sort"
)

// Zone is a zone of a publication: a small handle, cheap to copy. The zero Zone is invalid.
type Zone struct {
	ix *Index
	i  uint32
}

// Municipality is a municipality as the tables describe it.
type Municipality struct {
	CadastralCode string // Belfiore code
	Region        string
	Province      string // two letters, of the cadastral provinces
	ISTATCode     string // six digits; empty if the source has none
	Name          string // as published: upper case, a backtick for an accent
}

// Range is a minimum and a maximum in thousandths of a euro per square metre.
type Range struct {
	Min, Max int32
	Surface  Surface // how the square metres are measured
}

// Surface is the kind of surface a range refers to.
type Surface uint8

// The kinds of surface.
const (
	SurfaceUnknown Surface = iota
	Gross
	Net
)

// Value is one quotation of a zone. An unquoted side has no range.
type Value struct {
	Type       string // "Abitazioni civili"
	TypeCode   int
	Condition  string // NORMALE, OTTIMO, SCADENTE, or empty
	Prevalent  bool   // the condition is the prevalent one of the type in the zone
	Sale, Rent Range  // rent is per month
	SaleQuoted bool
	RentQuoted bool
}

func (z Zone) field(at int) uint32 { return z.ix.u32(secZones, zoneSize, z.i, at) }

// Index is the publication the zone is of.
func (z Zone) Index() *Index { return z.ix }

// Code is the zone's code in its municipality: "B12".
func (z Zone) Code() string { return z.ix.text(z.field(zoneCodeText)) }

// Band is the first letter of the code: B central, C semi-central, D peripheral,
// E suburban, R rural.
func (z Zone) Band() string { return z.Code()[:min(1, len(z.Code()))] }

// Description is the zone's name; empty for a perimeter without a row of ZONE.
func (z Zone) Description() string { return z.ix.text(z.field(zoneDescription)) }

// PrevalentType is the prevalent type of property, as published.
func (z Zone) PrevalentType() string { return z.ix.text(z.field(zoneKind)) }

// PrevalentCondition is the prevalent condition in the words of the values, or empty.
func (z Zone) PrevalentCondition() string {
	switch z.ix.sec[secZones][int(z.i)*zoneSize+zoneCondition] {
	case 'N':
		return "NORMALE"
	case 'O':
		return "OTTIMO"
	case 'S':
		return "SCADENTE"
	}
	return ""
}

// Microzone is the cadastral microzone; 0 is none.
func (z Zone) Microzone() int { return int(z.field(zoneMicrozone)) }

// Area is the zone's area on the sphere in square metres; 0 without a perimeter.
func (z Zone) Area() float64 {
	return float64(le.Uint64(z.ix.sec[secZones][int(z.i)*zoneSize+zoneArea:])) / 100
}

// Municipality is the municipality the zone is part of.
func (z Zone) Municipality() Municipality { return z.ix.municipality(z.field(zonePlace)) }

// Values is how many quotations the zone has.
func (z Zone) Values() int { return int(z.field(zoneValueCount)) }

// Value is the i-th quotation, in the order of the source.
func (z Zone) Value(i int) Value {
	n := z.field(zoneValues) + uint32(i)
	r := z.ix.sec[secValues][int(n)*valueSize : int(n+1)*valueSize]
	amount := func(k int) int32 { return int32(le.Uint32(r[valueAmounts+4*k:])) }
	flags := r[valueFlags]
	return Value{
		Type: z.ix.text(le.Uint32(r[valueKind:])), TypeCode: int(le.Uint16(r[valueCode:])),
		Condition: z.ix.text(le.Uint32(r[valueCondition:])), Prevalent: flags&flagPrevalent != 0,
		Sale:       Range{Min: amount(0), Max: amount(1), Surface: surface(flags, flagSaleGross)},
		Rent:       Range{Min: amount(2), Max: amount(3), Surface: surface(flags, flagRentGross)},
		SaleQuoted: flags&flagSale != 0, RentQuoted: flags&flagRent != 0,
	}
}

func surface(flags, gross uint8) Surface {
	switch {
	case flags&gross != 0:
		return Gross
	case flags&(gross<<1) != 0:
		return Net
	}
	return SurfaceUnknown
}

// Polygons is how many polygons the zone's perimeter has; 0 without a perimeter.
func (z Zone) Polygons() int { return int(z.field(zonePolygonCount)) }

func (ix *Index) municipality(i uint32) Municipality {
	field := func(k int) string { return ix.text(ix.u32(secPlaces, placeSize, i, placeCadastral+4*k)) }
	return Municipality{CadastralCode: field(0), Region: field(1), Province: field(2), ISTATCode: field(3), Name: field(4)}
}

// Municipalities is how many municipalities there are.
func (ix *Index) Municipalities() int { return ix.count(secPlaces, placeSize) }

// Municipality is the i-th municipality in the order of cadastral codes, with the
// number of its zones.
func (ix *Index) Municipality(i int) (m Municipality, zones int) {
	return ix.municipality(uint32(i)), int(ix.u32(secPlaces, placeSize, uint32(i), placeZoneCount))
}

// ZonesOf are the zones of a municipality in the order of their codes, and whether
// there is such a municipality.
func (ix *Index) ZonesOf(cadastral string) ([]Zone, bool) {
	i, ok := ix.findPlace(cadastral)
	if !ok {
		return nil, false
	}
	first, count := ix.u32(secPlaces, placeSize, i, placeZones), ix.u32(secPlaces, placeSize, i, placeZoneCount)
	zones := make([]Zone, count)
	for k := range zones {
		zones[k] = Zone{ix, first + uint32(k)}
	}
	return zones, true
}

// Zone is the zone of a municipality with the given code.
func (ix *Index) Zone(cadastral, code string) (Zone, bool) {
	zones, _ := ix.ZonesOf(cadastral)
	for _, z := range zones {
		if z.Code() == code {
			return z, true
		}
	}
	return Zone{}, false
}

// MunicipalityOf is the municipality with a cadastral code.
func (ix *Index) MunicipalityOf(cadastral string) (Municipality, bool) {
	i, ok := ix.findPlace(cadastral)
	if !ok {
		return Municipality{}, false
	}
	return ix.municipality(i), true
}

func (ix *Index) findPlace(cadastral string) (uint32, bool) {
	code := func(i int) string { return ix.text(ix.u32(secPlaces, placeSize, uint32(i), placeCadastral)) }
	n := ix.Municipalities()
	i := sort.Search(n, func(i int) bool { return code(i) >= cadastral })
	return uint32(i), i < n && code(i) == cadastral
}
