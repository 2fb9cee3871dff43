package omi

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someAddresses = "\ufeffCODICE_COMUNE;CODICE_ISTAT;PROGRESSIVO_NAZIONALE;ODONIMO;LOCALITA';DIZIONE_LINGUA1;DIZIONE_LINGUA2;CIVICO;ESPONENTE;COORD_X_COMUNE;COORD_Y_COMUNE;QUOTA;METODO\r\n" +
	"F205;015146;1;VIA TORINO;;;;10;;9,1860;45,4620;;1\r\n" +
	"F205;015146;1;VIA TORINO;;;;10;B;9,1861;45,4621;;1\r\n" +
	"F205;015146;1;VIA TORINO;;;;21;;9,1850;45,4610;;1\r\n" +
	"F205;015146;1;VIA TORINO;;;;30;;9,1840;45,4600;;1\r\n" +
	"F205;015146;2;CORSO TORINO;;;;1;;9,2;45,5;;1\r\n" +
	"F205;015146;3;\"VIA \"\"QUATTRO\"\" NOVEMBRE\";;;;4;;9,21;45,51;;1\r\n" +
	"F205;015146;4;VIA GIUSEPPE GARIBALDI;;;;5;;9,22;45,52;;1\r\n" +
	"F205;015146;5;VIA SENZA LUOGO;;;;5;;;;;\r\n" +
	"A952;021008;6;PIAZZA WALTHER;;PIAZZA WALTHER;WALTHERPLATZ;1;;11.354;46.498;;1\r\n" +
	"XXXX;1;1;VIA;;;;1;;9;45;;\r\n" +
	"F205;015146;7;VIALE DELLE ROSE;;;;2;;9,23;45,53;;1\r\n"

func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "INDIR.csv")
	if err := os.WriteFile(table, []byte(someAddresses), 0o600); err != nil {
		t.Fatal(err)
	}
	lib, err := OpenLibrary(filepath.Join(dir, "omi"))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := lib.Addresses("F205", "via torino 10"); err != nil || found != nil || lib.HasAddresses() {
		t.Fatalf("before the import: %v, %v", found, err)
	}
	rep, err := lib.ImportAddresses(t.Context(), []string{table}, nil)
	if err != nil || rep != (AddressReport{Municipalities: 2, Streets: 6, Numbers: 9, WithoutPlace: 1, Skipped: 1}) {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, c := range []struct {
		town, sought, street, number string
		exact                        bool
	}{
		{"F205", "Via Torino 10", "VIA TORINO", "10", true},
		{"F205", "v. torino, 10/b", "VIA TORINO", "10/B", true},
		{"F205", "torino 10B", "VIA TORINO", "10/B", true},
		{"F205", "via Torino 12, 20123", "VIA TORINO", "10", false},
		{"F205", "via Torino 23", "VIA TORINO", "21", false},
		{"F205", "c.so torino 1", "CORSO TORINO", "1", true},
		{"F205", "corso torino", "CORSO TORINO", "", true},
		{"F205", "via quattro novembre", `VIA "QUATTRO" NOVEMBRE`, "", true},
		{"F205", "via G. Garibaldi 5", "VIA GIUSEPPE GARIBALDI", "5", true},
		{"F205", "viale rose 2", "VIALE DELLE ROSE", "2", true},
		{"A952", "Waltherplatz 1", "PIAZZA WALTHER / WALTHERPLATZ", "1", true},
		{"A952", "via torino 10", "", "", false},
		{"F205", "10", "", "", false},
	} {
		found, err := lib.Addresses(c.town, c.sought)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			if c.street != "" {
				t.Errorf("%q is not found", c.sought)
			}
			continue
		}
		if got := found[0]; got.Street != c.street || got.Number != c.number || got.Exact != c.exact || !inItaly(got.Lat, got.Lng) {
			t.Errorf("%q: %+v", c.sought, got)
		}
	}
	if err := os.WriteFile(table, []byte("nothing;of;it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lib.ImportAddresses(t.Context(), []string{table}, nil); err == nil || !strings.Contains(err.Error(), "no table of street numbers") {
		t.Errorf("a table of something else: %v", err)
	}
	if found, _ := lib.Addresses("F205", "via torino"); len(found) == 0 {
		t.Error("a refused import took the place of a good one")
	}
}

// A damaged file is told, and nothing of it is believed.
func FuzzAddresses(f *testing.F) {
	var b bytes.Buffer
	w := newAddressWriter(&b)
	if err := w.table(strings.NewReader(someAddresses)); err != nil {
		f.Fatal(err)
	}
	if err := w.end(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), "via torino 10")
	f.Add([]byte(someAddresses), "c.so torino")
	f.Fuzz(func(t *testing.T, b []byte, sought string) {
		_, _ = findAddresses(bytes.NewReader(b), int64(len(b)), "F205", sought)
		_, _ = parseAddress(sought).search(b, nil)
		var out bytes.Buffer
		w := newAddressWriter(&out)
		if w.table(bytes.NewReader(b)) == nil && w.end() == nil {
			if _, err := findAddresses(bytes.NewReader(out.Bytes()), int64(out.Len()), "F205", sought); err != nil {
				t.Errorf("what was written cannot be read: %v", err)
			}
		}
	})
}
