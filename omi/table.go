package omi

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/limits"
)

// The headers of the two tables, unchanged since 2002. A file with another header is refused.
const (
	valuesHeader = "Area_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;Zona;LinkZona;Cod_Tip;Descr_Tipologia;Stato;Stato_prev;Compr_min;Compr_max;Sup_NL_compr;Loc_min;Loc_max;Sup_NL_loc;"
	zonesHeader  = "Area_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;Zona_Descr;Zona;LinkZona;Cod_tip_prev;Descr_tip_prev;Stato_prev;Microzona;"
	titleStart   = "Quotazioni Immobiliari"
	valuesTitle  = "Valori di Mercato"
	zonesTitle   = "Informazioni di Zona OMI"
)

// Columns both tables share, and those of each.
const (
	colRegion, colProvince, colIstat, colCadastral, colName = 1, 2, 3, 6, 7

	colValueZone, colTypeCode, colType, colCondition, colPrevalent   = 9, 11, 12, 13, 14
	colSaleMin, colSaleMax, colSaleSurface                           = 15, 16, 17
	colRentMin, colRentMax, colRentSurface                           = 18, 19, 20
	colDescription, colZone, colZoneType, colZoneCondition, colMicro = 9, 10, 13, 14, 15
	valuesFields, zonesFields                                        = 22, 17
	maxZoneCode                                                      = 16
)

var (
	semesterInTitle = regexp.MustCompile(`Semestre\s+(\d{4}/[12])`)
	dayInTitle      = regexp.MustCompile(`elaborazione del\s+(\d{1,2})-([A-Z]{3})-(\d{2,4})`)
	months          = map[string]time.Month{
		"GEN": 1, "FEB": 2, "MAR": 3, "APR": 4, "MAG": 5, "GIU": 6,
		"LUG": 7, "AGO": 8, "SET": 9, "OTT": 10, "NOV": 11, "DIC": 12,
	}
)

// place is a municipality as the tables describe it.
type place struct{ cadastral, region, province, istat, name string }

// zoneRow is one row of ZONE.
type zoneRow struct {
	cadastral, zone, description, kind string
	condition                          byte // N, O, S or 0
	microzone                          uint32
}

// valueRow is one row of VALORI.
type valueRow struct {
	cadastral, zone, kind, condition string
	code                             uint16
	flags                            uint8
	sale, rent                       [2]int32 // thousandths of a euro
}

// Flags of a value.
const (
	flagPrevalent uint8 = 1 << iota
	flagSale
	flagRent
	flagSaleGross
	flagSaleNet
	flagRentGross
	flagRentNet
)

// table is one CSV file.
type table struct {
	semester  Semester
	processed time.Time // day of the title line, zero where it has none
	places    map[string]place
	zones     []zoneRow
	values    []valueRow
	isValues  bool
	skipped   int // rows that could not be read
}

// isTable reports whether a file begins like the tables, with title or header.
func isTable(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	return bytes.HasPrefix(b, []byte(titleStart)) || bytes.HasPrefix(b, []byte("Area_territoriale;"))
}

// readTable reads a CSV file. Errors in its first two lines refuse the publication; a bad row is
// counted.
func readTable(b []byte, w words) (*table, error) {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	title, b := cutLine(b)
	t, err := readTitle(title)
	if err != nil {
		return nil, err
	}
	header, b := cutLine(b)
	want := zonesHeader
	if t.isValues {
		want = valuesHeader
	}
	if string(header) != want {
		return nil, refuse("the header line of a %s table is not the official one", t.kind())
	}
	t.places = make(map[string]place)
	for len(b) > 0 {
		var line []byte
		if line, b = cutLine(b); len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if len(line) > limits.OMILine || !t.row(line, w) {
			t.skipped++
		}
	}
	return t, nil
}

func readTitle(title []byte) (*table, error) {
	if len(title) > limits.OMILine || !bytes.HasPrefix(title, []byte(titleStart)) {
		return nil, refuse("a table has no title line")
	}
	t := &table{isValues: bytes.Contains(title, []byte(valuesTitle))}
	if !t.isValues && !bytes.Contains(title, []byte(zonesTitle)) {
		return nil, refuse("the title line of a table is not the official one")
	}
	m := semesterInTitle.FindSubmatch(title)
	if m == nil {
		return nil, refuse("the title line of a %s table names no semester", t.kind())
	}
	t.semester, _ = ParseSemester(string(m[1]))
	t.processed = dayOf(title)
	return t, nil
}

// dayOf is the day in a title line: "elaborazione del 27-APR-19", months in Italian.
func dayOf(title []byte) time.Time {
	m := dayInTitle.FindSubmatch(title)
	if m == nil {
		return time.Time{}
	}
	day, _ := strconv.Atoi(string(m[1]))
	year, _ := strconv.Atoi(string(m[3]))
	month, known := months[string(m[2])]
	if !known {
		return time.Time{}
	}
	if year < 100 {
		year += 2000
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func (t *table) kind() string {
	if t.isValues {
		return "VALORI"
	}
	return "ZONE"
}

// cutLine splits off the first line, without its end.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

// row reads one row and reports whether it is valid.
func (t *table) row(line []byte, w words) bool {
	var buf [valuesFields][]byte
	fields := split(line, buf[:0])
	want := zonesFields
	if t.isValues {
		want = valuesFields
	}
	if len(fields) != want || len(bytes.TrimSpace(fields[want-1])) != 0 || !isCadastral(fields[colCadastral]) {
		return false
	}
	code := w.text(fields[colCadastral])
	ok := false
	if t.isValues {
		ok = t.valueRow(code, fields, w)
	} else {
		ok = t.zoneRow(code, fields, w)
	}
	if _, known := t.places[code]; ok && !known {
		p := place{cadastral: code, region: w.text(fields[colRegion]), province: w.text(fields[colProvince]), name: w.text(fields[colName])}
		p.istat = istat(p.region, strings.TrimSpace(text(fields[colIstat])))
		t.places[code] = p
	}
	return ok
}

// split splits at semicolons. The source does not quote, and its apostrophes are text.
func split(line []byte, dst [][]byte) [][]byte {
	for {
		i := bytes.IndexByte(line, ';')
		if i < 0 || len(dst) == valuesFields {
			return append(dst, line)
		}
		dst, line = append(dst, line[:i]), line[i+1:]
	}
}

func zoneCode(b []byte) ([]byte, bool) {
	b = bytes.TrimSpace(b)
	return b, len(b) > 0 && len(b) <= maxZoneCode
}

func (t *table) zoneRow(cadastral string, f [][]byte, w words) bool {
	zone, ok := zoneCode(f[colZone])
	micro, okMicro := number(f[colMicro])
	if !ok || !okMicro {
		return false
	}
	r := zoneRow{
		cadastral: cadastral, zone: w.text(zone), description: text(unquote(f[colDescription])),
		kind: w.text(f[colZoneType]), microzone: uint32(micro),
	}
	if c := bytes.TrimSpace(f[colZoneCondition]); len(c) == 1 {
		r.condition = c[0]
	}
	t.zones = append(t.zones, r)
	return true
}

// unquote removes exactly one apostrophe at each end.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '\'' && b[len(b)-1] == '\'' {
		return b[1 : len(b)-1]
	}
	return b
}

func (t *table) valueRow(cadastral string, f [][]byte, w words) bool {
	zone, ok := zoneCode(f[colValueZone])
	code, okCode := number(f[colTypeCode])
	if !ok || !okCode || code > 65535 {
		return false
	}
	r := valueRow{
		cadastral: cadastral, zone: w.text(zone), code: uint16(code),
		kind: w.text(f[colType]), condition: w.text(bytes.TrimSpace(f[colCondition])),
	}
	if string(bytes.TrimSpace(f[colPrevalent])) == "P" {
		r.flags |= flagPrevalent
	}
	var okSale, okRent bool
	r.sale, okSale = r.side(f[colSaleMin:colSaleSurface+1], flagSale, flagSaleGross)
	r.rent, okRent = r.side(f[colRentMin:colRentSurface+1], flagRent, flagRentGross)
	if !okSale || !okRent {
		return false
	}
	t.values = append(t.values, r)
	return true
}

// side reads minimum, maximum and surface. 0/0 is "not quoted" and sets no flag.
func (r *valueRow) side(f [][]byte, quoted, gross uint8) (v [2]int32, ok bool) {
	low, okLow := milli(f[0])
	high, okHigh := milli(f[1])
	if !okLow || !okHigh {
		return v, false
	}
	if low == 0 && high == 0 {
		return v, true
	}
	r.flags |= quoted
	switch string(bytes.TrimSpace(f[2])) {
	case "L":
		r.flags |= gross
	case "N":
		r.flags |= gross << 1
	}
	return [2]int32{low, high}, true
}
