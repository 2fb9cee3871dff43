package rogito

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

// Bounds on nesting: layers inside layers, and layers in all.
const (
	maxNesting = 16
	maxLayers  = 256
)

// reader reads one format.
type reader func(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error)

// sniff chooses the reader of a document by its first bytes; nil when it can
// carry no signature. What carries one is decided by the reader.
func sniff(src ades.Source) (reader, string) {
	head := make([]byte, min(src.Size(), 1024))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, ""
	}
	head = head[:n]
	if n > 0 && head[0] == 0x30 { // a CMS may carry any of the others in the open
		if r, family := sniffCMS(src); r != nil {
			return r, family
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return asic.Read, "ZIP" // whose first file may be a PDF in the open
	case message.Looks(head):
		return readMIME, "MIME"
	case bytes.Contains(head, []byte("%PDF-")):
		return pades.Read, "PDF"
	case xades.LooksLikeXML(src):
		return xades.Read, "XML"
	}
	return sniffCMS(src)
}

func sniffCMS(src ades.Source) (reader, string) {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return nil, ""
	}
	switch cms.ContentType(bin) {
	case oid.SignedData:
		return cades.Read, "CMS"
	case oid.TimestampedData:
		return readData, "TimeStampedData"
	}
	if tsp.Extract(bin) != nil {
		return func(_ context.Context, s ades.Source, r ades.ReadOptions) (*ades.Document, error) {
			return tsp.ReadToken(s, r)
		}, "TST"
	}
	if truncated(bin) { // a response with a time-stamp begins like one
		return cades.Read, "CMS" // which will say what is wrong with it
	}
	return nil, ""
}

// truncated recognises the beginning of a SignedData whose rest is missing or
// broken: it claims to be a signature.
func truncated(src ades.Source) bool {
	head := make([]byte, min(src.Size(), 32))
	n, _ := src.ReadAt(head, 0)
	signedData := []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02}
	return n > 0 && head[0] == 0x30 && bytes.Contains(head[:n], signedData)
}

// readMIME reads a message: signed by S/MIME, or with a time-stamp.
func readMIME(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	if cades.IsSMIME(src) {
		return cades.ReadSMIME(ctx, src, r)
	}
	doc, err := readData(ctx, src, r)
	if errors.Is(err, tsp.ErrNoToken) {
		return nil, ErrNotSigned // any other message
	}
	return doc, err
}

// readData reads time-stamped data. Content given beside it must be the content
// that it carries, or is what its tokens are over where it carries none.
func readData(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	d, err := tsp.ReadData(src)
	if err != nil {
		return nil, err
	}
	if d.Content == nil && len(r.Detached) == 1 {
		d.Content, d.Name = r.Detached[0].Source, r.Detached[0].Name
		return d.Document()
	}
	doc, err := d.Document()
	if err != nil {
		return nil, err
	}
	for _, f := range r.Detached {
		same, err := cades.Equal(ctx, d.Content, f.Source)
		if err != nil {
			return nil, err
		}
		if !same {
			doc.Timestamps[0].ImprintIntact = ades.No
		}
	}
	return doc, nil
}

// nest is the walk through the layers of one document.
type nest struct {
	ctx   context.Context
	o     VerifyOptions
	facts *report.Facts
	plain ades.Source
	known [][]byte
}

// open reads one layer and, when asked to, those inside it.
func (n *nest) open(f ades.File, level int, in ades.ReadOptions) error {
	read, family := sniff(f.Source)
	if read == nil {
		return nil
	}
	l := &report.Layer{Level: level, Name: f.Name}
	doc, err := read(n.ctx, f.Source, in)
	var malformed *ades.MalformedError
	switch {
	case errors.Is(err, ades.ErrPassword) && level == 0:
		return err
	case errors.Is(err, ErrNotSigned):
		return nil
	case errors.Is(err, asic.ErrNotContainer):
		return n.archive(f, level)
	case errors.Is(err, context.DeadlineExceeded) && level == 0 && n.ctx.Err() != nil:
		l.Broken = errDeadline.Error()
	case n.ctx.Err() != nil && err != nil: // nobody waits for the answer
		return n.ctx.Err()
	case errors.Is(err, limits.ErrBudget):
		n.broken(l, f, family, limits.ErrBudget)
	case err == nil:
		l.Document = doc
	case errors.As(err, &malformed), errors.Is(err, limits.ErrBudget), errors.Is(err, ades.ErrPassword), level > 0 && n.ctx.Err() == nil:
		n.broken(l, f, family, err)
	default:
		return err
	}
	if l.Document == nil && l.Broken == "" {
		return nil
	}
	if l.Document != nil && len(l.Document.Signatures) == 0 && len(l.Document.Timestamps) == 0 && !fatal(l.Document) {
		if family != "PDF" || !cutOff(f.Source) {
			return nil // readable and not signed
		}
		n.broken(l, f, family, ades.Malformed("PDF", "", "the file ends within the revision that was signed"))
	}
	if level == 0 && l.Document != nil {
		if err := n.given(l.Document, f); err != nil {
			return err
		}
	}
	n.facts.Layers = append(n.facts.Layers, l)
	return n.inside(l, level)
}

// archive is a ZIP that is no container: its files are opened where that is
// asked for, and are what counts.
func (n *nest) archive(f ades.File, level int) error {
	files, problems, err := asic.Files(n.ctx, f.Source)
	if err != nil {
		return err
	}
	d := &ades.Document{Format: ades.ZIP}
	if n.o.Recursive { // only then is there anything to be taken for signed
		d.Problems = problems
	}
	for _, one := range files {
		d.Parts = append(d.Parts, ades.Part{Kind: ades.FilePart, Name: one.Name})
	}
	if level == 0 {
		if err := n.given(d, f); err != nil {
			return err
		}
	}
	l := &report.Layer{Level: level, Name: f.Name, Document: d}
	n.facts.Layers = append(n.facts.Layers, l)
	if !n.o.Recursive {
		return nil
	}
	d.Content = files
	return n.inside(l, level)
}

// given holds the document against what the caller names: content that is
// neither signed by reference nor equal to what is signed here is a part that
// nobody covers, and so is a file or element that was expected and is missing.
func (n *nest) given(d *ades.Document, f ades.File) error {
	if d.Format != ades.CAdES && d.Format != ades.PKCS7 && d.Format != ades.TST { // those compare for themselves
		for _, g := range n.o.Detached {
			covered, err := n.signs(d, f, g)
			if err != nil {
				return err
			}
			if !covered {
				d.Parts = append(d.Parts, ades.Part{Kind: ades.ContentPart, Name: g.Name})
			}
		}
	}
	for kind, name := range map[ades.PartKind]string{ades.FilePart: n.o.Expect.File, ades.XMLPart: n.o.Expect.Element} {
		found := slices.ContainsFunc(d.Parts, func(p ades.Part) bool { return p.Kind == kind && p.Expected })
		if name != "" && !found {
			d.Parts = append(d.Parts, ades.Part{Kind: kind, Name: name, Expected: true})
		}
	}
	return nil
}

// signs: a given file is one that a signature refers to, or equal to content
// that is signed here, or to the document itself.
func (n *nest) signs(d *ades.Document, whole, given ades.File) (bool, error) {
	signed := append([]ades.File{whole}, d.Content...)
	for _, s := range d.Signatures {
		signed = append(signed, s.Content...)
	}
	for _, s := range signed {
		same, err := cades.Equal(n.ctx, s.Source, given.Source)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

func fatal(d *ades.Document) bool {
	for _, p := range d.Problems {
		if p.Fatal {
			return true
		}
	}
	return false
}

// broken reports a file that cannot be read. Where it claims to be signed,
// that is a signature with a broken form; else it is no signed document.
// Either way the document as a whole is not valid.
func (n *nest) broken(l *report.Layer, f ades.File, family string, err error) {
	if !claims(f.Source, family) {
		n.facts.Notes = append(n.facts.Notes, fmt.Sprintf("this looks like %s but cannot be read: %v", family, err))
		return
	}
	if family == "CMS" {
		// Where the SignedData itself is broken nobody knows how many signers
		// it had: the layer is broken, and no signature is made up.
		l.Broken = err.Error()
		l.Document = &ades.Document{Format: formatOf(family), Problems: []ades.Problem{{Fatal: true, Text: err.Error()}}}
		return
	}
	l.Document = &ades.Document{
		Format: formatOf(family),
		Signatures: []*ades.Signature{{
			ID: "unreadable", Format: formatOf(family),
			Problems: []ades.Problem{{Fatal: true, Text: err.Error()}},
		}},
	}
}

func formatOf(family string) ades.Format {
	switch family {
	case "PDF":
		return ades.PAdES
	case "ZIP":
		return ades.ASiCE
	case "XML":
		return ades.XMLDSig
	case "CMS":
		return ades.PKCS7
	}
	return ades.TST
}

// marks are what a file of a family holds when it claims to be signed.
var marks = map[string][]string{
	"PDF": {"/ByteRange", "/Type/Sig", "/Type /Sig", "adbe.pkcs7", "ETSI.CAdES", "ETSI.RFC3161"},
	"XML": {"http://www.w3.org/2000/09/xmldsig#", "SignedInfo"},
	"ZIP": {"META-INF/", "documentsignatures.xml", "vnd.etsi.asic"},
}

// claims looks for the marks of a signature in a file that cannot be parsed.
func claims(src ades.Source, family string) bool {
	list, ok := marks[family]
	if !ok {
		return true // CMS and time-stamps exist for nothing else
	}
	const window, overlap = 1 << 20, 64
	buf := make([]byte, window)
	for at := int64(0); at < src.Size(); at += window - overlap {
		k, err := src.ReadAt(buf, at)
		for _, m := range list {
			if bytes.Contains(buf[:k], []byte(m)) {
				return true
			}
		}
		if err != nil {
			break
		}
	}
	return false
}

// cutOff says that a PDF without signatures was one with: after its last end
// mark a revision begins that holds a signature, and the rest is missing.
func cutOff(src ades.Source) bool {
	const mark = "%%EOF"
	from := max(0, src.Size()-(1<<20)) // the signatures we know of are far smaller
	tail := make([]byte, src.Size()-from)
	if k, err := src.ReadAt(tail, from); k < len(tail) && err != nil {
		return false
	}
	at := bytes.LastIndex(tail, []byte(mark))
	if at < 0 {
		return false
	}
	return bytes.Contains(tail[at:], []byte("/ByteRange"))
}

// inside opens the content of a layer. A signed PDF is its own content and
// has nothing inside it.
func (n *nest) inside(l *report.Layer, level int) error {
	if l.Document == nil {
		return nil
	}
	content := l.Document.Content
	if f := plainOf(l.Document); f != nil && (level == 0 || n.plain != nil) {
		n.plain = f
	}
	if !n.o.Recursive || l.Document.Format == ades.PAdES {
		return nil
	}
	for _, f := range content {
		if f.Source == nil || len(n.facts.Layers) >= maxLayers {
			continue
		}
		if level+1 >= maxNesting {
			n.facts.Notes = append(n.facts.Notes, fmt.Sprintf("more than %d layers: what is inside was not opened", maxNesting))
			return nil
		}
		if l.Document.Format == ades.XAdES || l.Document.Format == ades.XMLDSig {
			if xades.LooksLikeXML(f.Source) {
				continue // an enveloped signature's content is the document itself
			}
		}
		if err := n.open(f, level+1, ades.ReadOptions{Password: n.o.Password, Certificates: n.known}); err != nil {
			return err
		}
	}
	return nil
}

// plainOf is the content of a layer that can be handed out as one: the first
// signed file of a container, the newest signed revision of a PDF. Readers put
// only what signatures cover into Content. An OpenDocument is its own content.
func plainOf(d *ades.Document) ades.Source {
	switch {
	case len(d.Content) == 0 || d.Format == ades.ODF || d.Format == ades.ZIP || fatal(d):
		return nil
	case d.Format == ades.ASiCE || d.Format == ades.ASiCS:
		return d.Content[0].Source
	}
	return d.Content[len(d.Content)-1].Source
}

// levels names the level of every signature, which takes the chains: LT is
// having what they need.
func levels(l *report.Layer, f *report.Facts) {
	if l.Document == nil {
		return
	}
	l.Levels = map[string]string{}
	complete := func(certs ...[]byte) bool { return trust.Complete(f, certs...) }
	var name func(s *ades.Signature)
	name = func(s *ades.Signature) {
		if s.ID != "unreadable" {
			l.Levels[s.ID] = levelOf(s, l.Document, complete)
		}
		for _, c := range s.CounterSignatures {
			name(c)
		}
	}
	for _, s := range l.Document.Signatures {
		name(s)
	}
}

func levelOf(s *ades.Signature, d *ades.Document, complete func(...[]byte) bool) string {
	switch d.Format {
	case ades.PAdES:
		return pades.Level(s, d, complete)
	case ades.ASiCS, ades.ASiCE, ades.ODF:
		return asic.Level(s, d, complete)
	case ades.XAdES, ades.XMLDSig:
		return xades.Level(s, d, complete)
	}
	return cades.Level(s, d, complete)
}
