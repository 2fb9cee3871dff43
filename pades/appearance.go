package pades

import (
	"fmt"
	"time"

	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/typeface"
)

// Layout says how the text and picture of a visible signature share its box.
type Layout string

// The layouts. Without a picture all but Compact are the same.
const (
	Beside  = Layout(appearance.Beside)  // the picture is left of the text
	Above   = Layout(appearance.Above)   // the picture is above the text
	Behind  = Layout(appearance.Behind)  // the picture is behind the text, pale
	Text    = Layout(appearance.Text)    // no picture
	Compact = Layout(appearance.Compact) // all text in one paragraph, no picture
	Picture = Layout(appearance.Picture) // no text
)

// Appearance is what a visible signature shows, and where.
type Appearance struct {
	// Page counts from 1, or from the end if negative, -1 being the last. Zero means the first.
	Page int
	// X and Y are the distance of the box from the upper left corner of the page as displayed, in
	// points; Width and Height are its size.
	X, Y, Width, Height float64
	// Anywhere puts the box where the page is empty, at its end if possible, with the height that
	// the text needs; X and Y are used if there is no such place. A box is always moved onto its
	// page.
	Anywhere bool
	// Layout of the box; empty means Beside.
	Layout Layout
	// Lines of text. By default the box says who signed, when, and, if Options have them, why and
	// where.
	Lines []string
	// Language of the default text: "en" or "it"; empty means English.
	Language string
	// Zone of the time in it; nil means UTC.
	Zone *time.Location
	// Image is a PNG or JPEG; nil for none.
	Image []byte
	// Code is another picture, a QR code, at the right edge in every layout; nil for none.
	Code []byte
}

// index of the page as package pdf counts it.
func (a *Appearance) index() int {
	if a.Page > 0 {
		return a.Page - 1
	}
	return a.Page
}

// box is the rectangle in the visible area, with its origin at the lower left corner.
func (a *Appearance) box(page *pdf.Page) pdf.Rect {
	_, height := page.Visible()
	top := height - a.Y
	return pdf.Rect{LLX: a.X, LLY: top - a.Height, URX: a.X + a.Width, URY: top}
}

// appearance draws into a rectangle of the page's user space, upright as displayed.
func (o settings) appearance(u *pdf.Update, page *pdf.Page, rect pdf.Rect) (pdf.Ref, error) {
	width, height := rect.Width(), rect.Height()
	if page.Rotate%180 == 90 {
		width, height = height, width
	}
	b, err := o.box(u.Document().Budget(), width, height)
	if err != nil {
		return pdf.Ref{}, err
	}
	return draw(u, page, b)
}

// draw adds a box to a document, upright as displayed.
func draw(u *pdf.Update, page *pdf.Page, b appearance.Box) (pdf.Ref, error) {
	ref := appearance.Form(u, b)
	if page.Rotate == 0 {
		return ref, nil
	}
	made, err := u.Get(ref)
	if err != nil {
		return ref, err
	}
	if s, ok := made.(*pdf.Stream); ok {
		s.Dict.Set("Matrix", turned(page.Rotate))
	}
	return ref, nil
}

// box is the drawing, with the size as displayed.
func (o settings) box(budget *limits.Budget, width, height float64) (appearance.Box, error) {
	a := o.Appearance
	b := appearance.Box{Width: width, Height: height, Layout: appearance.Layout(a.Layout), Lines: o.lines()}
	if len(a.Image) > 0 {
		img, err := appearance.ReadImage(a.Image, a.Layout == Behind, budget)
		if err != nil {
			return b, fmt.Errorf("signature image: %w", err)
		}
		b.Image = img
	}
	if len(a.Code) > 0 {
		code, err := appearance.ReadImage(a.Code, false, budget)
		if err != nil {
			return b, fmt.Errorf("code of the signature: %w", err)
		}
		b.Code = code
	}
	return b, nil
}

// turned is the matrix that undoes the rotation of a page; the viewer fits the rotated box into the
// rectangle (ISO 32000-2, 12.5.5).
func turned(rotate int) pdf.Array {
	n := func(v ...int) pdf.Array {
		a := pdf.Array{}
		for _, x := range v {
			a = append(a, pdf.Integer(x))
		}
		return a
	}
	switch rotate {
	case 90:
		return n(0, 1, -1, 0, 0, 0)
	case 180:
		return n(-1, 0, 0, -1, 0, 0)
	}
	return n(0, -1, 1, 0, 0, 0)
}

// words of a visible signature, in one language.
type words struct{ lang, signed, sealed, reason, place, date string }

var languages = map[string]words{
	"":   {"en", "Digitally signed by", "Electronically sealed by", "Reason: ", "Place: ", "2 January 2006, 15:04:05"},
	"it": {"it", "Firmato digitalmente da", "Sigillo elettronico di", "Motivo: ", "Luogo: ", "02/01/2006 15:04:05"},
}

// lines are those given, or the default: who signed, when, why and where.
func (o settings) lines() (lines []appearance.Line) {
	a := o.Appearance
	if len(a.Lines) > 0 {
		for _, text := range a.Lines {
			lines = append(lines, appearance.Line{Text: text})
		}
		return lines
	}
	say, caption := o.caption()
	name, organisation, _ := o.signer()
	lines = []appearance.Line{{Text: caption, Kind: appearance.Caption}, {Text: name, Kind: appearance.Name}, {Text: localTime(o.Time, a.Zone, say.date)}}
	for _, l := range []struct{ before, text string }{{"", organisation}, {say.reason, o.Reason}, {say.place, o.Location}, {"", o.ContactInfo}} {
		if l.text != "" {
			lines = append(lines, appearance.Line{Text: l.before + l.text, Kind: appearance.Detail})
		}
	}
	return lines
}

// caption is the text before a signer's name, and the other words of its language.
func (o settings) caption() (words, string) {
	say := languages[""]
	if a := o.Appearance; a != nil {
		if w, ok := languages[a.Language]; ok {
			say = w
		}
	}
	if _, _, seal := o.signer(); seal {
		return say, say.sealed
	}
	return say, say.signed
}

// altText is the alternate description of the signature, for screen readers.
func (o settings) altText() altDescription {
	say, caption := o.caption()
	name, _, _ := o.signer()
	return altDescription{caption + " " + name, say.lang}
}

// signer is the name to show, and for a seal also the organisation's name. If the fonts lack
// letters of the certificate's common name, another name of the certificate is used.
func (o settings) signer() (name, organisation string, seal bool) {
	subject := o.Certificate.Subject
	c, err := pkix.ParseCertificate(o.Certificate.Raw)
	var n pkix.Name
	if err == nil {
		n, _ = pkix.ParseName(o.Certificate.RawSubject)
		person := n.Get(pkix.OIDGivenName) + n.Get(pkix.OIDSurname) + n.Get(pkix.OIDPseudonym)
		seal = c.QcStatements.HasType("eseal") || person == "" && n.Get(pkix.OIDOrganizationIdentifier) != ""
	}
	if organisation = n.Get(pkix.OIDOrganization); !seal || organisation == subject.CommonName {
		organisation = ""
	}
	if o.Name != "" && o.Name != subject.CommonName {
		return o.Name, organisation, seal
	}
	for _, name := range []string{subject.CommonName, n.Get(pkix.OIDGivenName) + " " + n.Get(pkix.OIDSurname), n.Get(pkix.OIDPseudonym), n.Get(pkix.OIDOrganization), n.Get(pkix.OIDSerialNumber)} {
		if name = typeface.Clean(name); name != "" && typeface.Bold().Has(name) {
			return name, organisation, seal
		}
	}
	return subject.CommonName, organisation, seal
}

// localTime formats a time with the name of its zone, or its offset from UTC.
func localTime(t time.Time, zone *time.Location, layout string) string {
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	if name, _ := t.Zone(); name != "" && name[0] >= 'A' {
		return t.Format(layout + " MST")
	}
	return t.Format(layout + " -07:00")
}
