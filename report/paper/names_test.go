package paper

import (
	"regexp"
	"testing"
)

// Names as they stand in European certificates; the people are invented.
func TestNames(t *testing.T) {
	for _, row := range []struct {
		name name
		want string
	}{
		{name{Common: "ROSSI MARIO", Given: "MARIO", Surname: "ROSSI", Serial: "TINIT-RSSMRA80A01H501U"}, "ROSSI MARIO (fiscal code RSSMRA80A01H501U)"},
		{name{Common: "RSSMRA80A01H501U/6030612345678.abc=", Given: "MARIO", Surname: "ROSSI", Serial: "IT:RSSMRA80A01H501U", Organization: "NON PRESENTE"}, "MARIO ROSSI (fiscal code RSSMRA80A01H501U)"},
		{name{Common: "RSSMRA80A01H501U/6030612345678.abc=", Surname: "ROSSI"}, "ROSSI (fiscal code RSSMRA80A01H501U)"},
		{name{Common: "Mario Rossi", Organization: "Comune di Prova/80012345678", OrgID: "VATIT-01234567890"}, "Mario Rossi (Comune di Prova/80012345678, VAT number IT 01234567890)"},
		{name{Common: "MÄNNIK,MARI,47101010033", Given: "MARI", Surname: "MÄNNIK", Serial: "PNOEE-47101010033"}, "MARI MÄNNIK (identifier PNOEE-47101010033)"},
		{name{Common: "Prova S.p.A.", Organization: "Prova S.p.A.", OrgID: "NTRIT-RM1234567"}, "Prova S.p.A. (organisation number NTRIT-RM1234567)"},
		{name{Organization: "Prova S.p.A."}, "Prova S.p.A."},
		{name{Common: "20191405123", Pseudonym: "Batman"}, "Batman"},
		{name{Common: "20191405123"}, "20191405123"},
		{name{Common: "A B", Serial: "12345"}, "A B"},
		{name{}, ""},
	} {
		if got := English.describe(row.name); got != row.want {
			t.Errorf("%+v is %q, want %q", row.name, got, row.want)
		}
	}
	for _, row := range []struct {
		name name
		want string
	}{
		{name{Common: "InfoCert Firma Qualificata 2", Organization: "INFOCERT SPA"}, "InfoCert Firma Qualificata 2 (INFOCERT SPA)"},
		{name{Common: "ArubaPEC S.p.A. NG CA 3", Organization: "ArubaPEC S.p.A."}, "ArubaPEC S.p.A. NG CA 3"},
		{name{Organization: "Only"}, "Only"},
	} {
		if got := English.authority(row.name); got != row.want {
			t.Errorf("%+v is %q, want %q", row.name, got, row.want)
		}
	}
}

// The form of a fiscal code is what its definition says, letter by letter.
func TestFiscalCode(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]$`)
	for _, code := range []string{"RSSMRA80A01H501U", "RSSMRAULALMHRLMU", "", "RSSMRA80A01H501", "RSSMRA80A01H501UU"} {
		for i := range code {
			for c := range 256 {
				changed := code[:i] + string([]byte{byte(c)}) + code[i+1:]
				if got, want := isFiscalCode(changed), form.MatchString(changed); got != want {
					t.Errorf("%q: %t", changed, got)
				}
			}
		}
		if got, want := isFiscalCode(code), form.MatchString(code); got != want {
			t.Errorf("%q: %t", code, got)
		}
	}
}
