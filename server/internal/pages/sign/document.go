package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// document is one as the page shows it.
type document struct {
	Name  string
	Pages []sheet
}

// sheet is a page of a document.
type sheet struct {
	Number        int // counted through all documents
	Of            int // pages of its document
	Own           int // in its document
	Width, Height int
	Text          string
	Marks         []string // ids of the places where this person signs
	points        [2]float64
}

// leaf names a page of a document; page 0 is what all have in common. A logo has the
// address that it came from in place of a digest.
type leaf struct {
	document string // SHA-256
	page     int
}

// shown is what was drawn: a picture, or the sizes and texts of all pages; or a logo.
type shown struct {
	media   string // of a logo
	picture []byte
	sheets  []sheet
}

const (
	pictureWidth = 1240   // pixels: A4 at 150 dpi, sharp on a telephone
	shownWidth   = 800    // that a page is laid out with
	mostInline   = 400000 // bytes of text put into the page itself
)

// layout is what the page shows of the documents, their pages counted through.
func (p *Pages) layout(ctx context.Context, v *people.Visit, documents []people.Document) (all []document, total int, err error) {
	inline := 0
	for _, d := range documents {
		sheets, err := p.sheets(ctx, v, d)
		if err != nil {
			return all, total, err
		}
		one := document{Name: d.Name}
		for i, s := range sheets {
			total++
			s.Number, s.Own, s.Of = total, i+1, len(sheets)
			for k, place := range placesOf(v, d.Index) {
				if place.Page == i+1 && place.Name == "" {
					s.Marks = append(s.Marks, markID(d.Index, k))
				}
			}
			if inline += len(s.Text); inline > mostInline {
				s.Text = ""
			}
			one.Pages = append(one.Pages, s)
		}
		all = append(all, one)
	}
	return all, total, nil
}

// placesOf are where a person signs in a document; fields that the document has are
// seen in it.
func placesOf(v *people.Visit, document int) (all []ledger.Place) {
	if document < len(v.Person.Places) {
		all = v.Person.Places[document]
	}
	return all
}

func markID(document, place int) string { return fmt.Sprintf("mark-%d-%d", document, place) }

// marks are the rules that put the places of a person onto the pictures.
func (p *Pages) marks(v *people.Visit, to *bytes.Buffer) {
	for _, d := range p.People.Documents(v) {
		known, ok := p.drawn.Get(leaf{document: d.SHA256})
		if !ok {
			continue // the page was not shown here: it is drawn without
		}
		for k, place := range placesOf(v, d.Index) {
			if place.Page < 1 || place.Page > len(known.sheets) || place.Name != "" {
				continue
			}
			w, h := known.sheets[place.Page-1].points[0]/100, known.sheets[place.Page-1].points[1]/100
			fmt.Fprintf(to, "#document #%s { display: grid; left: %.3f%%; top: %.3f%%; width: %.3f%%; height: %.3f%%; }\n", markID(d.Index, k), place.X/w, place.Y/h, place.Width/w, place.Height/h)
		}
	}
}

// sheets are the sizes and texts of a document's pages.
func (p *Pages) sheets(ctx context.Context, v *people.Visit, d people.Document) ([]sheet, error) {
	key := leaf{document: d.SHA256}
	if known, ok := p.drawn.Get(key); ok {
		return known.sheets, nil
	}
	made, weight := &shown{}, 0
	err := p.open(ctx, v, d, func(doc *draw.Document) error {
		for n := 1; n <= doc.Pages(); n++ {
			width, height, err := doc.Size(ctx, n)
			if err != nil {
				return err
			}
			one := sheet{Width: shownWidth, Height: int(shownWidth * height / width), points: [2]float64{width, height}}
			if weight < mostInline {
				if one.Text, err = doc.Text(ctx, n); err != nil {
					return err
				}
			}
			weight += len(one.Text) + 64
			made.sheets = append(made.sheets, one)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.drawn.Put(key, made, weight)
	return made.sheets, nil
}

// open has a document drawn from.
func (p *Pages) open(ctx context.Context, v *people.Visit, d people.Document, use func(*draw.Document) error) error {
	source, closer, err := p.People.Open(ctx, v, d.Index)
	if err != nil {
		return err
	}
	data := make([]byte, source.Size())
	_, err = source.ReadAt(data, 0)
	if closer != nil {
		defer closer.Close()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read document: %w", err)
	}
	doc, err := p.Drawer.Open(ctx, data, "")
	if err != nil {
		return err
	}
	defer doc.Close()
	return use(doc)
}

// picture serves pages/{n}.png, and pages/{n}.txt for who cannot see it.
func (p *Pages) picture(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	name, text := strings.CutSuffix(r.PathValue("file"), ".txt")
	name, png := strings.CutSuffix(name, ".png")
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || text == png {
		p.site.NotFound(w, r)
		return
	}
	ctx := r.Context()
	now, err := p.People.Now(ctx, v, p.shown(r))
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	if !now.Turn || now.Over { // it is shown to whom the page shows it
		p.site.NotFound(w, r)
		return
	}
	for _, d := range p.People.Documents(v) {
		sheets, err := p.sheets(ctx, v, d)
		if err != nil {
			p.undrawn(w, r, err)
			return
		}
		if n > len(sheets) {
			n -= len(sheets)
			continue
		}
		if text {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, sheets[n-1].Text) // the client may be gone
			return
		}
		picture, err := p.pictureOf(ctx, v, d, n)
		if err != nil {
			p.undrawn(w, r, err)
			return
		}
		if n == len(sheets) && r.Method == http.MethodGet {
			if err := p.People.Read(ctx, v, d.Index); err != nil {
				p.site.Fail(w, r, err)
				return
			}
		}
		h := w.Header()
		h.Set("Content-Type", "image/png")
		h.Set("Cache-Control", "private, no-cache")
		h.Set("Etag", `"`+d.SHA256+"-"+strconv.Itoa(n)+`"`)
		http.ServeContent(w, r, "", v.Record.CreatedAt, bytes.NewReader(picture))
		return
	}
	p.site.NotFound(w, r)
}

// undrawn answers for a document that cannot be shown.
func (p *Pages) undrawn(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, draw.ErrMalformed) || errors.Is(err, draw.ErrTooMuch) || errors.Is(err, draw.ErrPassword) {
		p.Log.WarnContext(r.Context(), "a document cannot be shown", "error", err)
		err = look.Refusal(fault.NotSignable, look.T("This page cannot be shown here. Download the document to read it.", "Questa pagina non si può mostrare qui. Scarica il documento per leggerlo."))
	}
	p.site.Fail(w, r, err)
}

// pictureOf draws page n of a document, unless it was.
func (p *Pages) pictureOf(ctx context.Context, v *people.Visit, d people.Document, n int) ([]byte, error) {
	key := leaf{d.SHA256, n}
	if known, ok := p.drawn.Get(key); ok {
		return known.picture, nil
	}
	var made []byte
	err := p.open(ctx, v, d, func(doc *draw.Document) (err error) {
		made, err = doc.PNG(ctx, n, pictureWidth)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.drawn.Put(key, &shown{picture: made}, len(made))
	return made, nil
}

// signed hands out the document with everybody's signatures.
func (p *Pages) signed(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	p.download(w, r, func() (*ledger.Download, error) { return p.People.Download(r.Context(), v) }, v.Record.Options.People.UI.HideDownloadSigned)
}

// validated hands out the document as it was sent out.
func (p *Pages) validated(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	p.download(w, r, func() (*ledger.Download, error) { return p.People.Validated(r.Context(), v) }, v.Record.Options.People.UI.HideDownloadValidated)
}

func (p *Pages) download(w http.ResponseWriter, r *http.Request, open func() (*ledger.Download, error), hidden bool) {
	if hidden {
		p.site.NotFound(w, r)
		return
	}
	d, err := open()
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	defer d.Data.Close()
	w.Header().Set("Content-Type", d.File.MediaType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.File.Name}))
	http.ServeContent(w, r, "", d.File.CreatedAt, d.Data)
}
