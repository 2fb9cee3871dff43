package upload

import (
	"io"
	"mime/multipart"
	"strings"
	"testing"
)

// forms are bodies with the boundary b, plain and strange.
var forms = []string{
	"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"C:\\\\a\\\\x.pdf\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b\r\nContent-Disposition: form-data; name=n\r\n\r\nfalse\r\n--b--\r\n",
	"--b\r\nA: x\r\n\r\n\r\n--b--",
	"--b\r\nA: x\r\n\r\n--b--\r\n",                             // an empty part without a line break of its own
	"--b\r\nA: x\r\n\r\none\r\n--bb\r\n--b--\r\n",              // a line that only begins as the boundary does
	"--b\r\nA: x\r\n\r\none\r\n--b-x\r\n--b--\r\n",             //
	"--b\r\nA: x\r\n\r\none\r\n--b \t\r\n\r\ntwo\r\n--b--\r\n", // transport padding
	"--b\r\nA: x\n\ntwo\r\n\r\nthree\r\n--b--\r\n",             // a header that ends before it seems to
	"--b\r\n\r\nno header\r\n\r\n\r\n--b--\r\n",
	"--b\nA: x\n\none\n--b--\n",
	"before\r\n--b\r\nA: x\r\n\r\none\r\n--b--\r\nafter",
	"--b\r\nA: x\r\n\r\none\r\n--b--after",
	"--b\r\nA: x\r\n\r\none",
	"--b\r\nA x\r\n\r\none\r\n--b--\r\n",
	"--b\r\n A: x\r\n\r\none\r\n--b--\r\n",
	"--b--\r\n",
	"",
	"--b\r\nContent-Disposition: form-data; name=\"f; x\"; filename=\"dir/a file.pdf\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nfalse\r\n--b--\r\n",
	"--b\r\nContent-Disposition: form-data; name=\"\"; filename=\"\"\r\nContent-Type: \r\n\r\nx\r\n--b--\r\n",
	"--b\r\nContent-Disposition: form-data; name=\"é\"; filename=\"è\\\"\"\r\nContent-Type:  a \r\nX: y\r\n\r\nx\r\n--b--\r\n",
	"--b\r\nContent-Disposition: form-data; name=\"a\"; name=\"b\"\r\nContent-Type: a\r\nContent-Disposition: x\r\n\r\nx\r\n--b--\r\n",
	"--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"/\"\r\n\r\nx\r\n--b--\r\n",
}

// read is what a reading of a body gives, to be compared.
func read(parts []Part, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	for _, p := range parts {
		content, _ := io.ReadAll(p.Text.Reader())
		b.WriteString(strings.Join([]string{p.Field, p.Text.Name(), p.Type, string(content)}, "\x00") + "\x01")
	}
	return b.String()
}

// FuzzForm: a body that is taken apart where it lies reads as mime/multipart
// reads it.
func FuzzForm(f *testing.F) {
	for _, body := range forms {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := New(t.TempDir(), Limits{Parts: 5})
		defer s.Close()
		parts := s.partsOf([]byte(body), "b")
		if parts == nil {
			return
		}
		if got, want := read(parts, nil), read(s.readParts(multipart.NewReader(strings.NewReader(body), "b"))); got != want {
			t.Errorf("%q:\n got %q\nwant %q", body, got, want)
		}
	})
}

// FuzzCut: where a delimiter is found is where bytes.Cut finds it.
func FuzzCut(f *testing.F) {
	for n := range 100 {
		before := strings.Repeat("\r\n--", n)[:n]
		f.Add(before+"\r\n--boundary"+strings.Repeat("y", 100-n), "\r\n--boundary")
		f.Add(before+"\r\n--boundarz"+before, "\r\n--boundary")
		f.Add(before+"b", "b")
	}
	f.Fuzz(func(t *testing.T, body, delimiter string) {
		if delimiter == "" {
			return
		}
		before, after, found := strings.Cut(body, delimiter)
		eachWay(func() {
			if b, a, ok := cut([]byte(body), []byte(delimiter)); string(b) != before || string(a) != after || ok != found {
				t.Errorf("%q at %q: %q, %q, %v (vectors %v)", body, delimiter, b, a, ok, vectors)
			}
		})
	})
}

// Both ways to read a form are taken, and a body of known length is not copied.
func TestFormInMemory(t *testing.T) {
	t.Parallel()
	body := forms[0]
	for _, expect := range []int64{-1, int64(len(body)), int64(len(body)) + 1} {
		s := New(t.TempDir(), Limits{})
		s.Expect(expect)
		parts, err := s.ReadForm(strings.NewReader(body), "b")
		if got, want := read(parts, err), "f\x00x.pdf\x00application/pdf\x00%PDF\x01n\x00\x00\x00false\x01"; got != want {
			t.Errorf("expected %d: %q", expect, got)
		}
		s.Close()
	}
	s := New(t.TempDir(), Limits{})
	defer s.Close()
	if parts := s.partsOf([]byte(body), "b"); len(parts) != 2 {
		t.Errorf("%d parts of a plain body", len(parts))
	}
	large := "--b\r\nContent-Disposition: form-data; name=f\r\n\r\n" + strings.Repeat("x", 300<<10) + "\r\n--b--\r\n"
	s.Expect(int64(len(large)))
	if _, err := s.ReadForm(strings.NewReader(large), "b"); err != nil || s.held != int64(len(large)) || s.short > 0 || s.file != nil {
		t.Errorf("a form of %d bytes takes %d and %d of memory: %v", len(large), s.held, s.short, err)
	}
}
