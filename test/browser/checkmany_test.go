package browser

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Several files, a folder and a zip at once: one table with a link to each result,
// the table as a file, and without scripts the same.
func TestCheckMany(t *testing.T) {
	s := startServer(t, "ROGITO_CONSOLE_CHECK_PER_MINUTE=0")
	signed := s.sign(t, aPDF("Atto", "Compravendita"), "pades")
	folder := filepath.Join(t.TempDir(), "pratica")
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, f := range []struct {
		name    string
		content []byte
	}{{"interno.p7m", s.sign(t, []byte("testo"), "cades")}, {"nota.txt", []byte("nessuna firma")}} {
		w, err := z.Create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	var files []string
	for name, content := range map[string][]byte{
		"=1+1.pdf": signed, "archivio.zip": packed.Bytes(),
		"cambiato.pdf": append(bytes.Clone(signed), "\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R /X 1 >>\nendobj\n"...),
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	slices.Sort(files)
	for _, h := range []how{{Lang: "en"}, {Lang: "it", Width: 390, Height: 844}, {Lang: "it", NoScripts: true, Same: true}} {
		b := open(t, s, h)
		b.goTo("/check")
		if !h.NoScripts {
			want := map[string]string{"en": "Choose files", "it": "Scegli i file"}[h.Lang]
			if got := b.text("label[for=inputDocument]"); got != want {
				t.Errorf("%+v: the button says %q", h, got)
			}
			b.sound("check-choose")
		}
		switch {
		case h.NoScripts:
			b.upload("#inputDocument", files...)
			b.loading(func() { b.click("#check button[type=submit]") })
		case h.Lang == "en": // a folder, which is sent as soon as it is dropped
			b.drop("check-drop", folder)
		default: // sent as soon as they are chosen
			b.upload("#inputDocument", files...)
		}
		b.wait("#results")
		if got := b.count("#results tbody tr"); got != "4" {
			t.Fatalf("%+v: %s rows: %s", h, got, b.text("#results"))
		}
		if got := b.attr("#verdict", "data-indication"); got != "TOTAL-FAILED" {
			t.Errorf("%+v: %s", h, got)
		}
		words := map[string][]string{"en": {"4 files checked", "Valid: 2", "Not valid: 1", "Not signed: 1"}, "it": {"4 file verificati", "Valida: 2", "Non valida: 1", "Non firmato: 1"}}[h.Lang]
		for _, want := range words {
			if !strings.Contains(b.text("#verdict"), want) {
				t.Errorf("%+v: no %q in %q", h, want, b.text("#verdict"))
			}
		}
		rows := b.text("#results")
		for _, want := range []string{"archivio.zip/interno.p7m", "archivio.zip/nota.txt", "Ada Prova", "!", "✕"} {
			if !strings.Contains(rows, want) {
				t.Errorf("%+v: no %q in %q", h, want, rows)
			}
		}
		if !h.NoScripts && h.Lang == "en" && !strings.Contains(rows, "pratica/=1+1.pdf") {
			t.Errorf("the folder is not named: %q", rows)
		}
		b.sound("check-many")
		table, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b.download("#table-csv"), []byte("\ufeff")))).ReadAll()
		if err != nil || len(table) != 5 {
			t.Fatalf("%+v: the table has %d rows: %v", h, len(table), err)
		}
		for _, row := range table[1:] {
			if strings.HasPrefix(row[0], "=") {
				t.Errorf("%+v: a formula: %q", h, row)
			}
		}
		b.click("#results tr:has(time) a")
		if got := b.eval("getComputedStyle(document.querySelector('.result:target')).display"); got != "block" {
			t.Errorf("%+v: the result is not shown: %s", h, got)
		}
		if b.count(".result:target .signature") == "0" {
			t.Errorf("%+v: no signature in it", h)
		}
		b.sound("check-many-one")
		zone := b.text(".result:target .signers time")
		if title := b.attr(".result:target .signers time", "title"); !strings.HasSuffix(title, "UTC") || h.Lang == "it" && !strings.HasSuffix(zone, "CET") && !strings.HasSuffix(zone, "CEST") {
			t.Errorf("%+v: a time is %q, %q", h, zone, title)
		}
	}
}
