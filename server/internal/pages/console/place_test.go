package console

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// What is no number for a request is refused with a sentence, never an accident.
func TestStamped(t *testing.T) {
	for _, text := range []string{"NaN", "nan", "Inf", "-Infinity", "1e300", "left", "20001"} {
		for _, name := range []string{"x", "y-3", "width", "page", "page-2"} {
			if text == "20001" && strings.HasPrefix(name, "page") {
				continue // there may be as many
			}
			var no *fault.Error
			if err := stamped(values{name: text}, nil, map[string]any{}); !errors.As(err, &no) || no.Code != fault.BadOption {
				t.Errorf("%s %q: %v", name, text, err)
			}
		}
	}
	options := map[string]any{}
	err := stamped(values{"x": "10,5", "y": "", "page": " -1 ", "width": "99.6", "reason": "sale"}, nil, options)
	seen, _ := options["signerImage"].(map[string]any)
	if err != nil || options["x"] != 10.5 || options["y"] != 20.0 || options["page"] != -1 || seen["width"] != 100 || seen["reason"] != "sale" || seen["places"] != nil {
		t.Error(options, err)
	}
	options = map[string]any{}
	err = stamped(values{"x": "10", "y": "20", "page-3": "2", "x-3": "30"}, nil, options)
	seen, _ = options["signerImage"].(map[string]any)
	if err != nil || len(options) != 1 || !reflect.DeepEqual(seen["places"], []string{"1,10,20,164,45", "2,30,20,164,45"}) {
		t.Error(options, err)
	}
}

// A signed document has a name that the unsigned one has not.
func TestNameSigned(t *testing.T) {
	for _, c := range [][3]string{
		{"lease.pdf", "pdf", "lease-signed.pdf"},
		{"LEASE.PDF", "pdf", "LEASE-signed.pdf"},
		{"a.txt", "txt.p7m", "a.txt.p7m"},
		{"fattura.xml", "xml", "fattura-signed.xml"},
		{"a.pdf.p7m", "p7m", "a.pdf-signed.p7m"},
		{"deed", "p7m", "deed.p7m"},
		{"../a/b\x00.pdf", "pdf", ".._a_b_-signed.pdf"},
		{"notes.txt", "asice", "notes.txt.asice"},
	} {
		if got := nameSigned(c[0], c[1]); got != c[2] {
			t.Errorf("%q as %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	r := &ledger.Record{Inputs: []*ledger.File{{Label: "lease.pdf"}, {Label: "a.txt"}}}
	for entry, want := range map[string]string{"0000_lease.pdf": "lease-signed.pdf", "0001_a.txt.p7m": "a.txt.p7m", "0007_x.pdf": "x.pdf", "x": ""} {
		if got := entryName(r, entry); got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
