package omi

import (
	"slices"
	"testing"
)

// Names as people write them, against names as the source has them.
func TestNamesFit(t *testing.T) {
	for _, c := range []struct {
		published, cadastral, sought string
		want                         int
	}{
		{"REGGIO NELL`EMILIA", "H223", "Reggio Emilia", fitsLoosely},
		{"REGGIO NELL`EMILIA", "H223", "reggio nell'emilia", fitsWhole},
		{"REGGIO NELL`EMILIA", "H223", "Reggio nell’Emilia", fitsWhole},
		{"REGGIO DI CALABRIA", "H224", "reggio calabria", fitsLoosely},
		{"L`AQUILA", "A345", "aquila", fitsLoosely},
		{"FORLI`", "D704", "Forlì", fitsWhole},
		{"FORLI`", "D704", "forli", fitsWhole},
		{"BOLZANO .BOZEN.", "A952", "Bozen", fitsWhole},
		{"BOLZANO .BOZEN.", "A952", "bolzano", fitsWhole},
		{"APPIANO SULLA STRADA DEL VINO .EPPAN AN DER WEINST", "A332", "Eppan an der Weinstraße", fitsWhole},
		{"AOSTA", "A326", "Aoste", fitsWhole},
		{"DUINO-AURISINA", "D383", "Devin Nabrežina", fitsWhole},
		{"S DEMETRIO NE` VESTINI", "H772", "San Demetrio ne' Vestini", fitsLoosely},
		{"SANT`ELPIDIO A MARE", "I324", "s. elpidio a mare", fitsLoosely},
		{"MILANO", "F205", "Mil", fitsStart},
		{"MILANO", "F205", "Roma", fitsNot},
	} {
		best := fitsNot
		for _, n := range namesOf(Municipality{Name: c.published, CadastralCode: c.cadastral}) {
			best = min(best, n.fit(Plain(c.sought), loosely(Plain(c.sought))))
		}
		if best != c.want {
			t.Errorf("%q for %q: %d, want %d", c.sought, c.published, best, c.want)
		}
	}
}

// The sample's municipality, its zones by code, by what they are called and by nothing.
func TestWhereabouts(t *testing.T) {
	ix := sample()
	town := ix.Areas()[0]
	for q, want := range map[string][]string{
		Names(town.Name)[0] + " B1": {"B1"}, "b1, " + Names(town.Name)[0]: {"B1"}, Names(town.Name)[0] + " zona c1": {"C1"}, Names(town.Name)[0] + " nowhere": nil,
	} {
		var got []string
		for _, w := range ix.Whereabouts(q) {
			for _, z := range ix.Described(w.Area.CadastralCode, w.Rest) {
				got = append(got, z.Code())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
	z, _ := ix.Zone(town.CadastralCode, "B1")
	if found := ix.Described(town.CadastralCode, z.Description()); !slices.Contains(found, z) {
		t.Errorf("%q is not found by its own description: %v", z.Description(), found)
	}
}

func TestEstimate(t *testing.T) {
	ix := sample()
	z, _ := ix.Zone(ix.Areas()[0].CadastralCode, "B1")
	v, ok := z.Quoted("", "")
	if !ok || !v.Prevalent {
		t.Fatalf("the prevalent quotation: %+v, %v", v, ok)
	}
	e := z.Estimate(v, 85)
	if e.Sale == nil || e.Sale.Min != float64(v.Sale.Min)*85/1000 || e.Sale.Max < e.Sale.Min {
		t.Errorf("sale %+v of %+v", e.Sale, v)
	}
	if e.Rent != nil && (e.Yield == nil || !(e.Yield.Min > 0 && e.Yield.Min <= e.Yield.Max)) {
		t.Errorf("yield %+v", e.Yield)
	}
	for _, kind := range []string{v.Type, "20"} {
		if again, ok := z.Quoted(kind, v.Condition); kind == v.Type && (!ok || again != v) {
			t.Errorf("%q: %+v", kind, again)
		}
	}
	if _, ok := z.Quoted("castello", ""); ok {
		t.Error("a castle is quoted")
	}
	if _, ok := z.Quoted("", "ROVINA"); ok {
		t.Error("a ruin is quoted")
	}
	if whole, yearly, ok := Change(Range{Min: 1000, Max: 1000}, Semester{2018, 2}, Range{Min: 2000, Max: 2000}, Semester{2025, 2}); !ok || whole != 100 || yearly < 10.4 || yearly > 10.41 {
		t.Errorf("double in seven years: %v, %v a year", whole, yearly)
	}
}
