package omimap

import (
	"cmp"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/pages/look"
)

// asked is what an estimate is asked for, as it came.
type asked struct{ surface, kind, condition string }

// estimateView is what a property comes to.
type estimateView struct {
	Problem                   look.Text
	Kind, Condition, Surface  string
	SurfaceKind, Sale, Rent   string
	Yield                     string
	Mixed                     bool
	SaleUnit, RentUnit, Place string
}

// estimate fills in what can be asked for, and answers where a surface was given.
func (v *request) estimate(o *zoneView, z omi.Zone) {
	val, quoted := z.Quoted(v.ask.kind, v.ask.condition)
	first, _ := z.Quoted("", "")
	for _, t := range z.Types() {
		o.Types = append(o.Types, look.Option{Value: t, Name: typeName(t).In(v.lang), Selected: quoted && val.Type == t || !quoted && first.Type == t})
	}
	for _, c := range omi.Conditions {
		o.Conditions = append(o.Conditions, look.Option{Value: c, Name: conditions[c].In(v.lang), Selected: strings.EqualFold(v.ask.condition, c)})
	}
	if strings.TrimSpace(v.ask.surface) == "" {
		return
	}
	surface, ok := parseDegrees(v.ask.surface)
	e := &estimateView{}
	o.Estimate = e
	switch {
	case !ok || !(surface >= 1 && surface <= omi.MostSurface):
		e.Problem = look.T("Write a surface in square metres, such as 85.", "Scrivi una superficie in metri quadrati, per esempio 85.")
		return
	case !quoted:
		e.Problem = look.T("This zone does not quote that type in that condition. Choose another, or leave the condition open.", "In questa zona quella tipologia non è quotata in quello stato. Scegline un'altra, o lascia aperto lo stato.")
		return
	}
	est := z.Estimate(val, surface)
	e.Kind, e.Condition = typeName(val.Type).In(v.lang), strings.ToLower(cmp.Or(conditions[val.Condition].In(v.lang), val.Condition))
	e.Surface = look.Number(v.lang, strconv.FormatFloat(surface, 'f', -1, 64))
	e.SurfaceKind = surfaceName(est.Kind()).In(v.lang)
	e.Sale, e.Rent, e.Yield = v.span(est.Sale, 0, " €"), v.span(est.Rent, 0, " €"), v.span(est.Yield, 1, " %")
	e.SaleUnit, e.RentUnit = v.money(val.Sale, val.SaleQuoted), v.money(val.Rent, val.RentQuoted)
	e.Mixed = est.Mixed()
}

func surfaceName(s omi.Surface) look.Text {
	switch s {
	case omi.Gross:
		return look.T("gross", "lordi")
	case omi.Net:
		return look.T("net", "netti")
	}
	return look.Text{}
}

// span writes a range with so many decimals.
func (v *request) span(a *omi.Amounts, decimals int, unit string) string {
	if a == nil {
		return "–"
	}
	low, high := decimal(v.lang, a.Min, decimals), decimal(v.lang, a.Max, decimals)
	if low == high {
		return low + unit
	}
	return low + "–" + high + unit
}

func decimal(l paper.Lang, f float64, decimals int) string {
	return look.Number(l, strconv.FormatFloat(f, 'f', decimals, 64))
}
