package omimap

import (
	"testing"
)

func TestPointsAsPeopleWriteThem(t *testing.T) {
	milan := point{45.4642, 9.19}
	for in, want := range map[string]point{
		"45.4642,9.19": milan, "45.4642, 9.19": milan, "45.4642 9.19": milan, "45.4642;9.19": milan, " 45.4642 ; 9.19 ": milan,
		"45,4642;9,19": milan, "45,4642 9,19": milan, "45,4642, 9,19": milan, "45,4642,9,19": milan, "(45.4642, 9.19)": milan,
		"45.4642° N, 9.19° E": milan, "45.4642N 9.19E": milan, "45.4642\t9.19": milan, "45,9": {45, 9}, "45 9": {45, 9}, "-45.5, +9": {-45.5, 9}, "9.19, 45.4642": {9.19, 45.4642},
	} {
		if got, ok := parsePoint(in); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "Milano", "45", "45.1.2, 9", "a, b", "45..5 9", "45,4642", "45.4642 9.19 3", "1e9 9", "Milano 45", "nan, nan"} {
		if got, ok := parsePoint(in); ok {
			t.Errorf("%q is taken for %v", in, got)
		}
	}
	if !(point{9.19, 45.46}).swapped() || milan.swapped() {
		t.Error("swapped coordinates are not told from others")
	}
	if got := degrees(9.1900004); got != "9.19" {
		t.Error(got)
	}
}

func FuzzPoint(f *testing.F) {
	for _, s := range []string{"45.4642,9.19", "45,4642;9,19", "Milano", "(45° N, 9)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := parsePoint(s)
		if !ok || !p.onEarth() {
			return
		}
		again, ok := parsePoint(degrees(p.Lat) + "," + degrees(p.Lng))
		if d := max(again.Lat-p.Lat, p.Lat-again.Lat, again.Lng-p.Lng, p.Lng-again.Lng); !ok || d > 1e-6 {
			t.Errorf("%q is %v, written and read again %v", s, p, again)
		}
		properName(s)
	})
}

func TestProperNames(t *testing.T) {
	for in, want := range map[string]string{
		"FORLI`": "Forlì", "SANT`ANGELO IN VADO": "Sant'Angelo in Vado", "L`AQUILA": "L'Aquila", "REGGIO NELL`EMILIA": "Reggio nell'Emilia", "VALLE D'AOSTA/VALLEE D'AOSTE": "Valle d'Aosta/Vallee d'Aoste",
		"ROMA": "Roma", "FRIULI-VENEZIA GIULIA": "Friuli-Venezia Giulia", "ALA` DEI SARDI": "Alà dei Sardi", "SÈN JAN": "Sèn Jan", "": "", "ISOLA D`ESEMPIO (SAMPLE)": "Isola d'Esempio (Sample)", "PALAZZOLO SULL`OGLIO": "Palazzolo sull'Oglio",
	} {
		if got := properName(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
	for code := range provinces {
		if len(code) != 2 {
			t.Error(code)
		}
	}
}
