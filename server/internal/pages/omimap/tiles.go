package omimap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// The levels of detail that the map loads, with the side of their tiles in
// micro-degrees. Provinces come at once.
var tiles = map[string]int32{
	"municipalities": 1_000_000,
	"zones":          250_000,
	"detail":         100_000,
}

// detailTolerance is what the closest level leaves out, in micro-degrees: about
// three metres.
const detailTolerance = 30

// layers are the publications that are shown, the first that has a municipality
// deciding.
type layers []*omi.Index

// drawing is where areas are drawn: in the publications that are shown or, where
// those have no perimeters, in all that are loaded.
type drawing struct {
	layers
	values *omi.Index // that prices come from, where it is not the one that is drawn
}

func drawingOf(set *omi.Set, shown layers) drawing {
	for _, ix := range shown {
		if ix.Box() != (omi.Box{}) {
			return drawing{layers: shown}
		}
	}
	all, now := slices.Clone(set.All()), number(shown[0].Semester())
	slices.SortStableFunc(all, func(a, b *omi.Index) int { // the perimeters of a semester near by fit best
		x, y := number(a.Semester())-now, number(b.Semester())-now
		return x*x - y*y
	})
	return drawing{all, shown[0]}
}

// zone is the price of a zone. In another publication it is the one of the same
// code and description: a code alone may be given to another place.
func (d drawing) zone(z omi.Zone) int32 {
	if d.values == nil {
		return z.Homes()
	}
	other, ok := sameZone(d.values, z)
	if !ok {
		return 0
	}
	return other.Homes()
}

// town is the price of a municipality.
func (d drawing) town(a omi.Area) int32 {
	if d.values == nil {
		return a.Homes
	}
	other, _ := d.values.AreaOf(a.CadastralCode)
	return other.Homes
}

// province is the price of a province.
func (d drawing) province(a omi.Area) int32 {
	if d.values == nil {
		return a.Homes
	}
	for _, other := range d.values.Provinces() {
		if other.Province == a.Province {
			return other.Homes
		}
	}
	return 0
}

// semesterOf is the semester of the prices of what a publication draws.
func (d drawing) semesterOf(ix *omi.Index) string {
	if d.values != nil {
		ix = d.values
	}
	return ix.Semester().String()
}

// semesters are those of all prices on the map, the newest first. Prices of two of
// them are not to be compared by their colours.
func (d drawing) semesters() []string {
	seen := map[string]bool{}
	d.areas(func(_ omi.Area, ix *omi.Index) { seen[d.semesterOf(ix)] = true })
	all := slices.Sorted(maps.Keys(seen))
	slices.Reverse(all)
	return all
}

// version names what is shown: addresses of tiles hold it, so that they may be kept.
func (d drawing) version() string {
	h := sha256.New()
	for _, ix := range append(slices.Clone(d.layers), d.values) {
		if ix != nil {
			h.Write([]byte(ix.ID()))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// broadest is the publication with the most municipalities on the map.
func (l layers) broadest() *omi.Index {
	best, most := l[0], -1
	for _, ix := range l {
		n := 0
		for _, a := range ix.Areas() {
			if a.Drawn {
				n++
			}
		}
		if n > most {
			best, most = ix, n
		}
	}
	return best
}

// areas visits the municipalities that are drawn, each once.
func (l layers) areas(visit func(omi.Area, *omi.Index)) {
	seen := map[string]bool{}
	for _, ix := range l {
		for _, a := range ix.Areas() {
			if a.Drawn && !seen[a.CadastralCode] {
				seen[a.CadastralCode] = true
				visit(a, ix)
			}
		}
	}
}

// find is a municipality in the first publication that has ground for it, else in
// the first that has it at all.
func (l layers) find(cadastral string) (found omi.Area, in *omi.Index, ok bool) {
	for _, ix := range l {
		if a, known := ix.AreaOf(cadastral); known && (!ok || a.Drawn) {
			found, in, ok = a, ix, true
			if a.Drawn {
				break
			}
		}
	}
	return found, in, ok
}

// tile answers GET /map/areas: the areas of one level in one square, as JSON.
func (p *Pages) tile(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	set := p.publications.Current()
	answering, err := layersOf(set, q.Get("semester"))
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	shown := drawingOf(set, answering)
	var b []byte
	if level := q.Get("level"); level == "provinces" {
		b = provinceTile(shown)
	} else {
		size, known := tiles[level]
		x, err1 := strconv.ParseInt(q.Get("x"), 10, 16)
		y, err2 := strconv.ParseInt(q.Get("y"), 10, 16)
		if !known || err1 != nil || err2 != nil || x*int64(size) > 180e6 || x*int64(size) < -180e6 || y*int64(size) > 90e6 || y*int64(size) < -90e6 {
			p.site.Fail(w, r, look.Refusal(fault.BadQuery, look.T("This part of the map does not exist.", "Questa parte della mappa non esiste.")))
			return
		}
		box := omi.Box{MinX: int32(x) * size, MinY: int32(y) * size, MaxX: int32(x+1) * size, MaxY: int32(y+1) * size}
		b = areaTile(shown, level, box)
	}
	look.Headers(w)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Data-Source", omi.Attribution)
	if q.Get("v") == shown.version() {
		h.Set("Cache-Control", "public, max-age=604800, immutable")
	}
	_, _ = w.Write(b) // the client may be gone
}

// Every tile is {"areas": [[name, province, code, price, semester, quoted, [zone, price, outline]…]…]}
// with prices in whole euro, 0 for none, and the number of quoted values. A province or a
// municipality is drawn as a zone without a code, with the price of the area.

func provinceTile(shown drawing) []byte {
	b := []byte(`{"areas":[`)
	broadest := shown.broadest()
	for _, a := range broadest.Provinces() {
		if a.Drawn {
			b = openArea(b, a, provinceName(a.Province), shown.province(a), shown.semesterOf(broadest))
			b = append(appendShape(b, "", 0, a.Outline()), ']')
		}
	}
	return append(b, `]}`...)
}

func areaTile(shown drawing, level string, box omi.Box) []byte {
	b := []byte(`{"areas":[`)
	shown.areas(func(a omi.Area, ix *omi.Index) {
		if !a.Box.Meets(box) {
			return
		}
		b = openArea(b, a, properName(a.Name), shown.town(a), shown.semesterOf(ix))
		if level == "municipalities" {
			b = append(appendShape(b, "", 0, a.Outline()), ']')
			return
		}
		zones, _ := ix.ZonesOf(a.CadastralCode)
		// the smaller zone, which a lookup answers with, is drawn last
		slices.SortStableFunc(zones, func(a, b omi.Zone) int { return int(b.Area()/100) - int(a.Area()/100) })
		for _, z := range zones {
			o := z.Outline()
			if level == "detail" {
				o = z.Detail(detailTolerance, box)
			}
			if len(o.Rings) > 0 {
				b = appendShape(b, z.Code(), shown.zone(z), o)
			}
		}
		b = append(b, ']')
	})
	return append(b, `]}`...)
}

func openArea(b []byte, a omi.Area, name string, price int32, semester string) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	b = appendText(append(b, '['), name)
	b = appendText(append(b, ','), a.Province)
	b = appendText(append(b, ','), a.CadastralCode)
	b = strconv.AppendInt(append(b, ','), int64(price/1000), 10)
	b = appendText(append(b, ','), semester)
	return strconv.AppendInt(append(b, ','), int64(a.Quoted), 10)
}

func appendShape(b []byte, code string, price int32, o omi.Outline) []byte {
	b = appendText(append(b, ",["...), code)
	b = strconv.AppendInt(append(b, ','), int64(price/1000), 10)
	return append(o.AppendJSON(append(b, ',')), ']')
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string can be written
	return append(b, text...)
}
