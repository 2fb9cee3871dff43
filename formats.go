package rogito

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/pkcs1"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

type (
	reader    func(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error)
	profiler  func(s *ades.Signature, doc *ades.Document, complete func(certificates ...[]byte) bool) ades.Profile
	augmenter func(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error
)

// format is everything that this package knows of one signature format.
type format struct {
	read    reader
	profile profiler                            // nil: there are no levels
	augment augmenter                           // nil: nothing can be added
	prepare func(context.Context, *Draft) error // nil: it is read and never made
	form    func(Input, *Options) Form
}

// formats is the only place where formats are distinguished: signing, augmenting, reading and
// naming a level all use this table.
var formats = map[ades.Format]format{
	ades.CAdES:   {cades.Read, cades.Profile, cades.Augment, prepareCAdES, formCAdES},
	ades.PAdES:   {pades.Read, pades.Profile, pades.Augment, preparePAdES, formPAdES},
	ades.XAdES:   {xades.Read, xades.Profile, xades.Augment, prepareXAdES, formXAdES},
	ades.JAdES:   {jades.Read, jades.Profile, jades.Augment, prepareJAdES, formJAdES},
	ades.ASiCS:   {asic.Read, asic.Profile, asic.Augment, prepareASiC, formASiC},
	ades.ASiCE:   {asic.Read, asic.Profile, asic.Augment, prepareASiC, formASiC},
	ades.PKCS1:   {pkcs1.Read, nil, nil, preparePKCS1, formPKCS1},
	ades.PKCS7:   {cades.Read, cades.Profile, cades.Augment, nil, nil},
	ades.XMLDSig: {xades.Read, xades.Profile, xades.Augment, nil, nil},
	ades.ODF:     {asic.Read, asic.Profile, nil, nil, nil},
	ades.OOXML:   {asic.Read, asic.Profile, nil, nil, nil},
	ades.TST:     {readTimestamp, cades.Profile, nil, nil, nil},
}

// carriers maps the kinds of files that can carry signatures to the weakest format such a file can
// have. The reader reports the format it found.
var carriers = map[Kind]ades.Format{
	KindPDF: ades.PAdES, KindXML: ades.XMLDSig, KindCMS: ades.PKCS7, KindZIP: ades.ASiCE,
	KindTimestamp: ades.TST, KindTimestampedData: ades.TST, KindSMIME: ades.PKCS7, KindJWS: ades.JAdES,
}

// Form describes a signed document as a file.
type Form struct {
	Format    ades.Format
	MediaType string
	Extension string // without a dot
	// InPlace: the signature is put into the given file, which keeps its type: a PDF, an XML
	// document, a CMS file with one more signer.
	InPlace bool
}

func prepareCAdES(ctx context.Context, d *Draft) (err error) {
	o, c := &d.o, d.o.CAdES
	cms := (o.Parallel || o.Counter) && len(d.in.Files) > 0 && Detect(d.in.metered(ctx).Files[0].Source) == KindCMS
	if d.in.Digest != nil || cms {
		c.MediaType = "" // the content is not read
	}
	switch {
	case d.in.Digest != nil && o.Level >= ades.LevelLTA:
		return errors.New("a signature over a digest cannot reach LTA: its archive time-stamp needs the document")
	case d.in.Digest != nil:
		d.inner, err = cades.PrepareDigest(ctx, d.in.Digest, o.SignParams, c)
		return err
	case o.Counter && !cms:
		return fmt.Errorf("only a CMS file (.p7m) can be counter-signed: %w", ErrNotSigned)
	case o.Counter:
		d.raise.Detached = d.in.Files[1:]
		return d.prepareCounter(ctx, cades.Read, func(src ades.Source, id string) (ades.Draft, error) {
			return cades.Counter(ctx, src, id, o.SignParams, c)
		})
	case o.Parallel && cms:
		var content ades.Source
		if d.raise.Detached = d.in.Files[1:]; len(d.raise.Detached) > 0 {
			content = d.raise.Detached[0].Source
		}
		d.inner, err = cades.Parallel(ctx, d.in.metered(ctx).Files[0].Source, content, o.SignParams, c)
		return err
	}
	src, err := d.in.single()
	if err != nil {
		return err
	}
	if c.Detached {
		d.raise.Detached = d.in.Files
	}
	d.inner, err = cades.Prepare(ctx, src, o.SignParams, c)
	return err
}

// prepareCounter prepares a counter-signature on the next signature of a CMS file or a JWS.
func (d *Draft) prepareCounter(ctx context.Context, read reader, counter func(src ades.Source, id string) (ades.Draft, error)) error {
	src := d.in.metered(ctx).Files[0].Source
	doc, err := read(ctx, src, ades.ReadOptions{})
	if err != nil {
		return err
	}
	if len(doc.Signatures) <= d.counter {
		return ErrNotSigned
	}
	if d.signers = len(doc.Signatures); d.signers > limits.CounterSigned {
		return ades.Malformed(string(doc.Format), "", "of %d signatures; at most %d are counter-signed at once", d.signers, limits.CounterSigned)
	}
	d.inner, err = counter(src, doc.Signatures[d.counter].ID)
	return err
}

func formCAdES(in Input, o *Options) Form {
	if in.Digest != nil || o.CAdES.Detached {
		return Form{MediaType: "application/pkcs7-signature", Extension: "p7s"}
	}
	again := (o.Parallel || o.Counter) && len(in.Files) > 0 && Detect(in.Files[0].Source) == KindCMS
	return Form{MediaType: "application/pkcs7-mime", Extension: "p7m", InPlace: again}
}

func preparePAdES(ctx context.Context, d *Draft) error {
	src, err := d.in.single()
	if err != nil {
		return err
	}
	o := d.o.PAdES
	o.Stamped = o.Stamped || d.o.Level >= ades.LevelT
	d.raise.Password = o.Password
	if o.Spool == nil {
		o.Spool = func() pades.Spool {
			discard(d.anew) // of an earlier try
			d.anew = d.spool()
			return d.anew
		}
	}
	draft, err := pades.Prepare(ctx, src, d.o.SignParams, o)
	if err != nil {
		discard(d.anew)
		return err
	}
	d.inner, d.why, d.remarks = draft, draft.Anew(), draft.Remarks()
	return nil
}

func formPAdES(Input, *Options) Form {
	return Form{MediaType: "application/pdf", Extension: "pdf", InPlace: true}
}

func prepareXAdES(ctx context.Context, d *Draft) (err error) {
	if d.in.Digest != nil {
		return errDigest
	}
	if d.o.XAdES.Packaging == xades.Detached {
		d.raise.Detached = d.in.Files
	}
	d.inner, err = xades.Prepare(ctx, d.in.Files, d.o.SignParams, d.o.XAdES)
	return err
}

func formXAdES(in Input, o *Options) Form {
	p := o.XAdES.Packaging
	enveloped := p == xades.Enveloped || p == xades.ByContent && len(in.Files) == 1 && xades.LooksLikeXML(in.Files[0].Source)
	return Form{MediaType: "application/xml", Extension: "xml", InPlace: enveloped}
}

func prepareJAdES(ctx context.Context, d *Draft) (err error) {
	if d.in.Digest != nil {
		return errDigest
	}
	d.o.Hash = jades.Hash(d.o.SignParams) // ECDSA: the curve determines the hash
	if d.o.Counter {
		return d.prepareCounter(ctx, jades.Read, func(src ades.Source, id string) (ades.Draft, error) {
			return jades.Counter(ctx, src, id, d.o.SignParams, d.o.JAdES)
		})
	}
	if d.o.JAdES.Detached {
		d.raise.Detached = d.in.Files
	}
	if d.o.JAdES.Serialization == jades.Compact && d.o.Level > ades.LevelB {
		return jades.ErrCompact
	}
	d.inner, err = jades.Prepare(ctx, d.in.Files, d.o.SignParams, d.o.JAdES)
	return err
}

func formJAdES(in Input, o *Options) Form {
	if o.Counter {
		return Form{MediaType: "application/jose+json", Extension: "json", InPlace: true}
	}
	if o.JAdES.Serialization == jades.Compact {
		return Form{MediaType: "application/jose", Extension: "jws"}
	}
	return Form{MediaType: "application/jose+json", Extension: "json"}
}

func prepareASiC(ctx context.Context, d *Draft) (err error) {
	if d.in.Digest != nil {
		return errDigest
	}
	a := d.o.ASiC
	if a.Simple && d.o.Format != ades.ASiCS {
		return errors.New("ASiC.Simple goes with the format ASiC-S only")
	}
	a.Simple = d.o.Format == ades.ASiCS
	if d.o.Parallel && len(d.in.Files) == 1 && Detect(d.in.metered(ctx).Files[0].Source) == KindASiC {
		d.inner, err = asic.Parallel(ctx, d.in.Files[0].Source, d.o.SignParams, a)
	} else {
		d.inner, err = asic.Prepare(ctx, d.in.Files, d.o.SignParams, a)
	}
	return err
}

func formASiC(in Input, o *Options) Form {
	again := o.Parallel && len(in.Files) == 1 && Detect(in.Files[0].Source) == KindASiC
	if o.Format == ades.ASiCS {
		return Form{MediaType: asic.MediaTypeS, Extension: "asics", InPlace: again}
	}
	return Form{MediaType: asic.MediaTypeE, Extension: "asice", InPlace: again}
}

func preparePKCS1(ctx context.Context, d *Draft) error {
	p := d.o.SignParams
	if d.in.Digest != nil {
		var err error
		d.inner, err = pkcs1.PrepareDigest(ctx, d.in.Digest, p)
		return err
	}
	src, err := d.in.single()
	if err != nil {
		return err
	}
	d.raise.Detached = d.in.Files
	d.inner, err = pkcs1.Prepare(ctx, src, p)
	return err
}

func formPKCS1(Input, *Options) Form {
	return Form{MediaType: "application/octet-stream", Extension: "sig"}
}

// errDigest: these formats need more of a document than its digest.
var errDigest = errors.New("a digest can be signed as CAdES or PKCS1 only")

// sniff chooses the reader of a document by its first bytes, and names its kind. The reader is nil
// if the kind can carry no signature; whether there is one is for the reader to decide.
func sniff(src ades.Source) (reader, Kind) {
	kind := kindOf(src)
	if kind == KindSMIME { // CMS in the form of a message
		return cades.ReadSMIME, kind
	}
	return formats[carriers[kind]].read, kind
}

// kindOf returns by the first bytes what kind of file this is, among those that can carry a
// signature. All containers and packages are KindZIP here, and all CMS is KindCMS.
func kindOf(src ades.Source) Kind {
	head := start(src, 1024)
	if len(head) > 0 && head[0] == cms.TagSequence { // CMS may contain any of the others unencoded
		if k := kindOfCMS(src); k != KindOther {
			return k
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return KindZIP // its first file may be an uncompressed PDF
	case message.Begins(head) && cades.IsSMIME(src):
		return KindSMIME
	case message.Begins(head) && message.Multipart(start(src, maxHeader)):
		return KindTimestampedData
	case bytes.Contains(head, []byte("%PDF-")):
		return KindPDF
	case xades.LooksLikeXML(src):
		return KindXML
	case jades.Detect(src) == jades.JWS: // jades.SDJWT is recognised by named, and not judged
		return KindJWS
	}
	return kindOfCMS(src)
}

// maxHeader is how much of a file is searched for the header of a message, to which every mail
// server on the way adds lines.
const maxHeader = 64 << 10

// start returns the first n bytes of a document, or nil if they cannot be read.
func start(src ades.Source, n int64) []byte {
	head := make([]byte, min(src.Size(), n))
	k, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return head[:k]
}

func kindOfCMS(src ades.Source) Kind {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return KindOther
	}
	switch cms.ContentType(bin) {
	case oid.SignedData:
		return KindCMS
	case oid.TimestampedData:
		return KindTimestampedData
	}
	if tsp.Extract(bin) != nil {
		return KindTimestamp
	}
	if truncated(bin) { // a time-stamp response begins the same way
		return KindCMS // the CMS reader reports what is wrong with it
	}
	return KindOther
}

// truncated recognises the beginning of a SignedData whose rest is missing or broken, so that a
// damaged signature is not taken for an unsigned file.
func truncated(src ades.Source) bool {
	head := make([]byte, min(src.Size(), 32))
	n, _ := src.ReadAt(head, 0)
	signedData := []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02}
	return n > 0 && head[0] == cms.TagSequence && bytes.Contains(head[:n], signedData)
}

// readTimestamp reads a token on its own, or a TimeStampedData. Detached content must equal the
// content that the TimeStampedData carries; if it carries none, the tokens are over the detached
// content.
func readTimestamp(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	if kindOf(src) == KindTimestamp {
		return tsp.ReadToken(src, r)
	}
	d, err := tsp.ReadData(src)
	if errors.Is(err, tsp.ErrNoToken) {
		return nil, ErrNotSigned // a message of another kind
	}
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
		same, err := cms.Equal(ctx, d.Content, f.Source)
		if err != nil {
			return nil, err
		}
		if !same {
			doc.Timestamps[0].ImprintIntact, doc.Content = ades.No, nil
		}
	}
	return doc, nil
}
