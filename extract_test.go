package rogito_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// signAs signs files with a format, for tests of what can be taken out again.
func signAs(t *testing.T, a *adestest.Actor, f ades.Format, in rogito.Input) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), in, &out, a.Key, rogito.Options{SignParams: a.Signing(signedAt), Format: f}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestExtract(t *testing.T) {
	a := adestest.Must(t, signClock).Actor(t, "p256")
	text := signAs(t, a, ades.CAdES, one("text"))
	again := signAs(t, a, ades.CAdES, one(string(text)))
	pdf := signAs(t, a, ades.PAdES, one(string(smallPDF())))
	xml := signAs(t, a, ades.XAdES, one("<a/>"))
	pair := signAs(t, a, ades.ASiCE, rogito.Input{Files: append(one("1").Files, ades.File{Name: "d/b.txt", Source: bytes.NewReader([]byte("2"))})})
	for name, c := range map[string]struct {
		signed []byte
		want   map[string]string // nil: only the names count
	}{
		"note.txt.p7m":     {text, map[string]string{"note.txt": "text"}},
		"note.txt.P7M.p7m": {again, map[string]string{"note.txt": "text"}},
		"pair.asice":       {pair, map[string]string{"a": "1", "d/b.txt": "2"}},
		"contract.pdf":     {pdf, map[string]string{"contract.pdf": string(pdf)}},
		"../..":            {text, map[string]string{"content": "text"}},
		"form.p7m":         {signAs(t, a, ades.CAdES, one("<a/>")), map[string]string{"form.xml": "<a/>"}},
		"form.xml":         {xml, nil},
	} {
		files, err := rogito.Extract(context.Background(), ades.File{Name: name, Source: bytes.NewReader(c.signed)}, ades.ReadOptions{})
		if err != nil || len(files) == 0 || c.want != nil && len(files) != len(c.want) {
			t.Errorf("%s: %d files, %v", name, len(files), err)
			continue
		}
		for _, f := range files {
			content, err := io.ReadAll(io.NewSectionReader(f.Source, 0, f.Source.Size()))
			if want, ok := c.want[f.Name]; err != nil || c.want != nil && (!ok || string(content) != want) {
				t.Errorf("%s: %q is %.80q, %v", name, f.Name, content, err)
			}
		}
	}
}

// Nothing is handed out that an intact signature does not cover, by Extract or
// as the Content of what Read found.
func TestExtractRefuses(t *testing.T) {
	s := newStage(t)
	a := s.pki.Actor(t, "p256")
	pdf := signAs(t, a, ades.PAdES, one(string(smallPDF())))
	text := signAs(t, a, ades.CAdES, one("text"))
	o := rogito.Options{SignParams: a.Signing(signedAt)}
	o.CAdES.Detached = true
	var detached bytes.Buffer
	if _, err := rogito.Sign(context.Background(), one("text"), &detached, a.Key, o); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		doc  []byte
		want error
	}{
		"PDF":        {bytes.Replace(pdf, []byte("[0 0 200 200]"), []byte("[0 0 100 100]"), 1), rogito.ErrNotIntact},
		"p7m":        {bytes.Replace(text, []byte("text"), []byte("TEXT"), 1), rogito.ErrNotIntact},
		"not signed": {smallPDF(), rogito.ErrNotSigned},
		"other":      {[]byte("text"), rogito.ErrNotSigned},
		"detached":   {detached.Bytes(), rogito.ErrNoContent},
	}
	for name, doc := range s.stamped([]byte("another"), []byte("content")) {
		cases["stamped "+name] = struct {
			doc  []byte
			want error
		}{doc, rogito.ErrNotIntact}
	}
	for name, c := range cases {
		files, err := rogito.Extract(context.Background(), ades.File{Source: bytes.NewReader(c.doc)}, ades.ReadOptions{})
		if !errors.Is(err, c.want) || files != nil {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
		if doc, err := rogito.Read(context.Background(), bytes.NewReader(c.doc), ades.ReadOptions{}); err == nil && doc.Content != nil {
			t.Errorf("%s: Read hands the content out", name)
		}
	}
}

func TestNothingIsSpentInVain(t *testing.T) {
	pki := adestest.Must(t, signClock)
	a := pki.Actor(t, "p256")
	for name, o := range map[string]rogito.Options{
		"T without a Stamper":   {Level: ades.LevelT},
		"LT without a Gatherer": {Level: ades.LevelLT, Stamper: pki.Unit},
	} {
		o.SignParams = a.Signing(signedAt)
		if _, err := rogito.Prepare(context.Background(), one("text"), o); err == nil {
			t.Errorf("%s: prepared", name)
		}
	}
	o := rogito.Options{SignParams: a.Signing(signedAt)}
	if _, err := rogito.Sign(context.Background(), one("text"), io.Discard, nil, o); err == nil {
		t.Error("signed without a key")
	}
	d, err := rogito.Prepare(context.Background(), one("text"), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Value(nil); err == nil {
		t.Error("a value without a key")
	}
}
