package console

import (
	"context"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// Size of a visible signature, where nothing else is asked for.
const (
	boxWidth, boxHeight = 164, 45
	boxMargin           = 20
)

// mostSpots is how many places the form has for one's own signature; who wants more
// uses the API.
const mostSpots = 4

// spot is a place of a visible signature in the form.
type spot struct {
	Suffix string // of the names of its fields
	N      int
	F      map[string]string
}

var spotParts = []string{"page", "x", "y", "width", "height"}

func suffixOf(n int) string {
	if n == 1 {
		return ""
	}
	return "-" + strconv.Itoa(n)
}

func spotFields() (names []string) {
	for n := 1; n <= mostSpots; n++ {
		for _, part := range spotParts {
			names = append(names, part+suffixOf(n))
		}
	}
	return names
}

func spotsOf(f values) (all []spot) {
	for n := 1; n <= mostSpots; n++ {
		one := spot{Suffix: suffixOf(n), N: n, F: map[string]string{}}
		for _, part := range spotParts {
			one.F[part] = f[part+one.Suffix]
		}
		all = append(all, one)
	}
	return all
}

// Used says that the place is filled in.
func (s spot) Used() bool { return s.F["x"]+s.F["y"]+s.F["page"] != "" }

// onSheet says that a place can be on some page: no page is wider than 14,400
// points (ISO 32000-1, C.2), and "NaN" and "Inf" are no numbers for a request.
func onSheet(n float64) bool { return n >= -20000 && n <= 20000 }

func number(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(text), ",", ".", 1), 64)
	return n, err == nil && onSheet(n)
}

// at is a part of a place, or its default.
func (s spot) at(part string, usual float64) (float64, error) {
	if strings.TrimSpace(s.F[part]) == "" {
		return usual, nil
	}
	n, ok := number(s.F[part])
	if size := part == "width" || part == "height"; !ok || size && (n < 1 || n > 5000) {
		return 0, look.Refusal(fault.BadOption, look.T("The place %s must be a number of points from the corner of the page.", "La posizione %s deve essere un numero di punti dall'angolo della pagina.").With(part))
	}
	return n, nil
}

// place reads a spot.
func (s spot) place() (p request.Spot, err error) {
	p.Page = 1
	if text := strings.TrimSpace(s.F["page"]); text != "" {
		if p.Page, err = strconv.Atoi(text); err != nil || p.Page < 1 && p.Page != -1 {
			return p, look.Refusal(fault.BadOption, look.T("The page must be a number, -1 for the last.", "La pagina deve essere un numero, -1 per l'ultima."))
		}
	}
	for _, one := range []struct {
		part  string
		usual float64
		into  *float64
	}{{"x", boxMargin, &p.X}, {"y", boxMargin, &p.Y}, {"width", boxWidth, &p.Width}, {"height", boxHeight, &p.Height}} {
		if *one.into, err = s.at(one.part, one.usual); err != nil {
			return p, err
		}
	}
	return p, nil
}

// stamped reads how a signature is to be seen, and where.
func stamped(f values, image []byte, options map[string]any) error {
	seen := map[string]any{"imageVisible": true}
	for _, name := range []string{"reason", "location", "layout"} {
		if f[name] != "" {
			seen[name] = f[name]
		}
	}
	if image != nil {
		seen["image"] = base64.StdEncoding.EncodeToString(image)
	}
	var places []string
	var last request.Spot
	for i, one := range spotsOf(f) {
		if i > 0 && !one.Used() {
			continue
		}
		p, err := one.place()
		if err != nil {
			return err
		}
		text := strconv.Itoa(p.Page)
		for _, n := range []float64{p.X, p.Y, p.Width, p.Height} {
			text += "," + strconv.FormatFloat(n, 'f', -1, 64)
		}
		places, last = append(places, text), p
	}
	if len(places) == 1 {
		options["page"], options["x"], options["y"] = last.Page, last.X, last.Y
		seen["width"], seen["height"] = int(math.Round(last.Width)), int(math.Round(last.Height))
	} else {
		seen["places"] = places
	}
	options["signerImage"] = seen
	return nil
}

// mostPicture bounds the picture of a signature, which is read into memory.
const mostPicture = 2 << 20

func pictureIn(text upload.Text) ([]byte, error) {
	tooLarge := look.Refusal(fault.BadOption, look.T("The picture of the signature is too large: at most %d MB.", "L'immagine della firma è troppo grande: al massimo %d MB.").With(mostPicture>>20))
	if text.Len() > mostPicture {
		return nil, tooLarge
	}
	b, err := io.ReadAll(io.LimitReader(text.Reader(), mostPicture))
	if err != nil {
		return nil, err
	}
	if kind := http.DetectContentType(b); kind != "image/png" && kind != "image/jpeg" {
		return nil, look.Refusal(fault.BadOption, look.T("The picture of the signature must be PNG or JPEG.", "L'immagine della firma deve essere PNG o JPEG."))
	}
	return b, nil
}

// sheet is a page of a document as a viewer shows it, with the places on it.
type sheet struct {
	Number, Count int
	Width, Height float64 // points
	Picture       template.URL
	Left, Top     float64 // of the page in its MediaBox, where places count from there
	Marks         []mark
}

// mark is the box of a signature.
type mark struct {
	N                   int
	X, Y, Width, Height float64
}

const (
	// mostDrawn bounds a document whose pages are shown: it is read into memory.
	mostDrawn    = 32 << 20
	pictureWidth = 1100 // pixels
)

var (
	choosePDF  = look.T("Choose a PDF first.", "Scegli prima un PDF.")
	onlyPDF    = look.T("Only PDF files have pages to place a signature on.", "Solo i PDF hanno pagine su cui mettere la firma.")
	pdfLocked  = look.T("This PDF is protected by a password: enter it under \u201cPassword of the PDF\u201d.", "Questo PDF è protetto da password: inseriscila in «Password del PDF».")
	notShown   = look.T("This page of the PDF cannot be shown. You can still type where the signature is to stand.", "Questa pagina del PDF non si può mostrare. Puoi comunque scrivere dove mettere la firma.")
	noSuchPage = look.T("This PDF has no such page.", "Questo PDF non ha questa pagina.")
)

// pagePage is a page of a document, for who chooses a place on it.
type pagePage struct {
	look.Head
	Drawn *sheet
	Name  string
}

// page draws a page of the first PDF of a form. Nothing is kept.
func (d *Pages) page(v *visit) error {
	if !d.maySign(v) && !d.mayInvite(v) {
		return d.need(v, http.MethodPost, keys.Automatic.CertificateType())
	}
	p, err := d.read(v)
	if err != nil {
		return err
	}
	defer p.close()
	out := &pagePage{Head: d.head(v, look.T("Page of the document", "Pagina del documento"))}
	wanted := p.values["show"]
	if wanted == "" {
		wanted = p.values["page"]
	}
	n, err := strconv.Atoi(strings.TrimSpace(wanted))
	if err != nil || n == 0 {
		n = 1
	}
	status := http.StatusOK
	if out.Drawn, out.Name, out.Alert, err = d.sheet(v.ctx(), p, n); err != nil {
		return err
	}
	if out.Drawn == nil {
		status = http.StatusUnprocessableEntity
	} else if p.values["visible"] != "" {
		out.Drawn.mark(p.values)
	}
	d.pages.Render(v.w, v.r, status, "page", out)
	return nil
}

// mark puts the places of a form onto the page.
func (s *sheet) mark(f values) {
	for i, one := range spotsOf(f) {
		p, err := one.place()
		if err != nil || i > 0 && !one.Used() {
			continue
		}
		if p.Page < 0 {
			p.Page += s.Count + 1
		}
		if p.Page == s.Number {
			s.Marks = append(s.Marks, mark{one.N, p.X, p.Y, p.Width, p.Height})
		}
	}
}

// sheet draws page n, below 0 from the end, of the first PDF; or says why not.
func (d *Pages) sheet(ctx context.Context, p *posted, n int) (*sheet, string, look.Text, error) {
	why := choosePDF
	for _, f := range p.files {
		var head [5]byte
		if k, _ := f.Source.ReadAt(head[:], 0); k < 5 || string(head[:]) != "%PDF-" {
			why = onlyPDF
			continue
		}
		if f.Source.Size() > mostDrawn {
			return nil, f.Name, notShown, nil
		}
		data := make([]byte, f.Source.Size())
		if _, err := f.Source.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, f.Name, notShown, err
		}
		s, err := d.draw(ctx, data, p.values["pdfPassword"], n)
		if err == nil && p.values["media"] != "" {
			// A PDF that cannot be read so cannot be sent out either, and is refused then.
			s.Left, s.Top, _ = people.Margins(ctx, f.Source, s.Number)
		}
		switch {
		case err == nil:
			return s, f.Name, look.Text{}, nil
		case errors.Is(err, draw.ErrPassword):
			return nil, f.Name, pdfLocked, nil
		case errors.Is(err, draw.ErrNoPage):
			return nil, f.Name, noSuchPage, nil
		case errors.Is(err, draw.ErrMalformed), errors.Is(err, draw.ErrTooMuch):
			return nil, f.Name, notShown, nil
		}
		return nil, f.Name, notShown, err
	}
	return nil, "", why, nil
}

func (d *Pages) draw(ctx context.Context, data []byte, password string, n int) (*sheet, error) {
	doc, err := d.Drawer.Open(ctx, data, password)
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	if n < 0 {
		n += doc.Pages() + 1
	}
	s := &sheet{Number: n, Count: doc.Pages()}
	if s.Width, s.Height, err = doc.Size(ctx, n); err != nil {
		return nil, err
	}
	picture, err := doc.PNG(ctx, n, pictureWidth)
	s.Picture = template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)) //nolint:gosec // our own bytes
	return s, err
}
