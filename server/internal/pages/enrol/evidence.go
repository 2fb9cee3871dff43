package enrol

import (
	"bytes"
	"context"
	"errors"
	"image"
	_ "image/gif" // pictures that can be decoded
	_ "image/jpeg"
	"io"
	"net/http"
	"path"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/film"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// byVideo hands a video, a photo and perhaps an extract in, each looked at on its way.
func (p *Pages) byVideo(ctx context.Context, f *form, c *enroll.Certificate, b enroll.Browser) (*enroll.Certificate, error) {
	next := func() (enroll.Evidence, error) {
		for {
			part, err := f.next()
			if err != nil {
				return enroll.Evidence{}, err
			}
			name := part.FormName()
			if name != "video" && name != "photo" && name != "organization" {
				continue
			}
			head := make([]byte, sniffed)
			n, err := io.ReadFull(part, head)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s cannot be read", name)
			}
			head = head[:n]
			if n == 0 {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s is missing", name)
			}
			if !acceptable(name, head) {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s is neither a film nor a picture", name)
			}
			return enroll.Evidence{
				Name: name + "-" + called(part.FileName(), extension(head)), Data: io.MultiReader(bytes.NewReader(head), part), Look: p.looks(name, head),
			}, nil
		}
	}
	return p.enroll.ByVideo(ctx, c, next, b)
}

// called is the name that a file is kept under: of its own what is harmless
// everywhere, and the extension of its content.
func called(name, extension string) string {
	name = strings.TrimSuffix(name, path.Ext(name))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-64):] + extension
}

// Files that a reviewer could not view are refused, each with its own reason.
var (
	noFilm    = look.T("The video cannot be played, or has no length. Record it again, as MP4, MOV or WebM.", "Il video non si può riprodurre, o non ha durata. Registralo di nuovo, come MP4, MOV o WebM.")
	noPicture = look.T("The photo of the document cannot be shown. Send it as JPEG, PNG or PDF.", "La foto del documento non si può mostrare. Inviala come JPEG, PNG o PDF.")
	tooFine   = look.T("The photo of the document is too large: 25 megapixels at most, as JPEG 50.", "La foto del documento è troppo grande: al massimo 25 megapixel, come JPEG 50.")
)

// maxPixels of a photo: what telephones take. What is no JPEG may need twice as much
// memory for each.
const maxPixels = 50_000_000

// looks is how a file is looked at before a person does; nil where only a person can.
func (p *Pages) looks(field string, head []byte) func(io.Reader) error {
	switch {
	case field == "video":
		return func(r io.Reader) error {
			_, err := film.Read(r)
			var bad *ades.MalformedError
			if errors.As(err, &bad) {
				return look.Refusal(fault.BadField, noFilm).Because(err)
			}
			return err
		}
	case field == "photo" && !bytes.HasPrefix(head, []byte("%PDF-")):
		return p.decodes
	}
	return nil
}

// decodes decodes a picture. Pictures are decoded in turn, since each takes memory for
// all of its pixels.
func (p *Pages) decodes(r io.Reader) error {
	var head bytes.Buffer
	c, kind, err := image.DecodeConfig(io.TeeReader(io.LimitReader(r, 4<<20), &head))
	if err != nil {
		return look.Refusal(fault.BadField, noPicture)
	}
	most := maxPixels
	if kind != "jpeg" {
		most /= 2
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > most/c.Height {
		return look.Refusal(fault.BadField, tooFine)
	}
	p.decoding.Lock()
	defer p.decoding.Unlock()
	if _, _, err := image.Decode(io.MultiReader(&head, r)); err != nil {
		return look.Refusal(fault.BadField, noPicture)
	}
	return nil
}

// sniffed bytes of an upload are looked at.
const sniffed = 4096

// acceptable says whether an upload may be what its field asks for, by its
// content: whatever name and type it was given, an operator will open it. What a
// program would run or a browser show as a page is refused, and so is what is
// known to be something else. What is not known is kept as .bin, which nothing
// opens by itself.
func acceptable(field string, head []byte) bool {
	film, paper := isFilm(head), isPicture(head) || bytes.HasPrefix(head, []byte("%PDF-"))
	switch {
	case active(head):
		return false
	case field == "video":
		return !paper
	}
	return !film
}

// isFilm knows what telephones and browsers record: ISO base media (MP4,
// QuickTime, 3GPP), Matroska and WebM, AVI, Ogg, MPEG.
func isFilm(head []byte) bool {
	for _, magic := range []string{"\x1a\x45\xdf\xa3", "OggS", "\x00\x00\x01\xba", "\x00\x00\x01\xb3"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return brand(head) != "" && !isHEIF(head) || len(head) > 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "AVI "
}

// brand is that of a file of the ISO base media format (ISO/IEC 14496-12, 4.3).
// Old QuickTime files begin with another box.
func brand(head []byte) string {
	if len(head) < 12 || head[0] != 0 {
		return ""
	}
	switch string(head[4:8]) {
	case "ftyp":
		return string(head[8:12])
	case "moov", "mdat", "wide", "free", "skip":
		return "qt  "
	}
	return ""
}

func isHEIF(head []byte) bool {
	switch brand(head) {
	case "heic", "heix", "heif", "hevc", "hevx", "mif1", "msf1", "avif":
		return true
	}
	return false
}

func isPicture(head []byte) bool {
	switch http.DetectContentType(head) {
	case "image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp":
		return true
	}
	return isHEIF(head) || bytes.HasPrefix(head, []byte("II*\x00")) || bytes.HasPrefix(head, []byte("MM\x00*"))
}

// active recognises what a program would run, or a browser show as a page,
// however it is written: with a byte order mark, in UTF-16, behind blanks and
// comments.
func active(head []byte) bool {
	if isFilm(head) || isPicture(head) {
		return false // whatever is in it: it is kept under the name of what it is
	}
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		head = bytes.TrimPrefix(head, []byte(mark))
	}
	text := strings.TrimLeft(strings.ToLower(string(bytes.ReplaceAll(head, []byte{0}, nil))), " \t\r\n\f\v")
	for _, start := range []string{"<", "mz", "\x7felf", "#!", "pk\x03\x04", "\xca\xfe\xba\xbe", "{\\rtf", "[internetshortcut]", "fws", "cws"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	for _, mark := range []string{"<script", "<html", "<svg", "<!doctype", "<?xml", "<body", "<iframe", "<img", "<object", "<embed", "<meta", "<a ", "javascript:", "mime-version:"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// extension is the one that a file is kept under: that of its content, never of
// its name.
func extension(head []byte) string {
	switch {
	case isHEIF(head):
		return ".heic"
	case bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")):
		return ".webm"
	case bytes.HasPrefix(head, []byte("RIFF")) && isFilm(head):
		return ".avi"
	case bytes.HasPrefix(head, []byte("OggS")):
		return ".ogv"
	case isFilm(head):
		return ".mp4"
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return ".pdf"
	}
	if kind, ok := strings.CutPrefix(http.DetectContentType(head), "image/"); ok && isPicture(head) {
		return "." + kind
	}
	return ".bin"
}
