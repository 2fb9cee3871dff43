package forgery

import (
	"bytes"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
)

func init() { register("base", makeBase) }

// makeBase checks the harness itself: documents as they were signed, and the
// same with one byte of what was signed changed.
func makeBase(t *testing.T, m *materials) []specimen {
	pdfSigned := m.signOne("contract.pdf", pdf(), nil)
	xml := m.signOne("invoice.xml", []byte("<invoice><amount>100</amount></invoice>"), nil)
	cms := m.signOne("letter.txt", []byte("pay 100 to Anna"), nil)
	zip := m.sign([]ades.File{{Name: "a.txt", Source: bytes.NewReader([]byte("pay 100"))}}, func(o *rogito.Options) { o.Format = ades.ASiCE })
	return []specimen{
		{name: "pdf", data: pdfSigned, want: genuine},
		{name: "xml", data: xml, want: genuine},
		{name: "cms", data: cms, want: genuine},
		{name: "asic-e", data: zip, want: genuine},
		{name: "pdf, another amount", data: bytes.Replace(pdfSigned, []byte("EUR 100"), []byte("EUR 900"), 1), want: forged, shows: "EUR 900"},
		{name: "xml, another amount", data: bytes.Replace(xml, []byte(">100<"), []byte(">900<"), 1), want: forged},
		{name: "cms, another amount", data: bytes.Replace(cms, []byte("pay 100"), []byte("pay 900"), 1), want: forged},
	}
}
