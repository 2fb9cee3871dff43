package omi

import (
	"errors"
	"strings"
	"testing"
)

func readMade(t *testing.T, m *made) (values, zones *table) {
	t.Helper()
	values, err := readTable([]byte(m.valori()), words{})
	if err != nil {
		t.Fatal(err)
	}
	zones, err = readTable([]byte(m.zoneTable()), words{})
	if err != nil {
		t.Fatal(err)
	}
	return values, zones
}

func TestValueRows(t *testing.T) {
	m := newMade("2018/2")
	for _, row := range []string{
		dwelling,
		"13;Box;;;0;0; ;,8;1,6;L;",                  // sale not quoted, no condition
		"6;Uffici;OTTIMO; ;900;1200;L;0;0; ;",       // rent not quoted, blank prevalence
		"5;Negozi;NORMALE;P;900;1200;L;;;;",         // rent blank
		"9;Magazzini;NORMALE;P;900;1200;N;7,5;3;N;", // minimum above maximum, net surfaces
		"9;Magazzini;SCADENTE;P;x;1200;N;7,5;3;N;",  // not a number: skipped
	} {
		m.value("F205", "B1", row)
	}
	m.values = append(m.values, "too;few;fields;", strings.Repeat("x", 70_000)+";;")
	got, _ := readMade(t, m)
	if got.skipped != 3 || len(got.values) != 5 {
		t.Fatalf("%d rows, %d skipped; want 5 and 3", len(got.values), got.skipped)
	}
	v := got.values
	if v[0].sale != [2]int32{810_000, 1_000_000} || v[0].rent != [2]int32{4000, 5100} || v[0].flags != flagPrevalent|flagSale|flagRent|flagSaleGross|flagRentGross {
		t.Errorf("plain row: %+v", v[0])
	}
	if v[1].flags&flagSale != 0 || v[1].rent != [2]int32{800, 1600} || v[1].condition != "" {
		t.Errorf("sale not quoted: %+v", v[1])
	}
	if v[2].flags&(flagRent|flagPrevalent) != 0 || v[2].flags&flagSale == 0 {
		t.Errorf("rent not quoted: %+v", v[2])
	}
	if v[3].flags&flagRent != 0 {
		t.Errorf("blank rent is quoted: %+v", v[3])
	}
	if v[4].rent != [2]int32{7500, 3000} || v[4].flags&flagRentNet == 0 || v[4].flags&flagSaleNet == 0 {
		t.Errorf("minimum above maximum is kept as published: %+v", v[4])
	}
}

func TestZoneRows(t *testing.T) {
	m := newMade("2018/2")
	m.zones = []string{
		zoneLine("F205", "B01", "L'AREA ''NUOVA'"),
		zoneLine("F205", "R", "LOCALIT\xC0  DOPPIO"),
		zoneLine("F205", "E103", " inner space "),
		strings.Replace(zoneLine("F205", "D1", "X"), ";7;", ";many;", 1),
		strings.Replace(zoneLine("F205", "D2", "X"), "F205", "205F", 1),
	}
	_, got := readMade(t, m)
	if got.skipped != 2 || len(got.zones) != 3 {
		t.Fatalf("%d rows, %d skipped", len(got.zones), got.skipped)
	}
	for i, want := range []zoneRow{
		{cadastral: "F205", zone: "B01", description: "L'AREA ''NUOVA'", kind: "Abitazioni civili", condition: 'N', microzone: 7},
		{cadastral: "F205", zone: "R", description: "LOCALITÀ  DOPPIO", kind: "Abitazioni civili", condition: 'N', microzone: 7},
		{cadastral: "F205", zone: "E103", description: " inner space ", kind: "Abitazioni civili", condition: 'N', microzone: 7},
	} {
		if got.zones[i] != want {
			t.Errorf("row %d: %+v, want %+v", i, got.zones[i], want)
		}
	}
}

func TestWindowsLineEnds(t *testing.T) {
	m := newMade("2018/2").value("F205", "B1", dwelling)
	got, err := readTable([]byte("\xEF\xBB\xBF"+strings.ReplaceAll(m.valori(), "\n", "\r\n")), words{})
	if err != nil || len(got.values) != 1 || got.skipped != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
}

func TestBadHeadersAreRefused(t *testing.T) {
	good := newMade("2018/2").value("F205", "B1", dwelling).valori()
	for name, bad := range map[string]string{
		"another column":     strings.Replace(good, "Cod_Tip;", "Cod_Tipo;", 1),
		"no title":           good[strings.Index(good, "\n")+1:],
		"no semester":        strings.Replace(good, "Semestre 2018/2", "2018/2", 1),
		"another kind":       strings.Replace(good, "Valori di Mercato", "Valori Agricoli", 1),
		"zone columns":       strings.Replace(good, valuesHeader, zonesHeader, 1),
		"title only":         "Quotazioni Immobiliari : Valori di Mercato - Semestre 2018/2",
		"a third semester":   strings.Replace(good, "2018/2", "2018/3", 1),
		"endless first line": titleStart + strings.Repeat(" ", 100_000),
	} {
		_, err := readTable([]byte(bad), words{})
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzTable(f *testing.F) {
	m := newMade("2018/2").zone("F205", "B1").value("F205", "B1", dwelling)
	f.Add([]byte(m.valori()))
	f.Add([]byte(m.zoneTable()))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := readTable(b, words{})
		if err != nil {
			return
		}
		for _, v := range table.values {
			if !isCadastral(v.cadastral) || v.zone == "" || v.sale[0] < 0 || v.rent[1] < 0 {
				t.Fatalf("bad row taken: %+v", v)
			}
		}
	})
}
