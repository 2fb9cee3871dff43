package people

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// deed has a page with a field, and one with a text, both turned, with a crop box.
func deed(rotate int) ades.Source {
	content := "BT /F 12 Tf 100 600 Td (Signed by: The tenant) Tj ET"
	return bytes.NewReader(pdf.Build([]string{
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [7 0 R] >> >>",
		fmt.Sprintf("<< /Type /Pages /Count 2 /Kids [5 0 R 6 0 R] /MediaBox [0 0 600 800] /CropBox [50 20 550 780] /Rotate %d >>", rotate),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F 3 0 R >> >> /Annots [7 0 R] >>",
		"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F 3 0 R >> >> /Contents 4 0 R >>",
		"<< /Type /Annot /Subtype /Widget /FT /Sig /T (Notary) /Rect [60 700 260 770] >>",
	}, ""))
}

// A field goes to the text that it is asked for at, whichever way the page is turned, and one
// without a place given keeps clear of the fields that the page has.
func TestPlaces(t *testing.T) {
	cache, err := drawtest.Cache()
	if err != nil {
		t.Log(err) // compiled anew
	}
	drawer := &draw.Drawer{Cache: cache}
	defer drawer.Close()
	anchored := &ledger.Person{Role: ledger.RoleSigner, Signatures: []ledger.Place{{Anchor: " The  tenant ", Width: 100, Height: 30}}}
	free := &ledger.Person{Role: ledger.RoleSigner}
	for rotate, want := range map[int][2]float64{0: {110, 171}, 90: {580, 110}, 180: {383, 580}, 270: {171, 383}} {
		all, err := placesIn(context.Background(), drawer, []ades.Source{deed(rotate)}, []*ledger.Person{anchored, free})
		if err != nil {
			t.Fatal(rotate, err)
		}
		got := all[0][0][0]
		if got.Page != 2 || math.Abs(got.X-want[0]) > 2 || math.Abs(got.Y-want[1]) > 2 {
			t.Errorf("%d: %+v, want %v", rotate, got, want)
		}
		left, top, err := Margins(t.Context(), deed(rotate), 1)
		if want := map[int][2]float64{0: {50, 20}, 90: {20, 50}, 180: {50, 20}, 270: {20, 50}}[rotate]; err != nil || left != want[0] || top != want[1] {
			t.Errorf("%d: the margins are %v, %v, want %v, %v", rotate, left, top, want, err)
		}
		p := all[1][0][0]
		if mine, field := (box{p.X, p.Y, p.Width, p.Height}), fieldAt(t, rotate); p.Page != 1 || overlap(mine, field) {
			t.Errorf("%d: %+v stands on %+v", rotate, mine, field)
		}
	}
	anchored.Signatures[0].Anchor = "The landlord"
	var no *ledger.Refusal
	if _, err := placesIn(context.Background(), drawer, []ades.Source{deed(0)}, []*ledger.Person{anchored}); !errors.As(err, &no) || no.Number != fault.NotSignable {
		t.Errorf("a text that is not there: %v", err)
	}
}

func fieldAt(t *testing.T, rotate int) box {
	t.Helper()
	doc, err := pdf.Open(deed(rotate), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := doc.Page(0)
	if err != nil {
		t.Fatal(err)
	}
	return shown(page, pdf.Rect{LLX: 60, LLY: 700, URX: 260, URY: 770})
}
