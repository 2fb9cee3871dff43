package oid

import (
	"bytes"
	"crypto/x509"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	cases := map[string][]byte{
		"1.2.840.113549.1.7.2": {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02},
		"2.5.4.97":             {0x55, 0x04, 0x61},
		"0.4.0.1733.2.4":       {0x04, 0x00, 0x8d, 0x45, 0x02, 0x04},
		"2.999.3":              {0x88, 0x37, 0x03},
		"2.25.329800735698586629295641978511506172918": {
			0x69, 0x83, 0xf8, 0x8e, 0xfe, 0x9d, 0xaf, 0xd0, 0x9d, 0xb3, 0x9b, 0xc6, 0xf3, 0xba, 0xbe, 0x83, 0xf2, 0xe9, 0xd3, 0x76,
		},
	}
	for dotted, content := range cases {
		if dotted[:4] != "2.25" {
			if got := Content(dotted); !bytes.Equal(got, content) {
				t.Errorf("Content(%s) = %x", dotted, got)
			}
		}
		got, err := Parse(Content(dotted))
		if err != nil || got != dotted {
			t.Errorf("Parse(Content(%s)) = %s, %v", dotted, got, err)
		}
	}
	for _, bad := range [][]byte{nil, {0x80}, {0x2a, 0x86}, bytes.Repeat([]byte{0xff}, 40)} {
		if got, err := Parse(bad); err == nil {
			t.Errorf("Parse(%x) = %s", bad, got)
		}
	}
	for _, bad := range []string{"", "1", "3.1", "a.b", "1.-2", "1..2"} {
		if Valid(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0x2a, 0x86, 0x48})
	f.Fuzz(func(t *testing.T, b []byte) {
		dotted, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(Content(dotted))
		if err != nil || again != dotted {
			t.Fatalf("%x: %s, then %s, %v", b, dotted, again, err)
		}
	})
}

// What is looked up is what would be decoded.
func TestKnown(t *testing.T) {
	for content, dotted := range known {
		var id x509.OID
		if err := id.UnmarshalBinary([]byte(content)); err != nil || id.String() != dotted {
			t.Errorf("%x is known as %s, but is %s (%v)", content, dotted, id, err)
		}
	}
}
