package rogito

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

// Bounds on nesting: the depth of layers, and their total number.
const (
	maxNesting = 16
	maxLayers  = 256
)

// nest walks through the layers of one document.
type nest struct {
	ctx   context.Context
	o     VerifyOptions
	facts *report.Facts
	plain ades.Source
	files []ades.File // that may be returned: plain, or all files beside it
	known [][]byte
}

// open reads one layer and, with Recursive, those inside it.
func (n *nest) open(f ades.File, level int, in ades.ReadOptions) error {
	read, kind := sniff(f.Source)
	if read == nil {
		n.noteNotJudged(f, level)
		return nil
	}
	l := &report.Layer{Level: level, Name: f.Name}
	source := f.Source
	if kind == KindCMS || kind == KindTimestamp {
		source = limits.Paying(source, limits.BudgetOf(n.ctx))
	}
	doc, err := read(n.ctx, source, in)
	var malformed *ades.MalformedError
	switch {
	case errors.Is(err, ades.ErrPassword) && level == 0:
		return err
	case errors.Is(err, ErrNotSigned) && kind == KindTimestampedData:
		return n.openMail(f, level)
	case errors.Is(err, ErrNotSigned):
		return nil
	case errors.Is(err, asic.ErrNotContainer) && n.noteNotJudged(f, level):
		return nil
	case errors.Is(err, asic.ErrNotContainer):
		return n.openArchive(f, level)
	case errors.Is(err, context.DeadlineExceeded) && level == 0 && n.ctx.Err() != nil:
		why := finding.TooLong.Problem("")
		l.Broken = &why
	case n.ctx.Err() != nil && err != nil: // the caller is gone
		return n.ctx.Err()
	case errors.Is(err, limits.ErrBudget):
		n.broken(l, f, kind, limits.ErrBudget)
	case err == nil:
		l.Document = doc
	case errors.As(err, &malformed), errors.Is(err, limits.ErrBudget), errors.Is(err, ades.ErrPassword), level > 0 && n.ctx.Err() == nil:
		n.broken(l, f, kind, err)
	default:
		return err
	}
	if l.Document == nil && l.Broken == nil {
		return nil
	}
	if unsigned(l.Document) {
		if kind != KindPDF || !cutOff(f.Source) {
			n.notSigned(l.Document, f, kind, level)
			return nil
		}
		n.broken(l, f, kind, finding.CutOff.Malformed("PDF", ""))
	}
	if level == 0 && l.Document != nil {
		if err := n.checkExpected(l.Document, f); err != nil {
			return err
		}
	}
	n.facts.Layers = append(n.facts.Layers, l)
	return n.openContent(l, f.Source, level, nil)
}

// unsigned reports whether a document is readable and has neither signature nor time-stamp.
func unsigned(d *ades.Document) bool {
	return d != nil && len(d.Signatures) == 0 && len(d.Timestamps) == 0 && !ades.Fatal(d.Problems)
}

// notSigned records what is known about an unsigned document: that it is signed in a way that is
// not judged, or that a signature was removed.
func (n *nest) notSigned(d *ades.Document, f ades.File, kind Kind, level int) {
	_ = kind == KindZIP && n.noteNotJudged(f, level)
	for _, p := range d.Problems {
		if p.Code == finding.PDFSignatureGone.Code {
			n.facts.Notes = append(n.facts.Notes, p)
		}
	}
}

// noteNotJudged records a file that is signed in a way that is not judged.
func (n *nest) noteNotJudged(f ades.File, level int) bool {
	what := named(f.Source)
	if what == "" {
		return false
	}
	n.facts.Notes = append(n.facts.Notes, finding.NotJudged.Problem(f.Name, what))
	if level == 0 {
		n.facts.NotJudged = what
	}
	return true
}

// openArchive handles a ZIP that is no container. With Recursive its files are opened, and the
// verdict is about them.
func (n *nest) openArchive(f ades.File, level int) error {
	files, problems, err := Archived(n.ctx, f.Source)
	if err != nil {
		return err
	}
	d := &ades.Document{Format: ades.ZIP}
	if n.o.Recursive { // otherwise none of them could be taken for signed
		d.Problems = problems
	}
	l := &report.Layer{Level: level, Name: f.Name, Document: d}
	var beside map[string]ades.File
	if n.o.Recursive {
		var covered map[string]bool
		beside, covered = Paired(n.ctx, files)
		files = slices.DeleteFunc(files, func(f ades.File) bool { return covered[f.Name] && beside[f.Name].Source == nil })
	}
	for _, one := range files {
		d.Parts = append(d.Parts, ades.Part{Kind: ades.FilePart, Name: one.Name})
	}
	if level == 0 {
		if err := n.checkExpected(d, f); err != nil {
			return err
		}
	}
	n.facts.Layers = append(n.facts.Layers, l)
	if !n.o.Recursive {
		return nil
	}
	d.Content = files
	return n.openContent(l, f.Source, level, beside)
}

// openMail handles a message that is not signed itself, or the content of a signed message: its
// attachments are opened, and so are the messages in it.
func (n *nest) openMail(f ades.File, level int) error {
	if f.Source.Size() > limits.Armour || limits.BudgetOf(n.ctx).Spend(2*f.Source.Size()) != nil {
		return nil
	}
	raw, err := io.ReadAll(io.NewSectionReader(f.Source, 0, f.Source.Size()))
	if err != nil {
		return err
	}
	parts, why := message.Files(raw)
	if why != nil {
		n.facts.Notes = append(n.facts.Notes, finding.MailParts.Problem(f.Name, why))
	}
	d := &ades.Document{Format: ades.Mail}
	if level == 0 { // its text is unsigned
		d.Parts = append(d.Parts, ades.Part{Kind: ades.ContentPart, Name: "text"})
	}
	for _, p := range parts {
		d.Content = append(d.Content, ades.File{Name: p.Name, Source: bytes.NewReader(p.Data)})
		d.Parts = append(d.Parts, ades.Part{Kind: ades.FilePart, Name: p.Name})
	}
	if len(parts) == 0 {
		return nil
	}
	l := &report.Layer{Level: level, Name: f.Name, Document: d}
	if level == 0 {
		if err := n.checkExpected(d, f); err != nil {
			return err
		}
		n.facts.Layers = append(n.facts.Layers, l)
		return n.openContent(l, f.Source, level, nil)
	}
	// The attachments are already covered by the layer outside; the message needs no layer of its
	// own.
	return n.openContent(l, f.Source, level-1, nil)
}

// checkExpected adds what the caller expects as parts that no signature covers: detached content
// that is neither referenced by a signature nor equal to signed content, and a file or element that
// was expected and is missing.
func (n *nest) checkExpected(d *ades.Document, f ades.File) error {
	if d.Format != ades.CAdES && d.Format != ades.PKCS7 && d.Format != ades.TST { // these readers compare for themselves
		for _, g := range n.o.Detached {
			covered, err := n.isSigned(d, f, g)
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

// isSigned reports whether a given file is referenced by a signature, or equals signed content or
// the document itself.
func (n *nest) isSigned(d *ades.Document, whole, given ades.File) (bool, error) {
	signed := append([]ades.File{whole}, d.Content...)
	for _, s := range d.Signatures {
		signed = append(signed, s.Content...)
	}
	for _, s := range signed {
		same, err := cms.Equal(n.ctx, s.Source, given.Source)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// broken records a file that cannot be read. If it claims to be signed, it becomes a signature with
// a format failure, otherwise only a note. Either way the document as a whole is not valid.
func (n *nest) broken(l *report.Layer, f ades.File, kind Kind, err error) {
	if !claimsSignature(f.Source, kind) {
		n.facts.Notes = append(n.facts.Notes, finding.LooksLike.Problem("", kind, err))
		return
	}
	if kind == KindCMS {
		// A broken SignedData does not show how many signers it had: report the layer as broken
		// instead of inventing a signature.
		why := finding.Of("", err)
		l.Broken = &why
		l.Document = &ades.Document{Format: carriers[kind], Problems: []ades.Problem{why}}
		return
	}
	l.Document = &ades.Document{
		Format: carriers[kind],
		Signatures: []*ades.Signature{{
			ID: "unreadable", Format: carriers[kind],
			Problems: []ades.Problem{finding.Of("", err)},
		}},
	}
}

// marks are strings found in files of a kind that claim to be signed.
var marks = map[Kind][]string{
	KindPDF: {"/ByteRange", "/Type/Sig", "/Type /Sig", "adbe.pkcs7", "ETSI.CAdES", "ETSI.RFC3161"},
	KindXML: {"http://www.w3.org/2000/09/xmldsig#", "SignedInfo"},
	KindZIP: {"META-INF/", "documentsignatures.xml", "vnd.etsi.asic"},
}

// claimsSignature searches a file that cannot be parsed for the marks of a signature.
func claimsSignature(src ades.Source, kind Kind) bool {
	list, ok := marks[kind]
	if !ok {
		return true // CMS and time-stamps have no other use here
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

// cutOff reports whether a PDF without signatures was truncated: after its last end mark a revision
// begins that holds a signature.
func cutOff(src ades.Source) bool {
	const mark = "%%EOF"
	from := max(0, src.Size()-(1<<20)) // known signatures are far smaller than this
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

// openContent opens the content of a layer. A signed PDF is its own content and has nothing inside
// it. beside has the files that detached signatures are over.
func (n *nest) openContent(l *report.Layer, src ades.Source, level int, beside map[string]ades.File) error {
	if l.Document == nil {
		return nil
	}
	content := l.Document.Content
	switch f := plainOf(l.Document); {
	case f != nil && (level == 0 || n.plain != nil):
		// Of several files none can be preferred.
		if n.plain = f; level == 0 || len(n.files) == 1 {
			n.files = n.handedOut(l, src)
		}
	case level > 0 && (l.Document.Fits() == ades.No || ades.Fatal(l.Document.Problems)):
		n.plain, n.files = nil, nil // the content does not match its signature
	}
	if l.Document.Format == ades.PAdES {
		return nil
	}
	// A time-stamp means nothing without the time-stamped data: open it even without Recursive.
	if !n.o.Recursive && l.Document.Format != ades.TST {
		n.unjudged(l.Document)
		return nil
	}
	if l.Document.Format == ades.TST && len(content) == 0 {
		// The content of a time-stamp that does not match is never returned, but it is judged all
		// the same.
		if d, err := tsp.ReadData(src); err == nil && d.Content != nil {
			content = []ades.File{{Name: d.Name, Source: d.Content}}
		}
	}
	for _, f := range content {
		if err := n.ctx.Err(); errors.Is(err, context.Canceled) { // the caller is gone
			return err
		}
		if f.Source == nil || len(n.facts.Layers) >= maxLayers {
			continue
		}
		if level+1 >= maxNesting {
			n.facts.Notes = append(n.facts.Notes, finding.TooManyLayers.Problem("", maxNesting))
			return nil
		}
		if l.Document.Format == ades.XAdES || l.Document.Format == ades.XMLDSig {
			if xades.LooksLikeXML(f.Source) {
				continue // an enveloped signature's content is the document itself
			}
		}
		in := ades.ReadOptions{Password: n.o.Password, Certificates: n.known}
		if c, ok := beside[f.Name]; ok {
			in.Detached = []ades.File{c}
		}
		if err := n.open(f, level+1, in); err != nil {
			return err
		}
	}
	return nil
}

// handedOut returns the files of a layer that may be returned to the caller.
func (n *nest) handedOut(l *report.Layer, src ades.Source) []ades.File {
	if !n.o.Contents {
		return nil
	}
	files, err := covered(l.Document)
	if err == nil {
		files, err = contents(n.ctx, ades.File{Name: cmp.Or(l.Name, n.o.Name), Source: src}, files)
	}
	if err != nil {
		return nil
	}
	return files
}

// unjudged notes that a signed document contains another that was not opened.
func (n *nest) unjudged(d *ades.Document) {
	for _, f := range d.Content {
		if f.Source == nil || (d.Format == ades.XAdES || d.Format == ades.XMLDSig) && xades.LooksLikeXML(f.Source) {
			continue
		}
		if read, kind := sniff(f.Source); read != nil && claimsSignature(f.Source, kind) {
			d.Problems = append(d.Problems, finding.NestedNotJudged.Problem(f.Name, f.Name))
			return
		}
	}
}

// plainOf returns the content of a layer if it is a single document: the first signed file of a
// container, the newest signed revision of a PDF. It is nil if a signature over it does not match.
// An Office document is its own content.
func plainOf(d *ades.Document) ades.Source {
	files, err := covered(d)
	switch {
	case err != nil || d.Format == ades.ODF || d.Format == ades.OOXML || d.Format == ades.ZIP || d.Format == ades.Mail:
		return nil
	case d.Format == ades.ASiCE || d.Format == ades.ASiCS:
		return files[0].Source
	}
	return files[len(files)-1].Source
}

// levels names the level of every signature. It needs the chains: level LT is defined by having
// their validation data.
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
	return formats[d.Format].profile(s, d, complete).Name
}
