package cms

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
)

// A document may be armoured in several ways; what stands beside the armour is
// told.
func TestArmour(t *testing.T) {
	der := append([]byte{TagSequence, 0x82, 0x01, 0x00, 0xfb, 0xff, 0xfe}, make([]byte, 253)...)
	std := base64.StdEncoding.EncodeToString
	block := pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: der})
	for name, row := range map[string]struct {
		text  string
		opens bool
		clean bool
	}{
		"base64":              {std(der), true, true},
		"base64url":           {base64.RawURLEncoding.EncodeToString(der), true, true},
		"data URI":            {"data:application/pkcs7-mime;base64," + std(der), true, true},
		"data URI, escaped":   {"\r\ndata:application/pkcs7-mime;name=a.p7m;base64," + strings.ReplaceAll(std(der), "=", "%3D"), true, true},
		"data URI of markup":  {"data:<b>paid</b>;base64," + std(der), false, true},
		"data URI of text":    {"data:text/plain," + std(der), false, true},
		"twice":               {std([]byte(std(der))), true, true},
		"thrice":              {std([]byte(std([]byte(std(der))))), false, true},
		"PEM in base64":       {std(block), true, true},
		"text beside the PEM": {std([]byte("paid\n" + string(block))), false, true},
		"text after it":       {std(append(block, "paid"...)), true, false},
		"after the padding":   {std(der) + std(der), true, false},
		"PEM":                 {string(block), true, true},
		"PEM, old label":      {strings.ReplaceAll(string(block), "PKCS7", "PKCS #7 SIGNED DATA"), true, true},
		"a header in the PEM": {strings.Replace(string(block), "\n", "\nNote: <b>paid</b>\n\n", 1), true, false},
		"a page as its label": {strings.ReplaceAll(string(block), "PKCS7", "<b>paid</b>"), true, false},
		"another at its end":  {strings.Replace(string(block), "END PKCS7", "END <b>paid</b>", 1), true, false},
		"after, twice":        {std([]byte(std(der[:259]) + "AAAA")), true, false},
	} {
		src := bytes.NewReader([]byte(row.text))
		got, err := Unarmour(src)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 1)
		_, _ = got.ReadAt(first, 0)
		if opens := first[0] == TagSequence; opens != row.opens {
			t.Errorf("%s: opened %v", name, opens)
		}
		if err := AroundArmour(src); (err == nil) != row.clean {
			t.Errorf("%s: %v", name, err)
		}
	}
}
