package upload

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"mime/multipart"
	"testing"
)

// A document of 200 KB, as a form and as base64 in JSON.
func BenchmarkDocument(b *testing.B) {
	document := make([]byte, 200<<10)
	rand.NewChaCha8([32]byte{1}).Read(document)
	var form bytes.Buffer
	mw := multipart.NewWriter(&form)
	f, _ := mw.CreateFormFile("inputDocument", "a.pdf")
	f.Write(document)
	mw.Close()
	b.Run("form", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			s := New("", Limits{})
			s.Expect(int64(form.Len()))
			if _, err := s.ReadForm(bytes.NewReader(form.Bytes()), mw.Boundary()); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	body := []byte(`{"docs":["` + base64.StdEncoding.EncodeToString(document) + `"]}`)
	b.Run("json", func(b *testing.B) {
		b.SetBytes(int64(len(document)))
		for b.Loop() {
			s := New("", Limits{})
			s.Expect(int64(len(body)))
			v, err := s.ReadJSON(bytes.NewReader(body))
			var r request
			if err == nil {
				err = s.Unmarshal(v, &r)
			}
			if err == nil {
				_, err = r.Docs[0].Document(0)
			}
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
}
