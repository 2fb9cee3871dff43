package rogito

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/xades"
)

// Options say how a document is to be signed. Signing needs a certificate and
// a time; everything else has a useful zero value.
type Options struct {
	ades.SignParams

	// Format of the signature; empty means by content: PAdES for a PDF, XAdES
	// for XML, CAdES for everything else, ASiC-E for several files.
	Format ades.Format
	// Level to be reached; zero is B. From T on a Stamper is needed, from LT on
	// a Gatherer.
	Level    ades.Level
	Stamper  ades.Stamper
	Gatherer ades.Gatherer
	// StampHash is the hash of the time-stamps; zero means that of the signature.
	StampHash crypto.Hash
	// ContentTimestamp has the Stamper time-stamp the content before it is signed,
	// in CAdES, PAdES, XAdES and containers.
	ContentTimestamp bool
	// VRI files the validation data of a PDF under each signature as well (LTV).
	VRI bool
	// Parallel adds a signature beside those in a CMS file or a container, in
	// place of signing the file as it is. Content that such a CMS file does not
	// carry is given as a second file.
	Parallel bool
	// Counter signs the signatures of a CMS file or a JWS in place of its content:
	// each of them, one after the other. A Draft wants as many values.
	Counter bool

	// What only one format knows. Where Format names one, options of another are
	// refused; where the content decides, those of the format that suits count.
	CAdES cades.Options
	PAdES pades.Options
	XAdES xades.Options
	JAdES jades.Options
	ASiC  asic.Options

	// Memory bounds what the work on the document may hold or unpack beyond the
	// document itself, in bytes; zero means DefaultMemory. One that needs more
	// cannot be signed.
	Memory int64

	// Spool makes a place for a document between two steps. Nil keeps it in memory
	// up to 4 MiB and in a temporary file from there on.
	Spool func() Spool
}

// Spool holds a document between two steps.
type Spool interface {
	io.Writer
	// Source is what was written.
	Source() ades.Source
}

// Signed is what was made. It was read again and checked: the signature is
// there, intact, over what it should be over, and at the level asked for.
type Signed struct {
	Form
	// Level that was reached; B where there are no levels.
	Level ades.Level
	// Profile as reports name it ("PAdES-BASELINE-LT"); empty where there is none.
	Profile string
	// Signature is the new one, with its time-stamps; Document is all that was
	// found in the document. Their Content is left out.
	Signature *ades.Signature
	Document  *ades.Document
	// Anew says why a PDF was written anew before it was signed, as it could be read
	// in more than one way; empty: it was not. The signed document then begins with
	// the copy, and not with what was given.
	Anew []string
	// Remarks are what was asked for and does nothing in this document; their codes are
	// in docs/findings.md.
	Remarks []ades.Problem
	// Source is the signed document where no writer was given: what is in the last
	// Spool that was made, or, of a PDF, the document that was given with the
	// signature behind it. It is good as long as these are.
	Source ades.Source
}

// Form of the document that signing will make, known before it is made.
func (o Options) Form(in Input) Form {
	o.Format = o.format(in)
	f := formats[o.Format]
	if f.form == nil {
		return Form{Format: o.Format}
	}
	form := f.form(in, &o)
	form.Format = o.Format
	return form
}

// Sign signs a document with a key at hand, writes the signed document, and
// returns what it made. Without a writer, which takes an Options.Spool, the
// document is left in [Signed.Source] and no copy is made of it. It is [SignWith] with that key:
//
//	Prepare   document → digest
//	Value     digest → signature value
//	Complete  value → signed document, B → T → LT → LTA, read again and checked
func Sign(ctx context.Context, in Input, w io.Writer, key crypto.Signer, o Options) (*Signed, error) {
	switch {
	case o.Certificate == nil:
		return nil, errNoCertificate
	case key == nil:
		return nil, errors.New("sign: no key")
	}
	if pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !pub.Equal(o.Certificate.PublicKey) {
		return nil, errors.New("sign: the key is not that of the certificate")
	}
	return SignWith(ctx, in, w, o, func(_ context.Context, d *Draft) ([]byte, error) { return d.Value(key) })
}

// SignWith is Sign where the value comes from elsewhere. The function is called
// with a draft that is ready to be signed, and once more for every further
// value that is wanted ([ErrSignAgain]). Nothing of it runs before everything
// that can be checked without the key is checked.
func SignWith(ctx context.Context, in Input, w io.Writer, o Options, value func(context.Context, *Draft) ([]byte, error)) (*Signed, error) {
	if w == nil && o.Spool == nil {
		return nil, errNoWriter
	}
	d, rest, release, err := limits.Keep(ctx, memoryOr(o.Memory), func(ctx context.Context) (*Draft, error) {
		d, err := prepare(ctx, in, o)
		if err == nil && (o.Level >= ades.LevelLT || o.Parallel) && d.form.InPlace {
			err = d.measure(ctx)
		}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	defer release()
	ctx = rest
	for {
		v, err := value(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("sign: %w", err)
		}
		signed, err := d.Complete(ctx, w, v)
		if !errors.Is(err, ErrSignAgain) {
			return signed, err
		}
	}
}

// Draft is a document that wants only its signature value.
type Draft struct {
	in     Input
	o      Options
	form   Form
	format format
	inner  ades.Draft
	raise  ades.AugmentOptions

	counter, signers int // which of so many signatures is counter-signed
	tries            int
	between          Spool // the document so far, where it is signed several times

	anew Spool    // a PDF that was written anew
	why  []string // it was

	remarks []ades.Problem
}

// Prepare makes everything of a signature but its value. What the level needs
// has to be there: nothing that can be known before stops the work after a key
// was used.
func Prepare(ctx context.Context, in Input, o Options) (d *Draft, err error) {
	err = limits.Bounded(ctx, memoryOr(o.Memory), func(ctx context.Context) error {
		d, err = prepare(ctx, in, o)
		return err
	})
	return d, err
}

func prepare(ctx context.Context, in Input, o Options) (*Draft, error) {
	if len(in.Files) == 0 && in.Digest == nil {
		return nil, errors.New("prepare: no document")
	}
	if o.Certificate == nil {
		return nil, errNoCertificate
	}
	if other := o.foreign(); other != "" {
		return nil, fmt.Errorf("prepare: options of %s were given for %s", other, o.Format)
	}
	o.Format = o.format(in.paying(ctx))
	d := &Draft{in: in, o: o, form: o.Form(in.paying(ctx)), format: formats[o.Format]}
	switch {
	case d.format.prepare == nil:
		return nil, fmt.Errorf("prepare: format %q cannot be made", o.Format)
	case d.format.augment == nil && o.Level > ades.LevelB:
		return nil, fmt.Errorf("prepare: %s has no level above B", o.Format)
	case o.Level >= ades.LevelT && o.Stamper == nil:
		return nil, fmt.Errorf("prepare: level %v needs a Stamper", o.Level)
	case o.ContentTimestamp && o.Stamper == nil:
		return nil, errors.New("prepare: a time-stamp of the content needs a Stamper")
	case o.ContentTimestamp && (o.Counter || in.Digest != nil || o.Format == ades.JAdES || o.Format == ades.PKCS1):
		return nil, fmt.Errorf("prepare: the content of %s cannot be time-stamped so", o.Format)
	case o.Level >= ades.LevelLT && o.Gatherer == nil:
		return nil, fmt.Errorf("prepare: level %v needs a Gatherer", o.Level)
	}
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// foreign is a format whose options were given though Format names another.
func (o *Options) foreign() string {
	for _, c := range []struct {
		name    string
		options any
		of      []ades.Format
	}{
		{"CAdES", o.CAdES, []ades.Format{ades.CAdES}},
		{"PAdES", o.PAdES, []ades.Format{ades.PAdES}},
		{"XAdES", o.XAdES, []ades.Format{ades.XAdES}},
		{"JAdES", o.JAdES, []ades.Format{ades.JAdES}},
		{"ASiC", o.ASiC, []ades.Format{ades.ASiCS, ades.ASiCE}},
	} {
		if o.Format != "" && !slices.Contains(c.of, o.Format) && !reflect.ValueOf(c.options).IsZero() {
			return c.name
		}
	}
	return ""
}

// measure reads the document as raising its new signature, or putting it beside
// others, will: what that takes is known, and a document that takes too much is
// refused, before the key is used.
func (d *Draft) measure(ctx context.Context) error {
	_, err := d.format.read(ctx, d.in.Files[0].Source, ades.ReadOptions{Password: d.raise.Password})
	if errors.Is(err, limits.ErrBudget) || ctx.Err() != nil {
		return err
	}
	return nil
}

func (d *Draft) prepare(ctx context.Context) error {
	o := &d.o
	d.raise = ades.AugmentOptions{Level: o.Level, Stamper: o.Stamper, Gatherer: o.Gatherer, VRI: o.VRI, Hash: o.StampHash, Time: o.Time}
	if o.StampHash == 0 {
		d.raise.Hash = o.Hash
	}
	return d.format.prepare(ctx, d)
}

// prepareAgain prepares a document that has changed, with a budget as at first.
func (d *Draft) prepareAgain(ctx context.Context) error {
	return limits.Bounded(ctx, memoryOr(d.o.Memory), d.prepare)
}

// ToBeSigned is what the signature is over (signed attributes, SignedInfo).
func (d *Draft) ToBeSigned() []byte { return d.inner.ToBeSigned() }

// Digest of ToBeSigned: what an RSA or ECDSA key is given.
func (d *Draft) Digest() []byte { return d.inner.Digest() }

// Value has a key that is at hand sign the draft.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	if key == nil {
		return nil, errors.New("value: no key")
	}
	return d.inner.Value(key)
}

// Errors of the second half.
var (
	// ErrValue says that a signature value is not one of the certificate's key
	// over the draft. Nothing was written.
	ErrValue = errors.New("the signature value does not verify with the certificate")
	// ErrSignAgain says that the draft changed and wants another value: its
	// Digest is a new one. It comes when a signature with its time-stamp is
	// larger than the place kept for it in a PDF, and, with Counter, when there
	// is one more signature to sign.
	ErrSignAgain = errors.New("the draft wants another signature value")
	// ErrSelfCheck says that what was made does not verify. Nothing was written.
	ErrSelfCheck = errors.New("the signed document does not verify")
)

var (
	errNoCertificate = errors.New("sign: no signing certificate")
	errNoWriter      = errors.New("sign: neither a writer nor a Spool")
)

// maxTries bounds how often a place that is too small is made larger.
const maxTries = 3

// Complete writes the signed document, raised to the level that was asked for,
// and returns what it made. A value that does not verify with the signing
// certificate is refused with ErrValue: it came from elsewhere, and a broken
// signature helps nobody. After ErrSignAgain the draft is to be signed and
// completed once more. A nil writer leaves the document in Signed.Source.
func (d *Draft) Complete(ctx context.Context, w io.Writer, value []byte) (*Signed, error) {
	if w == nil && d.o.Spool == nil {
		return nil, errNoWriter
	}
	// At level B the document is read again at once, which checks the value: a
	// second check costs 2 % of a signature in the service with a P-256 key.
	first := d.raise.Level > ades.LevelB || d.signers > 0 || d.format.level == nil
	if first {
		if err := d.verify(value); err != nil {
			return nil, fmt.Errorf("complete: %w", err)
		}
	}
	signed, err := d.complete(ctx, w, value)
	if err != nil && !first {
		if wrong := d.verify(value); wrong != nil {
			return nil, fmt.Errorf("complete: %w", wrong)
		}
	}
	return signed, err
}

func (d *Draft) complete(ctx context.Context, w io.Writer, value []byte) (*Signed, error) {
	if d.counter+1 < d.signers {
		return nil, d.nextCounter(ctx, value)
	}
	src, out, err := d.finish(ctx, value)
	defer discard(out)
	var noRoom *pades.NoRoomError
	if errors.As(err, &noRoom) && d.tries < maxTries {
		d.tries++
		d.o.PAdES.Reserve = noRoom.Need + noRoom.Need/8
		if err := d.prepareAgain(ctx); err != nil {
			return nil, err
		}
		return nil, ErrSignAgain
	}
	if err != nil {
		return nil, err
	}
	signed, err := d.check(ctx, src)
	if err != nil {
		return nil, err
	}
	if w == nil {
		signed.Source = src
		return signed, nil
	}
	if err := cms.Copy(w, src); err != nil {
		return nil, fmt.Errorf("complete: write document: %w", err)
	}
	discard(d.anew)
	return signed, nil
}

// finish makes the signed document at its level, in a spool, or as a view of the
// source with an update behind it, where the format can.
func (d *Draft) finish(ctx context.Context, value []byte) (ades.Source, Spool, error) {
	if p, ok := d.inner.(*pades.Draft); ok {
		src, err := p.Complete(ctx, value, d.raise)
		return src, nil, err
	}
	b := d.spool()
	if err := d.inner.Finish(b, value); err != nil || d.raise.Level == ades.LevelB {
		return b.Source(), b, err
	}
	defer discard(b)
	out := d.spool()
	err := d.format.augment(ctx, b.Source(), out, d.raise)
	return out.Source(), out, err
}

// nextCounter puts a counter-signature into its place and turns to the next.
func (d *Draft) nextCounter(ctx context.Context, value []byte) error {
	next := d.spool()
	if err := d.inner.Finish(next, value); err != nil {
		return err
	}
	discard(d.between)
	d.between = next
	d.in.Files = append([]ades.File{{Name: d.in.Files[0].Name, Source: next.Source()}}, d.in.Files[1:]...)
	d.counter++
	if err := d.prepareAgain(ctx); err != nil {
		return err
	}
	return ErrSignAgain
}

func (d *Draft) spool() Spool {
	if d.o.Spool != nil {
		return d.o.Spool()
	}
	return new(spool)
}

// verify holds a value against the certificate.
func (d *Draft) verify(value []byte) error {
	p := &d.o.SignParams
	alg, err := cms.SignatureAlgorithm(p.Certificate.PublicKey, p.Digest(), p.PSS)
	if err != nil {
		return err
	}
	id, err := pkix.ParseAlgorithmIdentifier(alg)
	if err != nil {
		return err
	}
	scheme, err := pkix.SchemeOf(id, p.Digest())
	if err != nil {
		return err
	}
	if scheme.Hash == 0 {
		err = scheme.Verify(p.Certificate.PublicKey, d.ToBeSigned(), value)
	} else {
		err = scheme.VerifyDigest(p.Certificate.PublicKey, d.Digest(), value)
	}
	if err != nil {
		return ErrValue
	}
	return nil
}

// check reads the signed document as a stranger's and looks for our own
// signature: it must be there, be intact, and have the level asked for. Whether
// others in the document are intact is not our doing.
func (d *Draft) check(ctx context.Context, src ades.Source) (*Signed, error) {
	var doc *ades.Document
	err := limits.Bounded(ctx, memoryOr(d.o.Memory), func(ctx context.Context) (err error) {
		doc, err = d.format.read(ctx, src, ades.ReadOptions{Detached: d.raise.Detached, Password: d.raise.Password, Bare: &d.o.SignParams})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSelfCheck, err)
	}
	var own, top *ades.Signature
	for _, s := range doc.Signatures {
		for _, one := range withCounters(s) {
			if bytes.Equal(one.SigningCertificate, d.o.Certificate.Raw) && (d.ToBeSigned() == nil || one.ToBeSigned == nil || bytes.Equal(one.ToBeSigned, d.ToBeSigned())) {
				own, top = one, s
			}
		}
	}
	switch {
	case own == nil:
		return nil, fmt.Errorf("%w: the new signature is not in it", ErrSelfCheck)
	case d.in.Digest != nil && d.format.level != nil && own.ValueIntact != ades.Yes: // the content is not at hand
		return nil, fmt.Errorf("%w: the signature value is broken", ErrSelfCheck)
	case d.in.Digest == nil && own.Intact() != ades.Yes:
		return nil, fmt.Errorf("%w: %v", ErrSelfCheck, own.Problems)
	}
	for _, p := range own.Problems {
		if p.Fatal || p.Doubt { // in the document that was given: no verifier should call it valid
			return nil, &ades.MalformedError{Format: string(d.form.Format), Where: p.Where, Err: fmt.Errorf("it would not be valid once signed: %s", p.Text)}
		}
	}
	signed := &Signed{Form: d.form, Signature: own, Document: doc, Anew: d.why, Remarks: d.remarks}
	if d.format.level != nil {
		// A counter-signature has the level of the signature that it is in. What
		// LT needs was gathered, or the work would have ended there.
		signed.Profile = d.format.level(top, doc, func(...[]byte) bool { return d.raise.Level >= ades.LevelLT })
		if err := d.checkLevel(signed); err != nil {
			return nil, err
		}
	}
	own.Content, doc.Content = nil, nil
	return signed, nil
}

// checkLevel makes sure that the level asked for was reached. A new signature
// beside old ones, or on one, may be of a form older than the baseline; that
// counts only where a level was asked for.
func (d *Draft) checkLevel(signed *Signed) (err error) {
	_, name, baseline := strings.Cut(signed.Profile, "BASELINE-")
	if baseline {
		if signed.Level, err = ades.ParseLevel(name); err != nil {
			return fmt.Errorf("%w: %w", ErrSelfCheck, err)
		}
	}
	switch {
	case baseline && signed.Level >= d.raise.Level, d.raise.Level == ades.LevelB && (!baseline || d.o.Counter):
		return nil
	case d.o.CAdES.Embedded && d.raise.Level == ades.LevelT && signed.Profile == "CAdES-T": // the signing time stands in the PDF that will hold it
		signed.Level = ades.LevelT
		return nil
	}
	return fmt.Errorf("%w: its level is %q, not %v", ErrSelfCheck, signed.Profile, d.raise.Level)
}

// withCounters lists a signature and those on it.
func withCounters(s *ades.Signature) []*ades.Signature {
	all := []*ades.Signature{s}
	for _, c := range s.CounterSignatures {
		all = append(all, withCounters(c)...)
	}
	return all
}

// BadDocument says whether the document, or what was asked of it, is why it
// could not be signed: its form, its password, its permissions, an element or
// field that is not there, more than it may unpack to. Everything else is an accident.
func BadDocument(err error) bool {
	var malformed *ades.MalformedError
	return errors.As(err, &malformed) || slices.ContainsFunc([]error{
		limits.ErrBudget, ades.ErrPassword, ades.ErrNotFound, ErrNotSigned, pades.ErrForbidden, appearance.ErrImage,
		xades.ErrNotXML, xades.ErrBreaks, xades.ErrSelection, jades.ErrSeveral, jades.ErrCompact, jades.ErrClear,
	}, func(target error) bool { return errors.Is(err, target) })
}

// Augment raises the signatures of a document to a level: B to T to LT to LTA,
// and LTA again and again as algorithms and certificates age.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	kind := kindOf(src)
	augment := formats[carriers[kind]].augment
	if augment == nil {
		return fmt.Errorf("augment: a file of the kind %q cannot be raised", kind)
	}
	if limits.BudgetOf(ctx) == nil {
		ctx = limits.WithBudget(ctx, limits.NewBudget(DefaultMemory))
	}
	return augment(ctx, src, w, r)
}

// format is the one asked for, or the one that suits the content.
func (o Options) format(in Input) ades.Format {
	switch {
	case o.Format != "":
		return o.Format
	case len(in.Files) == 0:
		return ades.CAdES
	case o.Counter && kindOf(in.Files[0].Source) == KindJWS:
		return ades.JAdES
	case o.Counter:
		return ades.CAdES
	case len(in.Files) > 1 && !o.Parallel:
		return ades.ASiCE
	}
	switch kindOf(in.Files[0].Source) {
	case KindPDF:
		return ades.PAdES
	case KindXML:
		if isXML(in.Files[0].Source) {
			return ades.XAdES
		}
	}
	return ades.CAdES
}
