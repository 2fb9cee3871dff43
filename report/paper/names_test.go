package paper

import (
	"testing"

	"rogito.dev/rogito/report"
)

// Names as they stand in European certificates; the people are invented.
func TestNames(t *testing.T) {
	for _, row := range []struct {
		name name
		want string
	}{
		{name{report.Name{Common: "ROSSI MARIO", Given: "MARIO", Surname: "ROSSI", Serial: "TINIT-RSSMRA80A01H501U"}}, "ROSSI MARIO (fiscal code RSSMRA80A01H501U)"},
		{name{report.Name{Common: "RSSMRA80A01H501U/6030612345678.abc=", Given: "MARIO", Surname: "ROSSI", Serial: "IT:RSSMRA80A01H501U", Organization: "NON PRESENTE"}}, "MARIO ROSSI (fiscal code RSSMRA80A01H501U)"},
		{name{report.Name{Common: "RSSMRA80A01H501U/6030612345678.abc=", Surname: "ROSSI"}}, "ROSSI (fiscal code RSSMRA80A01H501U)"},
		{name{report.Name{Common: "Mario Rossi", Organization: "Comune di Prova/80012345678", OrgID: "VATIT-01234567890"}}, "Mario Rossi (Comune di Prova/80012345678, VAT number IT 01234567890)"},
		{name{report.Name{Common: "MÄNNIK,MARI,47101010033", Given: "MARI", Surname: "MÄNNIK", Serial: "PNOEE-47101010033"}}, "MARI MÄNNIK (identifier PNOEE-47101010033)"},
		{name{report.Name{Common: "Prova S.p.A.", Organization: "Prova S.p.A.", OrgID: "NTRIT-RM1234567"}}, "Prova S.p.A. (organisation number NTRIT-RM1234567)"},
		{name{report.Name{Organization: "Prova S.p.A."}}, "Prova S.p.A."},
		{name{report.Name{Common: "20191405123", Pseudonym: "Batman"}}, "Batman"},
		{name{report.Name{Common: "20191405123"}}, "20191405123"},
		{name{report.Name{Common: "A B", Serial: "12345"}}, "A B"},
		{name{report.Name{}}, ""},
	} {
		if got := English.describe(row.name); got != row.want {
			t.Errorf("%+v is %q, want %q", row.name, got, row.want)
		}
	}
	for _, row := range []struct {
		name name
		want string
	}{
		{name{report.Name{Common: "InfoCert Firma Qualificata 2", Organization: "INFOCERT SPA"}}, "InfoCert Firma Qualificata 2 (INFOCERT SPA)"},
		{name{report.Name{Common: "ArubaPEC S.p.A. NG CA 3", Organization: "ArubaPEC S.p.A."}}, "ArubaPEC S.p.A. NG CA 3"},
		{name{report.Name{Organization: "Only"}}, "Only"},
	} {
		if got := English.authority(row.name); got != row.want {
			t.Errorf("%+v is %q, want %q", row.name, got, row.want)
		}
	}
}
