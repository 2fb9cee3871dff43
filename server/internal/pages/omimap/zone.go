package omimap

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/pages/look"
)

// zoneView is a zone with its values.
type zoneView struct {
	Code, Cadastral, Name     string
	Town, Province            string
	Band                      look.Text
	Kind, Condition, Area     string
	Semester                  string
	Named                     bool // found by its name: the semester has no perimeters here
	Values                    []valueLine
	Other                     string // the semester beside it
	Others                    []look.Option
	Chart                     *chart
	History                   []pastLine
	Link                      string // permanent
	API                       string
	Lat, Lng                  string
	Distance                  string
	HistoryOf, HistoryQuality string
	Types, Conditions         []look.Option
	Estimate                  *estimateView
}

// valueLine is one quotation, with the same one of another semester.
type valueLine struct {
	Type, Original, Condition string
	Prevalent                 bool
	Sale, Rent                string
	SaleNet, RentNet          bool
	OtherSale, OtherRent      string
	Change, Yearly            string
}

type pastLine struct {
	Semester, Code, Sale, Rent string
	Named, Current             bool
}

// nearby is how far from a place a zone is looked for when the place has none.
const nearby = 1000

// at shows the zone at a place.
func (v *request) at(at point, vs string) {
	v.Keep = []field{{"lat", degrees(at.Lat)}, {"lng", degrees(at.Lng)}}
	if v.Address != "" {
		v.Keep = append(v.Keep, field{"address", v.Address})
	}
	past := v.set.History(at.Lat, at.Lng)
	for _, ix := range v.shown {
		i := slices.IndexFunc(past, func(p omi.Past) bool { return p.Zone.Index() == ix })
		if i < 0 || past[i].Named && v.Semester == "" {
			continue
		}
		z := past[i].Zone
		a, in, _ := v.shown.find(z.Municipality().CadastralCode)
		v.town(a, in, z)
		v.Map.mark(at)
		v.zone(z, past[i].Named, past, vs)
		v.Zone.Lat, v.Zone.Lng = degrees(at.Lat), degrees(at.Lng)
		v.Zone.Link = "/map?lat=" + v.Zone.Lat + "&lng=" + v.Zone.Lng + "&semester=" + v.Zone.Semester
		v.Zone.API = "/IT-omi?latitude=" + v.Zone.Lat + "&longitude=" + v.Zone.Lng + "&semester=" + v.Zone.Semester
		return
	}
	v.nowhere(at, past)
}

// nowhere says that a place has no zone, and what may have been meant.
func (v *request) nowhere(at point, past []omi.Past) {
	v.overview()
	v.Regions = nil
	v.Heading = degrees(at.Lat) + ", " + degrees(at.Lng)
	v.Path = []line{v.italy()}
	switch other := (point{at.Lng, at.Lat}); {
	case at.swapped():
		v.Alert = look.T("No OMI zone at latitude %s and longitude %s: that is not in Italy. Latitude and longitude look swapped.", "Nessuna zona OMI a latitudine %s e longitudine %s: il punto non è in Italia. Latitudine e longitudine sembrano scambiate.").With(degrees(at.Lat), degrees(at.Lng))
		v.Hint = &line{Link: v.link("lat", degrees(other.Lat), "lng", degrees(other.Lng)), Name: look.T("Did you mean %s, %s?", "Intendevi %s, %s?").With(degrees(other.Lat), degrees(other.Lng)).In(v.lang)}
		return
	case len(past) > 0:
		v.Alert = look.T("In %s there is no OMI zone at latitude %s and longitude %s; other semesters have one.", "Nel semestre %s non c'è nessuna zona OMI a latitudine %s e longitudine %s; in altri semestri sì.").With(v.Semester, degrees(at.Lat), degrees(at.Lng))
		s := past[0].Zone.Index().Semester().String()
		v.Hint = &line{Link: "/map?lat=" + degrees(at.Lat) + "&lng=" + degrees(at.Lng) + "&semester=" + s, Name: look.T("Show it in %s", "Mostrala nel %s").With(s).In(v.lang)}
	default:
		v.Alert = look.T("No OMI zone found for latitude %s and longitude %s.", "Nessuna zona OMI a latitudine %s e longitudine %s.").With(degrees(at.Lat), degrees(at.Lng))
		for _, ix := range v.shown {
			if z, metres, ok := ix.Nearest(at.Lat, at.Lng, nearby); ok {
				p, _ := inside(z)
				v.Hint = &line{
					Link: v.link("lat", degrees(p.Lat), "lng", degrees(p.Lng)),
					Name: look.T("The nearest is %s of %s, %s metres away", "La più vicina è %s di %s, a %s metri").With(z.Code(), properName(z.Municipality().Name), strconv.Itoa(int(metres+0.5))).In(v.lang),
				}
				break
			}
		}
	}
	box := v.drawn.broadest().Box()
	reach := int32(60_000) // show where it is, if that is near anything
	around := omi.Box{MinX: int32(at.Lng*1e6) - reach, MinY: int32(at.Lat*1e6) - reach, MaxX: int32(at.Lng*1e6) + reach, MaxY: int32(at.Lat*1e6) + reach}
	if around.Meets(box) && v.Map != nil {
		v.Map.mark(at)
	}
}

// zone shows a zone beside the same one of another semester.
func (v *request) zone(z omi.Zone, named bool, past []omi.Past, vs string) {
	m := z.Municipality()
	s := z.Index().Semester()
	v.Title = look.T("Zone %s of %s: property values %s", "Zona %s di %s: quotazioni immobiliari %s").With(z.Code(), properName(m.Name), s)
	v.Path = append(v.Path, line{Link: v.link("municipality", m.CadastralCode), Name: properName(m.Name)})
	o := &zoneView{
		Code: z.Code(), Cadastral: m.CadastralCode, Name: cmp.Or(sentence(z.Description()), z.Code()), Town: properName(m.Name), Province: m.Province,
		Band: bands[z.Band()], Kind: typeName(z.PrevalentType()).In(v.lang), Condition: conditions[z.PrevalentCondition()].In(v.lang), Semester: s.String(), Named: named,
		Link: "/map?municipality=" + m.CadastralCode + "&zone=" + z.Code() + "&semester=" + s.String(),
		API:  "/IT-omi/zones/" + m.CadastralCode + "/" + z.Code() + "?semester=" + s.String(),
	}
	if area := z.Area(); area > 0 {
		o.Area = look.Number(v.lang, strconv.FormatFloat(area/1e6, 'f', 2, 64)) + " km²"
	}
	other, hasOther := v.beside(o, z, past, vs)
	for i := range z.Values() {
		val := z.Value(i)
		l := valueLine{
			Type: typeName(val.Type).In(v.lang), Condition: cmp.Or(conditions[val.Condition].In(v.lang), val.Condition), Prevalent: val.Prevalent,
			Sale: v.money(val.Sale, val.SaleQuoted), Rent: v.money(val.Rent, val.RentQuoted),
			SaleNet: val.SaleQuoted && val.Sale.Surface == omi.Net, RentNet: val.RentQuoted && val.Rent.Surface == omi.Net,
		}
		if l.Type != val.Type {
			l.Original = val.Type
		}
		if was, ok := sameValue(other, val); hasOther && ok {
			l.OtherSale, l.OtherRent = v.money(was.Sale, was.SaleQuoted), v.money(was.Rent, was.RentQuoted)
			if val.SaleQuoted && was.SaleQuoted {
				l.Change, l.Yearly = v.change(was.Sale, other.Index().Semester(), val.Sale, s)
			}
		} else if hasOther {
			l.OtherSale, l.OtherRent = "–", "–"
		}
		o.Values = append(o.Values, l)
	}
	v.Zone = o
	v.history(o, z, past)
	v.estimate(o, z)
}

// beside chooses the semester that is shown beside a zone: the one that is asked
// for, else the next older one that has the zone.
func (v *request) beside(o *zoneView, z omi.Zone, past []omi.Past, vs string) (other omi.Zone, ok bool) {
	if vs == o.Semester {
		vs = ""
	}
	for _, p := range past {
		s := p.Zone.Index().Semester()
		if s == z.Index().Semester() {
			continue
		}
		older := s.Compare(z.Index().Semester()) < 0
		if !ok && (vs == s.String() || vs == "" && older) {
			other, ok = p.Zone, true
			o.Other = s.String()
		}
		o.Others = append(o.Others, look.Option{Value: s.String(), Name: s.String()})
	}
	for i := range o.Others {
		o.Others[i].Selected = o.Others[i].Value == o.Other
	}
	return other, ok
}

// sameValue is the quotation of the same type and condition.
func sameValue(z omi.Zone, as omi.Value) (omi.Value, bool) {
	if z == (omi.Zone{}) {
		return omi.Value{}, false
	}
	for i := range z.Values() {
		if val := z.Value(i); val.TypeCode == as.TypeCode && val.Condition == as.Condition {
			return val, true
		}
	}
	return omi.Value{}, false
}

// history draws the zone's main value over the semesters.
func (v *request) history(o *zoneView, z omi.Zone, past []omi.Past) {
	head, ok := z.HomeValue()
	for i := 0; !ok && i < z.Values(); i++ { // no homes: what is quoted first
		head = z.Value(i)
		ok = head.SaleQuoted
	}
	if !ok || len(past) < 2 {
		return
	}
	var entries []entry
	for _, p := range past {
		val, known := sameValue(p.Zone, head)
		if !known || !val.SaleQuoted {
			continue
		}
		s := p.Zone.Index().Semester()
		current := s.String() == o.Semester
		o.History = append(o.History, pastLine{s.String(), p.Zone.Code(), v.money(val.Sale, true), v.money(val.Rent, val.RentQuoted), p.Named, current})
		entries = append(entries, entry{s, val.Sale.Min, val.Sale.Max, current})
	}
	if len(entries) < 2 {
		return
	}
	slices.Reverse(entries)
	o.HistoryOf = typeName(head.Type).In(v.lang)
	o.HistoryQuality = strings.ToLower(cmp.Or(conditions[head.Condition].In(v.lang), head.Condition))
	o.Chart = newChart(v.lang, entries)
}

func (v *request) money(r omi.Range, quoted bool) string {
	if !quoted {
		return "–"
	}
	return amounts(v.lang, r.Min, r.Max)
}

// change is how the middle of a range moved, in all and for each year.
func (v *request) change(from omi.Range, was omi.Semester, to omi.Range, is omi.Semester) (whole, yearly string) {
	all, year, ok := omi.Change(from, was, to, is)
	if !ok {
		return "", ""
	}
	return v.percent(all), v.percent(year)
}

func (v *request) percent(p float64) string {
	percent := strconv.FormatFloat(p, 'f', 1, 64)
	switch {
	case percent == "0.0" || percent == "-0.0":
		return "="
	case percent[0] != '-':
		return "+" + look.Number(v.lang, percent) + " %"
	}
	return "−" + look.Number(v.lang, percent[1:]) + " %"
}

var conditions = map[string]look.Text{
	"NORMALE": look.T("Normal", "Normale"), "OTTIMO": look.T("Excellent", "Ottimo"), "SCADENTE": look.T("Poor", "Scadente"),
}

// types are the types of property in English; in Italian they are called as
// published.
var types = map[string]string{
	"Abitazioni civili": "Ordinary homes", "Abitazioni di tipo economico": "Economical homes", "Abitazioni signorili": "Stately homes", "Abitazioni tipiche dei luoghi": "Homes typical of the place",
	"Ville e Villini": "Villas and cottages", "Box": "Garages", "Posti auto coperti": "Covered parking spaces", "Posti auto scoperti": "Open parking spaces", "Autorimesse": "Parking garages",
	"Negozi": "Shops", "Magazzini": "Storerooms", "Uffici": "Offices", "Uffici strutturati": "Office buildings", "Laboratori": "Workshops", "Capannoni tipici": "Sheds", "Capannoni industriali": "Industrial buildings",
	"Centri commerciali": "Shopping centres", "Pensioni e assimilati": "Guest houses", "Seminativo": "Arable land",
}

func typeName(italian string) look.Text {
	if english, ok := types[italian]; ok {
		return look.Text{English: english, Italian: italian}
	}
	return look.Same(italian)
}
