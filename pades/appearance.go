package pades

import (
	"fmt"

	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/pdf"
)

// Appearance is what a visible signature shows, and where.
type Appearance struct {
	// Page counts from 1; negative numbers count from the end, -1 being the
	// last. Zero means the first.
	Page int
	// X and Y are the distance of the box from the upper left corner of the
	// page as a viewer shows it, in points; Width and Height its size.
	X, Y, Width, Height float64
	// Lines of text.
	Lines []string
	// Image is a PNG or JPEG; nil for none.
	Image []byte
}

// index of the page as package pdf counts it.
func (a *Appearance) index() int {
	if a.Page > 0 {
		return a.Page - 1
	}
	return a.Page
}

// box is the rectangle in the visible area, origin at its lower left corner.
func (a *Appearance) box(page *pdf.Page) pdf.Rect {
	_, height := page.Visible()
	top := height - a.Y
	return pdf.Rect{LLX: a.X, LLY: top - a.Height, URX: a.X + a.Width, URY: top}
}

// form draws into a rectangle of the page's user space, upright for a viewer.
func (a *Appearance) form(u *pdf.Update, page *pdf.Page, rect pdf.Rect) (pdf.Ref, error) {
	b := appearance.Box{Width: rect.Width(), Height: rect.Height(), Lines: a.Lines}
	if page.Rotate%180 == 90 {
		b.Width, b.Height = b.Height, b.Width
	}
	if len(a.Image) > 0 {
		img, err := appearance.ReadImage(a.Image, false, u.Document().Budget())
		if err != nil {
			return pdf.Ref{}, fmt.Errorf("signature image: %w", err)
		}
		b.Image = img
	}
	ref, err := appearance.Form(u, b)
	if err != nil || page.Rotate == 0 {
		return ref, err
	}
	o, err := u.Get(ref)
	if err != nil {
		return ref, err
	}
	if s, ok := o.(*pdf.Stream); ok {
		s.Dict.Set("Matrix", turned(page.Rotate))
	}
	return ref, nil
}

// turned is the matrix that undoes the rotation of a page; the viewer fits the
// turned box into the rectangle by itself (ISO 32000-2, 12.5.5).
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
