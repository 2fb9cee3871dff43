package signing

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/callback"
)

// The conditions of SQL say what the table of states says.
func TestStates(t *testing.T) {
	if isWaiting != "state in ('WAIT_VALIDATION', 'WAIT_SIGN')" || isEnded != "state in ('DONE', 'ERROR')" {
		t.Errorf("%s, %s", isWaiting, isEnded)
	}
	for _, s := range States {
		for _, to := range s.Next() {
			if s.Final() || to == s {
				t.Errorf("%s is followed by %s", s, to)
			}
		}
	}
	if WaitValidation.Final() || !Done.Final() || !Error.Final() {
		t.Error("ends")
	}
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
		if got := entryName(7, c.label, c.ext); got != c.want {
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
		if got := mediaOf(src, c.name); got.ext != c.want {
			t.Errorf("%q, %q: %s", c.content, c.name, got.ext)
		}
		if got := formatFor(src); got != c.format {
			t.Errorf("%q is signed as %s", c.content, got)
		}
	}
}

// Secrets are good for what they were given for: whatever of it changes in the
// rows of a record, it is signed no more.
func TestBound(t *testing.T) {
	file := func(id, role string) *File {
		return &File{ID: id, Role: role, Label: "a.pdf", MimeType: "application/pdf", Extension: "pdf", Size: 1, MD5: "m", SHA256: "s", Name: "n", blob: "b", CreatedAt: time.UnixMilli(5)}
	}
	made := func() *Record {
		return &Record{
			ID: "r", AccountID: "a", TokenID: "t", Options: Options{SignerImage: &SignerImage{Reason: "seen"}}, Inputs: []*File{file("1", roleInput), file("2", roleInput)},
			Validated: file("3", roleValidated), image: file("4", roleImage), callback: &callback.Target{URL: "https://a.example"}, CreatedAt: time.UnixMilli(5), ApprovalUntil: time.UnixMilli(6),
		}
	}
	before := made().bound()
	if made().bound() != before {
		t.Fatal("the same record is bound twice")
	}
	variants := map[string]func(r *Record){
		"id": func(r *Record) { r.ID = "x" }, "account": func(r *Record) { r.AccountID = "x" }, "token": func(r *Record) { r.TokenID = "x" },
		"request": func(r *Record) { r.RequestID = "x" }, "address": func(r *Record) { r.Address = "x" }, "kind": func(r *Record) { r.CertificateType = "x" },
		"certificate": func(r *Record) { r.CertificateID = "x" }, "title": func(r *Record) { r.Title = "x" }, "description": func(r *Record) { r.Description = "x" },
		"time": func(r *Record) { r.CreatedAt = time.UnixMilli(7) }, "approval until": func(r *Record) { r.ApprovalUntil = time.UnixMilli(7) },
		"level": func(r *Record) { r.Options.Level = "LTA" }, "format": func(r *Record) { r.Options.Asked = "cades" }, "batch": func(r *Record) { r.Options.Batch = true },
		"reason": func(r *Record) { r.Options.SignerImage.Reason = "approved" }, "no appearance": func(r *Record) { r.Options.SignerImage = nil },
		"fields": func(r *Record) { r.Options.SignerImage.Fields = []string{"f"} }, "authority": func(r *Record) { r.Options.TimestampURL = "https://b.example" },
		"callback": func(r *Record) { r.callback.URL = "https://b.example" }, "callback's headers": func(r *Record) { r.callback.Headers = map[string]string{"a": "b"} }, "no callback": func(r *Record) { r.callback = nil },
		"picture": func(r *Record) { r.image.SHA256 = "x" }, "no picture": func(r *Record) { r.image = nil }, "picture's blob": func(r *Record) { r.image.blob = "x" },
		"document": func(r *Record) { r.Inputs[0].SHA256 = "x" }, "blob": func(r *Record) { r.Inputs[1].blob = "x" }, "name": func(r *Record) { r.Inputs[0].Label = "b.pdf" },
		"order": func(r *Record) { r.Inputs[0], r.Inputs[1] = r.Inputs[1], r.Inputs[0] }, "one less": func(r *Record) { r.Inputs = r.Inputs[:1] },
		"one more": func(r *Record) { r.Inputs = append(r.Inputs, file("5", roleInput)) }, "source": func(r *Record) { r.Inputs[0].source = []byte("x") },
		"validated": func(r *Record) { r.Validated.blob = "x" }, "not validated": func(r *Record) { r.Validated = nil },
	}
	for name, change := range variants {
		r := made()
		if change(r); r.bound() == before {
			t.Errorf("%s: another record is bound to the same", name)
		}
	}
}

// What a request asks for becomes what the library is asked for.
func TestLibraryOptions(t *testing.T) {
	src := bytes.NewReader([]byte("text"))
	for _, c := range []struct {
		options string
		item    item
		want    rogito.Form
		check   func(o rogito.Options) bool
	}{
		{`{}`, item{format: "cades", src: src}, rogito.Form{Format: ades.CAdES, Extension: "p7m"}, func(o rogito.Options) bool { return o.Parallel && !o.Counter }},
		{`{"detached": true}`, item{format: "cades", src: src}, rogito.Form{Format: ades.CAdES, Extension: "p7s"}, func(o rogito.Options) bool { return !o.Parallel }},
		{`{"counterSignature": true}`, item{format: "cades", src: src}, rogito.Form{Format: ades.CAdES, Extension: "p7m"}, func(o rogito.Options) bool { return o.Counter }},
		{`{"counterSignature": true}`, item{format: "cades", src: src, digest: []byte{1}}, rogito.Form{Format: ades.CAdES, Extension: "p7s"}, func(o rogito.Options) bool { return !o.Counter }},
		{`{"packaging": "asic-e"}`, item{format: "cades", src: src}, rogito.Form{Format: ades.ASiCE, Extension: "asice"}, func(o rogito.Options) bool { return o.ASiC.CAdES && !o.Parallel }},
		{`{"packaging": "asic-s"}`, item{format: "xades", src: src}, rogito.Form{Format: ades.ASiCS, Extension: "asics"}, func(o rogito.Options) bool { return !o.ASiC.CAdES }},
		{`{"packaging": "asic-s", "level": "LTA"}`, item{format: "pkcs1", src: src}, rogito.Form{Format: ades.PKCS1, Extension: "sig"}, func(o rogito.Options) bool { return o.Level == ades.LevelB }},
		{`{"packaging": "enveloping", "level": "LTV"}`, item{format: "xades", src: src}, rogito.Form{Format: ades.XAdES, Extension: "xml"}, func(o rogito.Options) bool { return o.VRI && o.Level == ades.LevelLT }},
		{`{}`, item{format: "xades", files: []ades.File{{Source: src}, {Source: src}}}, rogito.Form{Format: ades.ASiCE, Extension: "asice"}, nil},
	} {
		o, err := parsed(t, c.options)
		if err != nil {
			t.Fatal(err)
		}
		x := &run{Service: New(Deps{}, Config{}), record: &Record{Options: o}, secrets: &Secrets{}}
		in, all, err := x.libraryOptions(t.Context(), &c.item, ades.SignParams{})
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
	o, err := parsed(t, `{"level": "LTA", "signerImage": {"imageVisible": false, "fieldsNameList": ["a", "b"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Service: New(Deps{}, Config{}), record: &Record{Options: o}, secrets: &Secrets{}}
	_, all, err := x.libraryOptions(t.Context(), &item{format: "pades", src: src}, ades.SignParams{})
	if err != nil || len(all) != 2 || all[0].Level != ades.LevelT || all[1].Level != ades.LevelLTA || all[1].PAdES.Field != "b" || all[1].PAdES.NewField != "b" {
		t.Errorf("fields: %+v, %v", all, err)
	}
}
