package pades

import (
	"slices"

	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

const (
	edge      = 36.0 // margin of a page to keep free
	gap       = 4.0  // distance to what is on the page
	step      = 6.0  // between the places that are tried
	leastType = 6.0  // points; smaller text gets a remark
	// mostInk bounds how much of a page is read to find a place.
	mostInk = 1_000_000
)

// placeBox makes sure that a visible signature can be seen: it is moved onto its page and, if no
// place was given, to where the page is empty. It returns the place and the drawing.
func (f *form) placeBox(o settings, page *pdf.Page) (pdf.Rect, appearance.Box, error) {
	a := *o.Appearance
	width, height := page.Visible()
	a.Width, a.Height = min(a.Width, width), min(a.Height, height)
	b, err := o.box(f.u.Document().Budget(), a.Width, a.Height)
	if err != nil {
		return pdf.Rect{}, b, err
	}
	if a.Anywhere {
		for most := min(3*a.Height, height/2); b.Height < most && b.TypeSize() < leastType; {
			b.Height = min(most, b.Height+step)
		}
		a.Height = b.Height
		if x, y, ok := f.free(&a, page); ok {
			a.X, a.Y = x, y
		}
	}
	a.X, a.Y = max(0, min(a.X, width-a.Width)), max(0, min(a.Y, height-a.Height))
	f.remarkPlace(o.Appearance, &a, page)
	f.remarkType(b)
	return page.Place(a.box(page)), b, nil
}

// free finds an empty place: from the bottom of the page up, on the right, on the left, in the
// middle.
func (f *form) free(a *Appearance, page *pdf.Page) (x, y float64, ok bool) {
	taken, ok := f.occupied(page)
	if !ok {
		return 0, 0, false
	}
	width, height := page.Visible()
	for y := height - edge - a.Height; y >= edge; y -= step {
		for _, x := range []float64{width - edge - a.Width, edge, (width - a.Width) / 2} {
			top := height - y
			at := page.Place(pdf.Rect{LLX: x - gap, LLY: top - a.Height - gap, URX: x + a.Width + gap, URY: top + gap})
			if x >= 0 && !overlaps(taken, at) {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func overlaps(taken []pdf.Rect, at pdf.Rect) bool {
	return slices.ContainsFunc(taken, func(b pdf.Rect) bool { return !content.Empty(content.Common(b, at)) })
}

// occupied returns where a page has ink or an annotation; false if that cannot be determined. White
// areas count as empty.
func (f *form) occupied(page *pdf.Page) (boxes []pdf.Rect, ok bool) {
	left := mostInk
	w := &content.Walker{
		Source: f.doc,
		Pay:    func(n int) bool { left -= n; return left > 0 },
		See: func(p content.Piece) bool {
			if p.Kind != content.Fill || p.Colour.Luminance() < 0.97 {
				boxes = append(boxes, p.Box)
			}
			return len(boxes) < 1<<15
		},
	}
	resources, dict := (*pdf.Dict)(nil), page.Dict
	for range 32 {
		if resources, _ = f.doc.Dict(dict.Get("Resources")); resources != nil {
			break
		}
		if dict, _ = f.doc.Dict(dict.Get("Parent")); dict == nil {
			break
		}
	}
	w.Follow(w.Contents(page.Dict), resources, content.Identity, page.CropBox)
	annots, err := f.doc.Array(page.Dict.Get("Annots"))
	for _, o := range annots {
		if d, err := f.doc.Dict(o); err == nil && d != nil {
			if r, ok := f.doc.Rect(d.Get("Rect")); ok && r.Width() > 0 && r.Height() > 0 {
				boxes = append(boxes, r)
			}
		}
	}
	return boxes, !w.Odd && (err == nil || page.Dict.Get("Annots") == nil)
}
