package message

import (
	"bytes"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/yardstick"
)

const sample = "MIME-Version: 1.0\r\nContent-Type: multipart/signed;\r\n boundary=\"b\"\r\n\r\nThis is a message.\r\n--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b\r\nContent-Type: x/y; name=s\r\nContent-Transfer-Encoding: base64\r\n\r\naGk=\r\n--b--\r\n"

func TestParse(t *testing.T) {
	m, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Parts) != 2 || m.Ambiguous != nil || m.Type != "multipart/signed" {
		t.Fatalf("%d parts, %v, %s", len(m.Parts), m.Ambiguous, m.Type)
	}
	if got := string(m.Parts[0].Raw); got != "Content-Type: text/plain\r\n\r\nhello" {
		t.Errorf("first part %q", got)
	}
	if got, err := m.Parts[1].Decode(); err != nil || string(got) != "hi" || m.Parts[1].Filename() != "s" {
		t.Errorf("second part %q, %v, %q", got, err, m.Parts[1].Filename())
	}
}

func TestAmbiguous(t *testing.T) {
	for name, text := range map[string]string{
		"text before":                      strings.Replace(sample, "This is", "<html>This", 1),
		"text after":                       sample + strings.Repeat("x", 300),
		"a second end":                     sample + "--b--\r\n",
		"boundary prefix":                  strings.Replace(sample, "hello", "hello\r\n--bx", 1),
		"bare CR":                          strings.Replace(sample, "MIME-Version", "X: a\rContent-Type: text/html\r\r<h1>\r\nMIME-Version", 1),
		"CR before CRLF":                   strings.Replace(sample, "MIME-Version", "X: a\r\r\nMIME-Version", 1),
		"NUL":                              strings.Replace(sample, "MIME-Version", "X: a\x00b\r\nMIME-Version", 1),
		"blank line":                       strings.Replace(sample, "MIME-Version", "X: a\r\n \r\nMIME-Version", 1),
		"continues none":                   " x\r\n" + sample,
		"blank in a name":                  strings.Replace(sample, "Content-Type: m", "Content-Type : m", 1),
		"encoded":                          strings.Replace(sample, "MIME-Version", "Content-Transfer-Encoding: base64\r\nMIME-Version", 1),
		"page in header":                   strings.Replace(sample, "MIME-Version", "X: <HTML>\r\nMIME-Version", 1),
		"two types":                        strings.Replace(sample, "MIME-Version", "Content-Type: text/html\r\nMIME-Version", 1),
		"blank at the end of the boundary": strings.ReplaceAll(strings.Replace(sample, `"b"`, `"b "`, 1), "--b", "--b "),
		"quoted pair":                      strings.Replace(sample, `"b"`, `"\b"`, 1),
		"boundary twice":                   strings.Replace(sample, `"b"`, `"b"; boundary=c`, 1),
		"boundary in pieces":               strings.Replace(sample, `boundary="b"`, `boundary*0=b; boundary="b"`, 1),
		"boundary encoded":                 strings.ReplaceAll(sample, "b", "=?u?q?b?="),
		"long boundary":                    strings.ReplaceAll(strings.Replace(sample, `"b"`, `"`+strings.Repeat("b", 71)+`"`, 1), "--b", "--"+strings.Repeat("b", 71)),
		"comment beside the boundary":      strings.Replace(sample, `boundary="b"`, `boundary=b(c)`, 1),
		"charset":                          strings.Replace(sample, `boundary="b"`, `boundary="b"; charset=utf-7`, 1),
		"other delimiters before":          strings.Replace(sample, "This is", "--other\r\nThis is", 1),
		"other delimiters after":           sample + "--other--\r\n",
		"delimiter after CR":               strings.Replace(sample, "hello", "hello\r--b\rContent-Type: text/html", 1),
		"delimiter with CR CR":             strings.Replace(sample, "--b\r\n", "--b\r\r\n", 1),
		"nested boundary":                  strings.ReplaceAll(strings.Replace(sample, "text/plain", `multipart/mixed; boundary="q"`, 1), `b"`, `qb"`),
		"no header":                        strings.Replace(sample, "Content-Type: text/plain\r\n\r\nhello", "hello\r\n\r\nbye", 1),
		"nothing but a header":             strings.Replace(sample, "Content-Type: text/plain\r\n\r\nhello", "Pay: 900", 1),
	} {
		if m, err := Parse([]byte(text)); err == nil && m.Ambiguous == nil {
			t.Errorf("%s: one meaning", name)
		}
	}
	for name, text := range map[string]string{
		"one line without a header": strings.Replace(sample, "Content-Type: text/plain\r\n\r\nhello", "hello", 1),
		"no quotes":                 strings.Replace(sample, `"b"`, "b", 1),
		"a semicolon at the end":    strings.Replace(sample, `"b"`, `"b";`, 1),
		"padding":                   strings.Replace(sample, "--b\r\n", "--b \t\r\n", 1),
		"a comment":                 strings.Replace(sample, "multipart/signed", "multipart/signed (clear text)", 1),
		"a charset":                 strings.Replace(sample, `"b"`, `"b"; charset="utf-8"`, 1),
		"an empty header":           strings.Replace(sample, "Content-Type: text/plain\r\n\r\nhello", "\r\nhello", 1),
	} {
		if m, err := Parse([]byte(text)); err != nil || m.Ambiguous != nil || len(m.Parts) != 2 {
			t.Errorf("%s: %v %v", name, err, m)
		}
	}
}

func TestCanonical(t *testing.T) {
	if got := Canonical([]byte("a\nb\r\nc")); string(got) != "a\r\nb\r\nc" {
		t.Errorf("%q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, in []byte) {
		Begins(in)
		Multipart(in)
		m, err := Parse(in)
		if err != nil {
			return
		}
		for _, p := range m.Parts {
			if !bytes.Contains(in, p.Raw) {
				t.Error("a part that is not in the message")
			}
			_, _ = p.Decode()
		}
	})
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("Content-Type: message/rfc822; name=a.eml\r\n\r\n" + sample))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, _ := Files(raw)
		if len(files) > maxFiles {
			t.Errorf("%d files", len(files))
		}
		for _, one := range files {
			if one.Name == "" || strings.ContainsAny(one.Name, `/\`) && one.Name != "/" {
				t.Errorf("name %q", one.Name)
			}
		}
	})
}

// TestLongFields: a field of many lines, or of many comments, is read in linear time.
func TestLongFields(t *testing.T) {
	const field = "Content-Type: text/plain"
	for name, text := range map[string]string{
		"lines":    field + strings.Repeat("\n ", 1_000_000),
		"comments": field + strings.Repeat("()", 1_000_000),
	} {
		start := yardstick.Processor()
		if e, err := ParseEntity([]byte(text + "\n\n")); err != nil || e.Type != "text/plain" {
			t.Errorf("%s: %v", name, err)
		}
		if d := yardstick.Processor() - start; d > 2*yardstick.Second() {
			t.Errorf("%s: took %v", name, d)
		}
	}
}
