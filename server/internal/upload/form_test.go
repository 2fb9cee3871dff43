package upload

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// forms are bodies with the boundary b, usual and strange.
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

// FuzzForm: whatever comes, a form is read or refused in words for its sender, and
// what is read has as many parts as were allowed.
func FuzzForm(f *testing.F) {
	for _, body := range forms {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := New(t.TempDir(), Limits{Parts: 5, Long: 16, Held: 64})
		defer s.Close()
		parts, err := s.ReadForm(strings.NewReader(body), "b")
		var se *SyntaxError
		if err != nil && !errors.As(err, &se) {
			t.Fatalf("%q: %v", body, err)
		}
		if len(parts) > 5 {
			t.Fatalf("%q: %d parts", body, len(parts))
		}
		for _, p := range parts {
			content, err := io.ReadAll(p.Text.Reader())
			if err != nil || !strings.Contains(body, string(content)) || strings.ContainsAny(p.Text.Name(), `/\`) && p.Text.Name() != "/" {
				t.Fatalf("%q: %q of %q, %v", body, p.Text.Name(), p.Field, err)
			}
		}
	})
}

// A file of a folder keeps the folders below it, and no path leads elsewhere.
func TestFormFolders(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"a.pdf": "a.pdf", "pratica/2026/a.pdf": "pratica/2026/a.pdf", "../a.pdf": "a.pdf", "/etc/a.pdf": "a.pdf", `C:\\\\fakepath\\\\a.pdf`: "a.pdf",
		"x/../../a.pdf": "a.pdf", "x//a.pdf": "a.pdf",
	} {
		s := New(t.TempDir(), Limits{})
		parts, err := s.ReadForm(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\""+sent+"\"\r\n\r\nx\r\n--b--\r\n"), "b")
		if err != nil || len(parts) != 1 || parts[0].Text.Path() != want || parts[0].Text.Name() != "a.pdf" {
			t.Errorf("%s: %+v %v", sent, parts, err)
		}
		s.Close()
	}
}

// A form means the same whatever its length was said to be.
func TestFormParts(t *testing.T) {
	t.Parallel()
	for _, expect := range []int64{-1, int64(len(forms[0])), int64(len(forms[0])) + 1} {
		s := New(t.TempDir(), Limits{})
		s.Expect(expect)
		parts, err := s.ReadForm(strings.NewReader(forms[0]), "b")
		if err != nil || len(parts) != 2 {
			t.Fatal(parts, err)
		}
		got := ""
		for _, p := range parts {
			content, _ := io.ReadAll(p.Text.Reader())
			got += strings.Join([]string{p.Field, p.Text.Name(), p.Type, string(content)}, "|") + "\n"
		}
		if want := "f|x.pdf|application/pdf|%PDF\nn|||false\n"; got != want {
			t.Errorf("expected %d: %q", expect, got)
		}
		s.Close()
	}
}
