// Package draw renders the pages of a PDF as pictures, with PDFium in WebAssembly: a hostile
// document can neither read nor write anything of this process, and is stopped if it takes too much
// memory or time.
package draw

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// The reasons why a document is refused. All other errors are wrapped.
var (
	ErrMalformed = errors.New("draw: not a PDF that can be shown")
	ErrPassword  = errors.New("draw: the document has a password, and not this one")
	ErrTooMuch   = errors.New("draw: the document takes too much memory or time")
	ErrNoPage    = errors.New("draw: no such page")
)

// Limits of one picture. A page of 200 inches is what PDF 1.7 allows at most.
const (
	mostSide   = 14_400  // points
	mostPixels = 6 << 20 // of a picture: a sheet of A4 at 200 dpi has 3.9 million
	mostText   = 200_000 // characters of a page that are handed on
	// mostSearched bounds the pages that Find searches.
	mostSearched = 500
)

// wasmPage is the unit in which WebAssembly counts memory.
const wasmPage = 64 << 10

// Drawer draws. Its zero value is usable, stores nothing on disk and has the default bounds
// documented at the fields.
type Drawer struct {
	Cache     string        // folder that caches compiled PDFium; empty: compiled in every process
	Instances int           // documents open at once; 0 means 2
	Memory    int64         // bytes that one of them may take; 0 means 256 MB
	Time      time.Duration // that one call may take; 0 means 20 s

	once  sync.Once
	err   error
	pool  pdfium.Pool
	kept  wazero.CompilationCache
	slots chan struct{}
}

func (d *Drawer) instances() int { return cmp.Or(max(0, d.Instances), 2) }

func (d *Drawer) memory() int64 { return cmp.Or(max(0, d.Memory), 256<<20) }

func (d *Drawer) time() time.Duration { return cmp.Or(max(0, d.Time), 20*time.Second) }

// start compiles PDFium, which takes seconds without a cache. It runs once, when the first document
// is opened, so that processes that draw nothing do not pay for it.
func (d *Drawer) start() error {
	d.once.Do(func() {
		config := wazero.NewRuntimeConfig().
			WithMemoryLimitPages(uint32(min(d.memory()/wasmPage, 65_536))).
			WithCloseOnContextDone(true)
		if d.Cache != "" {
			if d.err = os.MkdirAll(d.Cache, 0o700); d.err != nil {
				return
			}
			if d.kept, d.err = wazero.NewCompilationCacheWithDir(d.Cache); d.err != nil {
				return
			}
			config = config.WithCompilationCache(d.kept)
		}
		d.slots = make(chan struct{}, d.instances())
		// An instance serves one document and is thrown away: nothing of one reaches the next.
		d.pool, d.err = webassembly.Init(webassembly.Config{
			MaxTotal: d.instances(), RuntimeConfig: config, FSConfig: wazero.NewFSConfig(),
			Stdout: io.Discard, Stderr: io.Discard,
		})
	})
	if d.err != nil {
		return fmt.Errorf("draw: start: %w", d.err)
	}
	return nil
}

// Close ends all instances. A Drawer that was closed opens nothing.
func (d *Drawer) Close() error {
	d.once.Do(func() { d.err = errors.New("closed") })
	var err error
	if d.pool != nil {
		err = d.pool.Close()
	}
	if d.kept != nil {
		err = errors.Join(err, d.kept.Close(context.Background()))
	}
	return err
}

// Document is an open PDF. One goroutine uses it at a time.
type Document struct {
	drawer   *Drawer
	instance pdfium.Pdfium
	ref      references.FPDF_DOCUMENT
	pages    int
}

// Open opens a document with its password, "" for none. It waits for its turn as
// long as the context lets it. The document must be closed.
func (d *Drawer) Open(ctx context.Context, data []byte, password string) (*Document, error) {
	if int64(len(data)) > d.memory()/2 {
		return nil, ErrTooMuch
	}
	if err := d.start(); err != nil {
		return nil, err
	}
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("draw: open: %w", context.Cause(ctx))
	}
	doc := &Document{drawer: d}
	if err := doc.open(ctx, data, password); err != nil {
		doc.Close()
		return nil, err
	}
	return doc, nil
}

func (doc *Document) open(ctx context.Context, data []byte, password string) error {
	instance, err := doc.drawer.pool.GetInstanceWithContext(ctx)
	if err != nil {
		return fmt.Errorf("draw: open: %w", err)
	}
	doc.instance = instance
	return doc.call(ctx, func() error {
		request := &requests.OpenDocument{File: &data}
		if password != "" {
			request.Password = &password
		}
		opened, err := instance.OpenDocument(request)
		if err != nil {
			return err
		}
		doc.ref = opened.Document
		count, err := instance.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.ref})
		if err != nil {
			return err
		}
		if doc.pages = count.PageCount; doc.pages < 1 {
			return ErrMalformed
		}
		return nil
	})
}

// Close gives the instance up.
func (doc *Document) Close() {
	if doc.drawer == nil {
		return
	}
	if doc.instance != nil {
		// The context of the last call has ended, so a call that ran on is over;
		// closing says so, which is no news.
		_ = doc.instance.Close()
	}
	<-doc.drawer.slots
	doc.drawer = nil
}

// call runs PDFium within the bounds of one call. The library uses one context for the life of an
// instance, in an unexported field; replacing it for each call makes wazero stop the running code
// when time is up.
func (doc *Document) call(ctx context.Context, do func() error) (err error) {
	if doc.drawer == nil {
		return errors.New("draw: the document is closed")
	}
	ctx, cancel := context.WithTimeout(ctx, doc.drawer.time())
	defer cancel()
	field := reflect.ValueOf(doc.instance.GetImplementation()).Elem().FieldByName("Context")
	before := field.Interface()
	field.Set(reflect.ValueOf(ctx))
	defer field.Set(reflect.ValueOf(before))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrMalformed, r)
		}
	}()
	return doc.judge(ctx, do())
}

// judge says why a call failed, in our own terms: PDFium and its runtime have many.
func (doc *Document) judge(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrMalformed), errors.Is(err, ErrNoPage), errors.Is(err, ErrTooMuch):
		return err
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return ErrPassword
	case errors.Is(ctx.Err(), context.DeadlineExceeded), strings.Contains(err.Error(), "unreachable"):
		// A reader that cannot allocate ends itself by a trap.
		return fmt.Errorf("%w: %w", ErrTooMuch, err)
	case ctx.Err() != nil:
		return fmt.Errorf("draw: %w", context.Cause(ctx))
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// Pages is how many there are.
func (doc *Document) Pages() int { return doc.pages }

func (doc *Document) page(n int) requests.Page {
	return requests.Page{ByIndex: &requests.PageByIndex{Document: doc.ref, Index: n - 1}}
}

// Size is that of page n, from 1, as displayed: in points, with its rotation applied.
func (doc *Document) Size(ctx context.Context, n int) (width, height float64, err error) {
	if n < 1 || n > doc.pages {
		return 0, 0, ErrNoPage
	}
	err = doc.call(ctx, func() error {
		width, height, err = doc.size(n)
		return err
	})
	return width, height, err
}

func (doc *Document) size(n int) (width, height float64, err error) {
	// By index the page is not loaded: the sizes of a thousand take no time.
	r, err := doc.instance.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: doc.ref, Index: n - 1})
	if err != nil {
		return 0, 0, err
	}
	if !fits(r.Width) || !fits(r.Height) {
		return 0, 0, ErrMalformed
	}
	return r.Width, r.Height, nil
}

func fits(side float64) bool { return side >= 1 && side <= mostSide && !math.IsNaN(side) }

// PNG draws page n, from 1, so many pixels wide, with its form fields and annotations.
func (doc *Document) PNG(ctx context.Context, n, width int) ([]byte, error) {
	if n < 1 || n > doc.pages {
		return nil, ErrNoPage
	}
	var out bytes.Buffer
	err := doc.call(ctx, func() error {
		w, h, err := doc.size(n)
		if err != nil {
			return err
		}
		height := int(math.Ceil(float64(width) * h / w))
		if most := float64(mostPixels); float64(width)*float64(height) > most {
			width = max(1, int(math.Sqrt(most*w/h)))
			height = max(1, int(most)/width)
		}
		r, err := doc.instance.RenderPageInPixels(&requests.RenderPageInPixels{
			Page: doc.page(n), Width: width, Height: height,
			RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true, Document: &doc.ref,
		})
		if err != nil {
			return err
		}
		defer r.Cleanup()
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		return encoder.Encode(&out, plain(r.Result.Image))
	})
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// plain is the picture without what it does not use: most pages are grey, and
// take a quarter of the time to write and of the bytes to send.
func plain(from *image.RGBA) image.Image {
	grey := image.NewGray(from.Rect)
	for y := from.Rect.Min.Y; y < from.Rect.Max.Y; y++ {
		row := from.Pix[from.PixOffset(from.Rect.Min.X, y):]
		to := grey.Pix[grey.PixOffset(from.Rect.Min.X, y):]
		for x := range from.Rect.Dx() {
			p := row[4*x : 4*x+4 : 4*x+4]
			if p[0] != p[1] || p[1] != p[2] {
				return opaque{from}
			}
			to[x] = p[0]
		}
	}
	return grey
}

// opaque is a picture on paper: nothing shines through.
type opaque struct{ *image.RGBA }

func (opaque) Opaque() bool { return true }

func (o opaque) At(x, y int) color.Color {
	c := o.RGBAAt(x, y)
	c.A = 255
	return c
}

// Text is what page n, from 1, says, in the order of the file.
func (doc *Document) Text(ctx context.Context, n int) (text string, err error) {
	if n < 1 || n > doc.pages {
		return "", ErrNoPage
	}
	err = doc.onText(ctx, n, func(page references.FPDF_TEXTPAGE) error {
		count, err := doc.instance.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: page})
		if err != nil || count.Count < 1 {
			return err
		}
		r, err := doc.instance.FPDFText_GetText(&requests.FPDFText_GetText{
			TextPage: page, StartIndex: 0, Count: min(count.Count, mostText),
		})
		if err != nil {
			return err
		}
		text = strings.ToValidUTF8(strings.ReplaceAll(r.Text, "\r\n", "\n"), "")
		return nil
	})
	return text, err
}

// onText runs what needs the text of a page.
func (doc *Document) onText(ctx context.Context, n int, do func(references.FPDF_TEXTPAGE) error) error {
	return doc.call(ctx, func() error {
		r, err := doc.instance.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: doc.page(n)})
		if err != nil {
			return err
		}
		defer func() { _, _ = doc.instance.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: r.TextPage}) }()
		return do(r.TextPage)
	})
}

// Box is a part of a page in the user space of the PDF: points, from the bottom left.
type Box struct{ Left, Bottom, Right, Top float64 }

// Find searches for a text, exactly as written, and returns the page, from 1, and the position of
// its first occurrence. ok is false if there is none.
func (doc *Document) Find(ctx context.Context, text string) (n int, box Box, ok bool, err error) {
	if text == "" {
		return 0, Box{}, false, nil
	}
	for n = 1; n <= min(doc.pages, mostSearched); n++ {
		err := doc.onText(ctx, n, func(page references.FPDF_TEXTPAGE) error {
			box, ok, err = doc.find(page, text)
			return err
		})
		if err != nil || ok {
			return n, box, ok, err
		}
	}
	return 0, Box{}, false, nil
}

func (doc *Document) find(page references.FPDF_TEXTPAGE, text string) (box Box, ok bool, err error) {
	search, err := doc.instance.FPDFText_FindStart(&requests.FPDFText_FindStart{
		TextPage: page, Find: text, Flags: requests.FPDFText_FindStartFlag_MATCHCASE,
	})
	if err != nil {
		return Box{}, false, err
	}
	defer func() { _, _ = doc.instance.FPDFText_FindClose(&requests.FPDFText_FindClose{Search: search.Search}) }()
	next, err := doc.instance.FPDFText_FindNext(&requests.FPDFText_FindNext{Search: search.Search})
	if err != nil || !next.GotMatch {
		return Box{}, false, err
	}
	at, err := doc.instance.FPDFText_GetSchResultIndex(&requests.FPDFText_GetSchResultIndex{Search: search.Search})
	if err != nil {
		return Box{}, false, err
	}
	c, err := doc.instance.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: page, Index: at.Index})
	if err != nil {
		return Box{}, false, err
	}
	return Box{Left: c.Left, Bottom: c.Bottom, Right: c.Right, Top: c.Top}, true, nil
}
