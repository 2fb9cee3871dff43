package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// Where a field goes that was not placed, and how far it keeps from others.
const (
	stampWidth, stampHeight = 164, 45
	placeMargin, placeGap   = 20, 6
	mostSpreadPages         = 500
	mostWidgets             = 500 // of a page that are kept clear of
)

// placesIn finds where the fields of everybody go, in each document: by person, then by
// document. What the document lacks is a refusal with 113.
func placesIn(ctx context.Context, drawer *draw.Drawer, docs []ades.Source, persons []*ledger.Person) ([][][]ledger.Place, error) {
	all := make([][][]ledger.Place, len(persons))
	for i := range persons {
		all[i] = make([][]ledger.Place, len(docs))
	}
	for index, src := range docs {
		f := &finder{drawer: drawer, index: index, src: src}
		err := limits.Bounded(ctx, rogito.DefaultMemory, func(ctx context.Context) error { return f.find(ctx, persons, all) })
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// finder looks into one document.
type finder struct {
	drawer *draw.Drawer
	index  int
	src    ades.Source
	doc    *pdf.Document
	pages  int
	taken  map[int][]box  // by page
	looked map[int]bool   // pages whose fields are among them
	empty  []string       // fields
	drawn  *draw.Document // nil until a text is looked for
}

// box is a part of a page as a viewer shows it: points from the upper left corner.
type box struct{ X, Y, Width, Height float64 }

func (f *finder) lacks(format string, args ...any) error {
	return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] ", f.index) + fmt.Sprintf(format, args...)}
}

func (f *finder) find(ctx context.Context, persons []*ledger.Person, all [][][]ledger.Place) (err error) {
	if f.doc, err = pdf.Open(f.src, pdf.Options{Context: ctx}); err != nil {
		return f.lacks("cannot be read: %v", err)
	}
	if f.pages, err = f.doc.PageCount(); err != nil || f.pages == 0 {
		return f.lacks("has no pages")
	}
	if f.empty, err = pades.EmptyFields(ctx, f.src, ""); err != nil {
		return f.lacks("cannot be read: %v", err)
	}
	f.taken, f.looked = map[int][]box{}, map[int]bool{}
	defer f.close()
	used := map[string]bool{}
	for i, p := range persons {
		if p.Role != ledger.RoleSigner {
			continue
		}
		for _, want := range p.Signatures {
			place, err := f.place(ctx, want, used)
			if err != nil {
				return err
			}
			all[i][f.index] = append(all[i][f.index], place)
		}
	}
	var without []int
	for i, p := range persons {
		if p.Role == ledger.RoleSigner && len(p.Signatures) == 0 {
			without = append(without, i)
		}
	}
	found, err := f.spread(len(without))
	for k, i := range without {
		if err == nil {
			all[i][f.index] = []ledger.Place{found[k]}
		}
	}
	return err
}

// shrunk are the sizes of fields without a place given, where a page has no room for all of them.
var shrunk = []float64{1, 0.75, 0.5, 0.35, 0.25}

// spread finds places for n fields of one size, beside and below what is on the pages.
func (f *finder) spread(n int) ([]ledger.Place, error) {
	for pages := 1; n > 0 && pages <= min(f.pages, mostSpreadPages); pages++ {
		for _, scale := range shrunk {
			before := map[int][]box{}
			for page, boxes := range f.taken {
				before[page] = slices.Clip(boxes)
			}
			var all []ledger.Place
			for range n {
				place, err := f.free(pages, scale)
				if err != nil {
					return nil, err
				}
				if place == nil {
					break
				}
				all = append(all, *place)
			}
			if len(all) == n {
				return all, nil
			}
			f.taken = before
		}
	}
	if n == 0 {
		return nil, nil
	}
	return nil, f.lacks("has no room for the fields of %d signers", n)
}

// place finds where a field that was asked for goes.
func (f *finder) place(ctx context.Context, want ledger.Place, used map[string]bool) (ledger.Place, error) {
	out := want
	switch {
	case want.Name != "":
		if !slices.Contains(f.empty, want.Name) {
			return out, f.lacks("has no empty signature field %q", want.Name)
		}
		if used[want.Name] {
			return out, f.lacks("has the field %q once, and two are to sign in it", want.Name)
		}
		used[want.Name] = true
		out.Page = max(out.Page, 1)
		return out, nil
	case want.Anchor != "":
		return f.anchor(ctx, want)
	}
	page, err := f.page(out.Page)
	if err != nil {
		return out, err
	}
	out.X, out.Y = fromMedia(page, want.X, want.Y)
	f.occupy(out)
	return out, nil
}

func (f *finder) page(n int) (*pdf.Page, error) {
	if n < 1 || n > f.pages {
		return nil, f.lacks("has %d pages, and no page %d", f.pages, n)
	}
	page, err := f.doc.Page(n - 1)
	if err != nil {
		return nil, f.lacks("has a page %d that cannot be read: %v", n, err)
	}
	return page, nil
}

// fromMedia turns a place from the upper left corner of the MediaBox, as the page is seen,
// into one from that of what a viewer shows.
func fromMedia(p *pdf.Page, x, y float64) (float64, float64) {
	m, c := p.MediaBox, p.CropBox
	left, top := c.LLX-m.LLX, m.URY-c.URY
	switch p.Rotate {
	case 90:
		left, top = c.LLY-m.LLY, c.LLX-m.LLX
	case 180:
		left, top = m.URX-c.URX, c.LLY-m.LLY
	case 270:
		left, top = m.URY-c.URY, m.URX-c.URX
	}
	return x - left, y - top
}

// Margins are how far what a viewer shows of page n, from 1, is from the left and the top of
// its MediaBox, from where places count.
func Margins(ctx context.Context, src ades.Source, n int) (left, top float64, err error) {
	err = limits.Bounded(ctx, rogito.DefaultMemory, func(ctx context.Context) error {
		doc, err := pdf.Open(src, pdf.Options{Context: ctx, Repair: true})
		if err != nil {
			return err
		}
		page, err := doc.Page(n - 1)
		if err == nil {
			left, top = fromMedia(page, 0, 0)
		}
		return err
	})
	return -left, -top, err
}

func (f *finder) occupy(p ledger.Place) {
	f.taken[p.Page] = append(f.taken[p.Page], box{p.X, p.Y, p.Width, p.Height})
}

// shown is a part of a page as a viewer shows it: the inverse of pdf.Page.Place.
func shown(p *pdf.Page, r pdf.Rect) box {
	c := p.CropBox
	switch p.Rotate {
	case 90:
		return box{r.LLY - c.LLY, r.LLX - c.LLX, r.Height(), r.Width()}
	case 180:
		return box{c.URX - r.URX, r.LLY - c.LLY, r.Width(), r.Height()}
	case 270:
		return box{c.URY - r.URY, c.URX - r.URX, r.Height(), r.Width()}
	}
	return box{r.LLX - c.LLX, c.URY - r.URY, r.Width(), r.Height()}
}

// addFields adds the fields of a page to the occupied places.
func (f *finder) addFields(n int, page *pdf.Page) {
	if f.looked[n] {
		return
	}
	f.looked[n] = true
	list, _ := f.doc.Array(page.Dict.Get("Annots")) // a list that cannot be read names no field
	for _, o := range list[:min(len(list), mostWidgets)] {
		d, err := f.doc.Dict(o)
		if err != nil || d == nil || f.doc.Name(d.Get("Subtype")) != "Widget" {
			continue
		}
		if r, ok := f.doc.Rect(d.Get("Rect")); ok && r.Width() >= 1 && r.Height() >= 1 {
			f.taken[n] = append(f.taken[n], shown(page, r))
		}
	}
}

// open has the document drawn, which is how texts in it are found.
func (f *finder) open(ctx context.Context) error {
	if f.drawn != nil {
		return nil
	}
	data := make([]byte, f.src.Size())
	if _, err := f.src.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read document: %w", err)
	}
	var err error
	f.drawn, err = f.drawer.Open(ctx, data, "")
	return err
}

func (f *finder) close() {
	if f.drawn != nil {
		f.drawn.Close()
		f.drawn = nil
	}
}

// anchor is the first place of a text.
func (f *finder) anchor(ctx context.Context, want ledger.Place) (ledger.Place, error) {
	err := f.open(ctx)
	n, at, ok := 0, draw.Box{}, false
	if err == nil {
		n, at, ok, err = f.drawn.Find(ctx, strings.Join(strings.Fields(want.Anchor), " "))
	}
	switch {
	case ctx.Err() != nil:
		return want, ctx.Err()
	case errors.Is(err, draw.ErrMalformed), errors.Is(err, draw.ErrPassword), errors.Is(err, draw.ErrTooMuch):
		return want, f.lacks("cannot be searched for the text %q", want.Anchor)
	case err != nil:
		return want, err
	case !ok:
		return want, f.lacks("has no text %q", want.Anchor)
	}
	page, err := f.page(n)
	if err != nil {
		return want, err
	}
	b := shown(page, pdf.Rect{LLX: at.Left, LLY: at.Bottom, URX: at.Right, URY: at.Top})
	width, height := page.Visible()
	out := want
	out.Page, out.X, out.Y = n, clamp(b.X, width-out.Width), clamp(b.Y, height-out.Height)
	f.occupy(out)
	return out, nil
}

func clamp(v, most float64) float64 { return max(0, min(v, most)) }

// free is the next place from the upper left corner of the first page on; nil where the
// pages have none.
func (f *finder) free(pages int, scale float64) (*ledger.Place, error) {
	for n := 1; n <= pages; n++ {
		page, err := f.page(n)
		if err != nil {
			return nil, err
		}
		f.addFields(n, page)
		width, height := page.Visible()
		w, h := math.Min(stampWidth*scale, width), math.Min(stampHeight*scale, height)
		x0, y0 := math.Min(placeMargin, width-w), math.Min(placeMargin, height-h)
		for y := y0; y+h <= height; y += placeGap {
			for x := x0; x+w <= width; x += placeGap {
				here := box{x, y, w, h}
				if hit := slices.IndexFunc(f.taken[n], func(b box) bool { return overlap(b, here) }); hit >= 0 {
					x = max(x, f.taken[n][hit].X+f.taken[n][hit].Width) // placeGap is added
					continue
				}
				out := ledger.Place{Page: n, X: x, Y: y, Width: w, Height: h}
				f.occupy(out)
				return &out, nil
			}
		}
	}
	return nil, nil
}

func overlap(a, b box) bool {
	return a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height
}
