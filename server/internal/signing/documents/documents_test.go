package documents

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

func options(t *testing.T, text string) request.Options {
	t.Helper()
	o := request.DefaultOptions()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEntryName(t *testing.T) {
	for _, c := range []struct{ label, ext, want string }{
		{"", "pdf", "0007_document.pdf"},
		{"a.txt", "pdf", "0007_a.pdf"},
		{`C:\dir\a.txt`, "p7m", "0007_a.p7m"},
		{"../../etc/passwd", "bin", "0007_passwd.bin"},
		{"..", "bin", "0007_document.bin"},
		{"a\x00b:c?.x", "x", "0007_a_b_c_.x"},
		{"näme.csv", "csv.p7m", "0007_näme.csv.p7m"},
	} {
		if got := EntryName(7, c.label, c.ext); got != c.want {
			t.Errorf("%q: %q, want %q", c.label, got, c.want)
		}
	}
}

func TestMedia(t *testing.T) {
	for _, c := range []struct{ content, name, want, format string }{
		{"%PDF-1.7", "a.txt", "pdf", "pades"},
		{"<a/>", "a.txt", "xml", "xades"},
		{"<!DOCTYPE html><html>", "a.txt", "html", "cades"},
		{"text", "a.csv", "csv", "cades"},
		{"text", "a", "txt", "cades"},
		{"text", "a.b/c", "txt", "cades"},
		{"PK\x03\x04", "a.docx", "docx", "cades"},
		{"\x00\x01", "", "bin", "cades"},
	} {
		src := strings.NewReader(c.content)
		if got := mediaOf(src, c.name); got.Ext != c.want {
			t.Errorf("%q, %q: %s", c.content, c.name, got.Ext)
		}
		if got := formatFor(src); string(got) != c.format {
			t.Errorf("%q is signed as %s", c.content, got)
		}
	}
}

// What a request asks for becomes what the library is asked for.
func TestLibraryOptions(t *testing.T) {
	src := bytes.NewReader([]byte("text"))
	for _, c := range []struct {
		options string
		item    Item
		want    rogito.Form
		check   func(o rogito.Options) bool
	}{
		{`{}`, Item{format: "cades", Source: src}, rogito.Form{Format: ades.CAdES, Extension: "p7m"}, func(o rogito.Options) bool { return o.Parallel && !o.Counter }},
		{`{"detached": true}`, Item{format: "cades", Source: src}, rogito.Form{Format: ades.CAdES, Extension: "p7s"}, func(o rogito.Options) bool { return !o.Parallel }},
		{`{"counterSignature": true}`, Item{format: "cades", Source: src}, rogito.Form{Format: ades.CAdES, Extension: "p7m"}, func(o rogito.Options) bool { return o.Counter }},
		{`{"counterSignature": true}`, Item{format: "cades", Source: src, Digest: []byte{1}}, rogito.Form{Format: ades.CAdES, Extension: "p7s"}, func(o rogito.Options) bool { return !o.Counter }},
		{`{"packaging": "asic-e"}`, Item{format: "cades", Source: src}, rogito.Form{Format: ades.ASiCE, Extension: "asice"}, func(o rogito.Options) bool { return o.ASiC.CAdES && !o.Parallel }},
		{`{"serialization": "compact"}`, Item{format: "jades", Source: src}, rogito.Form{Format: ades.JAdES, Extension: "jws"}, func(o rogito.Options) bool { return !o.JAdES.Detached }},
		{`{"detached": true, "counterSignature": true}`, Item{format: "jades", Source: src}, rogito.Form{Format: ades.JAdES, Extension: "json", InPlace: true}, func(o rogito.Options) bool { return o.JAdES.Detached && o.Counter }},
		{`{"packaging": "asic-s"}`, Item{format: "xades", Source: src}, rogito.Form{Format: ades.ASiCS, Extension: "asics"}, func(o rogito.Options) bool { return !o.ASiC.CAdES }},
		{`{"packaging": "asic-s", "level": "LTA"}`, Item{format: "pkcs1", Source: src}, rogito.Form{Format: ades.PKCS1, Extension: "sig"}, func(o rogito.Options) bool { return o.Level == ades.LevelB }},
		{`{"packaging": "enveloping", "level": "LTV"}`, Item{format: "xades", Source: src}, rogito.Form{Format: ades.XAdES, Extension: "xml"}, func(o rogito.Options) bool { return o.VRI && o.Level == ades.LevelLT }},
		{`{}`, Item{format: "xades", files: []ades.File{{Source: src}, {Source: src}}}, rogito.Form{Format: ades.ASiCE, Extension: "asice"}, nil},
	} {
		x := New(Config{}, &ledger.Record{Options: options(t, c.options)}, &ledger.Secrets{})
		in, all, err := x.LibraryOptions(t.Context(), &c.item, rogito.Options{})
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d, %v", c.options, len(all), err)
		}
		form := all[0].Form(in)
		form.MediaType = ""
		if form != c.want || c.check != nil && !c.check(all[0]) {
			t.Errorf("%s: %+v, %+v", c.options, form, all[0])
		}
	}
	// Each field of a PDF is signed in turn, and only the last is raised beyond T.
	o := options(t, `{"level": "LTA", "signerImage": {"imageVisible": false, "fieldsNameList": ["a", "b"]}}`)
	x := New(Config{}, &ledger.Record{Options: o}, &ledger.Secrets{})
	_, all, err := x.LibraryOptions(t.Context(), &Item{format: "pades", Source: src}, rogito.Options{})
	if err != nil || len(all) != 2 || all[0].Level != ades.LevelT || all[1].Level != ades.LevelLTA || all[1].PAdES.Field != "b" || all[1].PAdES.NewField != "b" {
		t.Errorf("fields: %+v, %v", all, err)
	}
}
