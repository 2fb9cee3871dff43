package omimap

import (
	"cmp"
	"slices"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// mostFound is how many municipalities a search lists.
const mostFound = 60

// search takes coordinates or the name of a municipality. A name that only one
// has leads there at once.
func (v *request) search() (to string, err error) {
	if at, ok := parsePoint(v.Q); ok {
		if !at.onEarth() {
			return "", look.Refusal(fault.BadCoordinate, look.T("There are no such coordinates: a latitude is between -90 and 90, a longitude between -180 and 180.", "Queste coordinate non esistono: la latitudine va da -90 a 90, la longitudine da -180 a 180."))
		}
		return v.link("lat", degrees(at.Lat), "lng", degrees(at.Lng)), nil
	}
	var found []omi.Area
	whole := 0
	seen := map[string]bool{}
	for _, ix := range v.shown {
		more, n := ix.Search(v.Q)
		for i, a := range more {
			if !seen[a.CadastralCode] {
				seen[a.CadastralCode] = true
				at := len(found)
				if i < n { // those called exactly so come first, of whatever publication
					at = whole
					whole++
				}
				found = slices.Insert(found, at, a)
			}
		}
	}
	if whole == 1 {
		return v.link("municipality", found[0].CadastralCode), nil
	}
	if whole > 1 {
		found = found[:whole]
	}
	if whole == 0 {
		if to, ok := v.beyond(); ok {
			return to, nil
		}
	}
	if len(found) == 0 {
		v.Heading = v.Q
		v.Alert = look.T("No municipality and no zone is called “%s” here. Try a municipality, a municipality and a zone (Roma B29), or coordinates such as 45.4642, 9.19.", "Qui nessun comune e nessuna zona si chiama “%s”. Prova con un comune, un comune e una zona (Roma B29), o coordinate come 45.4642, 9.19.").With(v.Q)
		if v.addresses {
			v.Alert = look.T("No municipality and no zone is called “%s” here. Try an address with its municipality (via Torino 10, Milano), a municipality and a zone (Roma B29), or coordinates such as 45.4642, 9.19.", "Qui nessun comune e nessuna zona si chiama “%s”. Prova con un indirizzo e il suo comune (via Torino 10, Milano), un comune e una zona (Roma B29), o coordinate come 45.4642, 9.19.").With(v.Q)
		}
		v.overview()
		return "", nil
	}
	if len(found) == 1 {
		return v.link("municipality", found[0].CadastralCode), nil
	}
	v.overview()
	v.Regions = nil
	v.Heading = look.T("%d municipalities fit “%s”", "%d comuni corrispondono a “%s”").With(len(found), v.Q).In(v.lang)
	v.list(found)
	return "", nil
}

// list shows municipalities.
func (v *request) list(found []omi.Area) {
	if len(found) > mostFound {
		v.More, found = len(found)-mostFound, found[:mostFound]
	}
	for _, a := range found {
		v.Found = append(v.Found, line{
			Link: v.link("municipality", a.CadastralCode), Name: properName(a.Name), More: provinceName(a.Province) + ", " + properName(a.Region),
			Price: v.price(a.Homes), Class: colour(a.Homes), Other: v.otherOf(a.CadastralCode),
		})
	}
}

func (v *request) italy() line {
	return line{Link: v.link(), Name: look.T("Italy", "Italia").In(v.lang)}
}

// overview is the whole country, by region and province.
func (v *request) overview() {
	ix, drawn := v.shown.broadest(), v.drawn.broadest()
	if v.Heading == "" {
		v.Heading = v.italy().Name
		if ix.Report().Sample {
			v.Heading = properName(ix.Provinces()[0].Region)
		}
	}
	v.scale(v.drawn.semesterOf(drawn))
	byRegion := map[string][]line{}
	for _, a := range ix.Provinces() {
		byRegion[a.Region] = append(byRegion[a.Region], line{Link: v.link("province", a.Province), Name: provinceName(a.Province), Price: v.price(a.Homes), Class: colour(a.Homes)})
	}
	for region, lines := range byRegion {
		slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.Name, b.Name) })
		v.Regions = append(v.Regions, group{properName(region), lines})
	}
	slices.SortFunc(v.Regions, func(a, b group) int { return cmp.Compare(a.Name, b.Name) })
	v.Map = newFigure(frame(drawn.Box()))
	for _, a := range drawn.Provinces() {
		if v.draws && a.Drawn {
			v.Map.add(a.Outline(), shape{Link: v.link("province", a.Province), Title: provinceName(a.Province), Class: colour(v.drawn.province(a))})
		}
	}
}

// frame is a box that is not empty.
func frame(box omi.Box) omi.Box {
	if box == (omi.Box{}) {
		return omi.Box{MinX: 6_500_000, MinY: 35_400_000, MaxX: 18_600_000, MaxY: 47_200_000} // Italy
	}
	return box
}

// province shows the municipalities of a province.
func (v *request) province(code string) error {
	var here, drawn []omi.Area
	var box omi.Box
	seen := map[string]bool{}
	for _, ix := range v.shown {
		for _, a := range ix.Areas() {
			if a.Province != code || seen[a.CadastralCode] {
				continue
			}
			seen[a.CadastralCode] = true
			a, _, _ = v.shown.find(a.CadastralCode)
			here = append(here, a)
			if on, _, _ := v.drawn.find(a.CadastralCode); on.Drawn {
				if len(drawn) == 0 {
					box = on.Box
				}
				box = box.Union(on.Box)
				drawn = append(drawn, on)
			}
		}
	}
	if len(here) == 0 {
		return look.Refusal(fault.NotFound, look.T("There is no such province here.", "Qui non c'è nessuna provincia con questa sigla."))
	}
	slices.SortFunc(here, func(a, b omi.Area) int { return strings.Compare(a.Name, b.Name) })
	v.scale(v.drawn.common(drawn))
	v.Heading = look.T("Province of %s", "Provincia di %s").With(provinceName(code)).In(v.lang)
	v.Title = look.T("Province of %s: property values", "Provincia di %s: quotazioni immobiliari").With(provinceName(code))
	v.Path = []line{v.italy()}
	v.Keep = []field{{"province", code}}
	for _, a := range here {
		v.Found = append(v.Found, line{Link: v.link("municipality", a.CadastralCode), Name: properName(a.Name), Price: v.price(a.Homes), Class: colour(a.Homes), Other: v.otherOf(a.CadastralCode)})
	}
	v.Map = newFigure(frame(box))
	for _, a := range drawn {
		if v.draws {
			v.Map.add(a.Outline(), shape{Link: v.link("municipality", a.CadastralCode), Title: properName(a.Name), Class: colour(v.drawn.town(a)), Other: v.otherOf(a.CadastralCode) != ""})
		}
	}
	return nil
}

// zoneLine is a zone of a municipality.
type zoneLine struct {
	line
	Code, Band string
	ID         string // with the cadastral code, as it is named elsewhere
	Compared   bool
	homes      int32
}

// municipality shows the zones of a municipality, and one of them by its code.
func (v *request) municipality(cadastral, code, vs string) error {
	a, ix, ok := v.shown.find(cadastral)
	if !ok {
		return look.Refusal(fault.NotFound, look.T("No municipality has this code here.", "Qui nessun comune ha questo codice."))
	}
	var chosen omi.Zone
	if code != "" {
		if chosen, ok = ix.Zone(cadastral, code); !ok {
			return look.Refusal(fault.NotFound, look.T("This municipality has no such zone in this semester.", "In questo semestre il comune non ha questa zona."))
		}
	}
	v.town(a, ix, chosen)
	v.Keep = []field{{"municipality", cadastral}}
	if code == "" {
		return nil
	}
	v.Keep = append(v.Keep, field{"zone", code})
	past := []omi.Past{{Zone: chosen}}
	if at, ok := inside(chosen); ok {
		past = v.set.History(at.Lat, at.Lng)
	}
	v.zone(chosen, false, past, vs)
	return nil
}

// town lists the zones of a municipality, and draws them.
func (v *request) town(a omi.Area, ix *omi.Index, chosen omi.Zone) {
	name := properName(a.Name)
	v.Heading = name
	v.Title = look.T("%s: property values by zone", "%s: quotazioni immobiliari per zona").With(name)
	v.Path = []line{v.italy(), {Link: v.link("province", a.Province), Name: look.T("Province of %s", "Provincia di %s").With(provinceName(a.Province)).In(v.lang)}}
	if !a.Drawn && chosen == (omi.Zone{}) {
		v.Note = look.T("This semester has no perimeters of this municipality: its zones are known by their names only.", "Di questo comune il semestre non ha i perimetri: le zone si conoscono solo per nome.")
	}
	drawn, in, _ := v.drawn.find(a.CadastralCode)
	if in != nil {
		v.scale(v.drawn.semesterOf(in))
	} else {
		v.scale(ix.Semester().String())
	}
	v.Table = v.table(a.CadastralCode)
	links := map[string]string{} // by code
	zones, _ := ix.ZonesOf(a.CadastralCode)
	for _, z := range zones {
		to := v.link("municipality", a.CadastralCode, "zone", z.Code())
		if ground, ok := sameZone(in, z); ok {
			if p, ok := inside(ground); ok {
				to = v.link("lat", degrees(p.Lat), "lng", degrees(p.Lng))
			}
		}
		links[z.Code()] = to
		v.Zones = append(v.Zones, zoneLine{
			line: line{Link: to, Name: cmp.Or(sentence(z.Description()), z.Code()), Price: v.price(z.Homes()), Class: colour(z.Homes()), Current: z == chosen},
			Code: z.Code(), Band: bands[z.Band()].In(v.lang), ID: a.CadastralCode + "/" + z.Code(), Compared: slices.Contains(v.compare, a.CadastralCode+"/"+z.Code()), homes: z.Homes(),
		})
	}
	if v.Sorted {
		slices.SortStableFunc(v.Zones, func(a, b zoneLine) int { return cmp.Compare(b.homes, a.homes) })
	}
	v.Map = newFigure(frame(drawn.Box))
	if !v.draws || in == nil {
		return
	}
	zones, _ = in.ZonesOf(a.CadastralCode)
	// the smaller zone, which a lookup answers with, is drawn last
	slices.SortStableFunc(zones, func(a, b omi.Zone) int { return cmp.Compare(b.Area(), a.Area()) })
	for _, z := range zones {
		v.Map.add(z.Detail(v.Map.unit()*0.7, drawn.Box), shape{
			Link: links[z.Code()], Title: z.Code() + " " + sentence(z.Description()), Class: colour(v.drawn.zone(z)),
			Current: chosen != (omi.Zone{}) && z.Code() == chosen.Code(),
		})
	}
}

// sameZone is a zone in another publication: of the same code and description.
func sameZone(ix *omi.Index, z omi.Zone) (omi.Zone, bool) {
	if ix == nil || ix == z.Index() {
		return z, ix != nil
	}
	same, ok := ix.Zone(z.Municipality().CadastralCode, z.Code())
	return same, ok && same.Description() == z.Description()
}

// bands are what the first letter of a code says.
var bands = map[string]look.Text{
	"B": look.T("Central", "Centrale"), "C": look.T("Semi-central", "Semicentrale"), "D": look.T("Peripheral", "Periferica"),
	"E": look.T("Suburban", "Suburbana"), "R": look.T("Rural", "Extraurbana"),
}
