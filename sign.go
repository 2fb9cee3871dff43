package rogito

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

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

// Options say how to sign a document. Signing needs a certificate and a time; everything else has a
// useful zero value.
type Options struct {
	ades.SignParams

	// Format of the signature; if empty, it depends on the content: PAdES for a PDF, XAdES for XML,
	// CAdES for everything else, ASiC-E for several files.
	Format ades.Format
	// Level to reach; zero is B. From T on a Stamper is needed, from LT on a Gatherer.
	Level    ades.Level
	Stamper  ades.Stamper
	Gatherer ades.Gatherer
	// StampHash is the hash of the time-stamps; zero means that of the signature.
	StampHash crypto.Hash
	// ContentTimestamp has the Stamper time-stamp the content before it is signed, in CAdES, PAdES,
	// XAdES and containers.
	ContentTimestamp bool
	// VRI also stores the validation data of a PDF per signature (LTV).
	VRI bool
	// Parallel adds a signature beside the existing ones of a CMS file or a container, instead of
	// signing the file as it is. If the CMS file does not carry its content, that is given as a
	// second file.
	Parallel bool
	// Counter signs the signatures of a CMS file or a JWS instead of its content, one after the
	// other. A Draft needs one value for each.
	Counter bool

	// Options of single formats. If Format is set, options of other formats are refused; if the
	// content decides, those of the chosen format are used.
	CAdES cades.Options
	PAdES pades.Options
	XAdES xades.Options
	JAdES jades.Options
	ASiC  asic.Options

	// Memory bounds what the work on the document may hold or unpack beyond the document itself, in
	// bytes; zero means DefaultMemory. A document that needs more cannot be signed.
	Memory int64

	// Spool makes temporary storage for a document between two steps. Nil means memory up to 4 MiB,
	// and a temporary file beyond that.
	Spool func() Spool
}

// Spool holds a document between two steps.
type Spool interface {
	io.Writer
	// Source returns what was written.
	Source() ades.Source
}

// Signed is the result of signing. It was read again and checked: the signature is there, intact,
// covers what it should, and has the level asked for.
type Signed struct {
	Form
	// Profile that was reached; zero for formats without levels.
	Profile ades.Profile
	// Signature is the new one, with its time-stamps; Document has everything found in the
	// document. Their Content is not set.
	Signature *ades.Signature
	Document  *ades.Document
	// Anew says why a PDF was rewritten before it was signed: it could be read in more than one
	// way. The signed document then begins with the rewritten copy, not with the original. Empty if
	// it was not rewritten.
	Anew []string
	// Remarks are options that have no effect in this document; their codes are in
	// docs/findings.md.
	Remarks []ades.Problem
	// Source is the signed document if no writer was given: the content of the last Spool, or, for
	// a PDF, the original document followed by the signature. It is valid as long as these are.
	Source ades.Source
}

// Form describes the document that signing will produce.
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

// Sign signs a document with a local key, writes the signed document, and returns what it made.
// Without a writer, which requires an Options.Spool, the document stays in [Signed.Source] and is
// not copied. It is [SignWith] with that key:
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

// SignWith is Sign with a value from elsewhere. value is called with a draft that is ready to be
// signed, and again for every further value needed ([ErrSignAgain]). It is not called before
// everything that can be checked without the key is checked.
func SignWith(ctx context.Context, in Input, w io.Writer, o Options, value func(context.Context, *Draft) ([]byte, error)) (*Signed, error) {
	if w == nil && o.Spool == nil {
		return nil, errNoWriter
	}
	d, rest, release, err := limits.Keep(ctx, memoryOr(o.Memory), func(ctx context.Context) (*Draft, error) {
		d, err := prepare(ctx, in, o)
		if err == nil && (o.Level >= ades.LevelLT || o.Parallel) && d.form.InPlace {
			err = d.checkBudget(ctx)
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

// Draft is a document that lacks only its signature value.
type Draft struct {
	in     Input
	o      Options
	form   Form
	format format
	inner  ades.Draft
	raise  ades.AugmentOptions

	counter, signers int // index of the signature to counter-sign, and how many there are
	tries            int
	between          Spool // the document so far, where it is signed several times

	anew Spool    // a PDF that was rewritten
	why  []string // reasons why it was

	remarks []ades.Problem
}

// Prepare makes everything of a signature but its value. It also checks the preconditions of the
// level, so that no key is used for work that is bound to fail.
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
	if _, err := pkix.ParseCertificate(o.Certificate.Raw); err != nil {
		return nil, fmt.Errorf("prepare: signing certificate: %w", err) // the signature could not be read
	}
	if other := o.foreign(); other != "" {
		return nil, fmt.Errorf("prepare: options of %s were given for %s", other, o.Format)
	}
	o.Format = o.format(in.metered(ctx))
	d := &Draft{in: in, o: o, form: o.Form(in.metered(ctx)), format: formats[o.Format]}
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

// foreign names a format whose options were given although Format names another.
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

// checkBudget reads the document the way augmenting its new signature, or adding it beside others,
// will. A document that exceeds the budget is so refused before the key is used.
func (d *Draft) checkBudget(ctx context.Context) error {
	_, err := d.format.read(ctx, d.in.Files[0].Source, ades.ReadOptions{Password: d.raise.Password})
	if errors.Is(err, limits.ErrBudget) || ctx.Err() != nil {
		return err
	}
	return nil
}

func (d *Draft) prepare(ctx context.Context) error {
	o := &d.o
	d.raise = ades.AugmentOptions{Level: o.Level, Stamper: o.Stamper, Gatherer: o.Gatherer, VRI: o.VRI, Hash: cmp.Or(o.StampHash, o.Hash), Time: o.Time}
	if s := o.Stamper; o.ContentTimestamp {
		o.CAdES.ContentStamper, o.PAdES.ContentStamper, o.XAdES.ContentStamper, o.ASiC.ContentStamper = s, s, s, s
	}
	return d.format.prepare(ctx, d)
}

// prepareAgain prepares a document that has changed, with a fresh budget.
func (d *Draft) prepareAgain(ctx context.Context) error {
	return limits.Bounded(ctx, memoryOr(d.o.Memory), d.prepare)
}

// ToBeSigned returns what the signature is over (signed attributes, SignedInfo).
func (d *Draft) ToBeSigned() []byte { return d.inner.ToBeSigned() }

// Digest returns the digest of ToBeSigned, the input of an RSA or ECDSA key.
func (d *Draft) Digest() []byte { return d.inner.Digest() }

// Value signs the draft with a local key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	if key == nil {
		return nil, errors.New("value: no key")
	}
	return d.inner.Value(key)
}

// Errors of [Draft.Complete].
var (
	// ErrValue: the signature value does not verify with the certificate's key over the draft.
	// Nothing was written.
	ErrValue = errors.New("the signature value does not verify with the certificate")
	// ErrSignAgain: the draft changed and needs another value over its new Digest. This happens
	// when a signature with its time-stamp is larger than the space reserved in a PDF, and, with
	// Counter, when there is one more signature to sign.
	ErrSignAgain = errors.New("the draft wants another signature value")
	// ErrSelfCheck: the signed document does not verify. Nothing was written.
	ErrSelfCheck = errors.New("the signed document does not verify")
)

var (
	errNoCertificate = errors.New("sign: no signing certificate")
	errNoWriter      = errors.New("sign: neither a writer nor a Spool")
)

// maxTries bounds how often the space reserved in a PDF is enlarged.
const maxTries = 3

// Complete writes the signed document, augmented to the level asked for, and returns what it made.
// It refuses a value that does not verify with the signing certificate (ErrValue), since values may
// come from elsewhere. After ErrSignAgain the draft has to be signed and completed again. A nil
// writer leaves the document in Signed.Source.
func (d *Draft) Complete(ctx context.Context, w io.Writer, value []byte) (*Signed, error) {
	if w == nil && d.o.Spool == nil {
		return nil, errNoWriter
	}
	// At level B the check below reads the document at once, which verifies the value as well.
	// Checking it twice costs 2 % of a signature in the service with a P-256 key.
	first := d.raise.Level > ades.LevelB || d.signers > 0 || d.format.profile == nil
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
	if noRoom, ok := errors.AsType[*pades.NoRoomError](err); ok && d.tries < maxTries {
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

// finish makes the signed document at its level, in a spool or, if the format can, as a view of the
// source followed by an update.
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

// nextCounter inserts a counter-signature and prepares the next one.
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

// verify checks a value with the key of the certificate.
func (d *Draft) verify(value []byte) error {
	p := &d.o.SignParams
	scheme, err := cms.Scheme(p.Certificate.PublicKey, p.Digest(), p.PSS)
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

// check reads the signed document like any other and looks for our own signature: it must be
// present, intact, and at the level asked for. Other signatures in the document may be broken.
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
	case d.in.Digest != nil && d.format.profile != nil && own.ValueIntact != ades.Yes: // the content is not available
		return nil, fmt.Errorf("%w: the signature value is broken", ErrSelfCheck)
	case d.in.Digest == nil && own.Intact() != ades.Yes:
		return nil, fmt.Errorf("%w: %v", ErrSelfCheck, own.Problems)
	}
	for _, p := range own.Problems {
		if p.Fatal || p.Doubt { // the problem was in the given document, and would make the signed one invalid
			return nil, &ades.MalformedError{Format: string(d.form.Format), Where: p.Where, Err: fmt.Errorf("it would not be valid once signed: %s", p.Text)}
		}
	}
	signed := &Signed{Form: d.form, Signature: own, Document: doc, Anew: d.why, Remarks: d.remarks}
	if d.format.profile != nil {
		// A counter-signature has the level of the signature that contains it. Data for LT was
		// gathered, or signing would have failed earlier.
		signed.Profile = d.format.profile(top, doc, func(...[]byte) bool { return d.raise.Level >= ades.LevelLT })
		if err := d.checkLevel(signed.Profile); err != nil {
			return nil, err
		}
	}
	own.Content, doc.Content = nil, nil
	return signed, nil
}

// checkLevel makes sure that the level asked for was reached. A new signature beside old ones, or
// on one, may be of a pre-baseline form; that is an error only if a level was asked for.
func (d *Draft) checkLevel(p ades.Profile) error {
	switch {
	case p.Baseline && p.Level >= d.raise.Level, d.raise.Level == ades.LevelB && (!p.Baseline || d.o.Counter):
		return nil
	case d.o.CAdES.Embedded && d.raise.Level == ades.LevelT && p.Name == "CAdES-T": // the PDF that embeds it has the signing time
		return nil
	}
	return fmt.Errorf("%w: its level is %q, not %v", ErrSelfCheck, p.Name, d.raise.Level)
}

// withCounters lists a signature and its counter-signatures.
func withCounters(s *ades.Signature) []*ades.Signature {
	all := []*ades.Signature{s}
	for _, c := range s.CounterSignatures {
		all = append(all, withCounters(c)...)
	}
	return all
}

// BadDocument reports whether signing failed because of the document or the options: its form, its
// password, its permissions, a missing element or field, or its unpacked size. All other errors are
// operational.
func BadDocument(err error) bool {
	var malformed *ades.MalformedError
	return errors.As(err, &malformed) || slices.ContainsFunc([]error{
		limits.ErrBudget, ades.ErrPassword, ades.ErrNotFound, ErrNotSigned, pades.ErrForbidden, appearance.ErrImage,
		xades.ErrNotXML, xades.ErrBreaks, xades.ErrSelection, jades.ErrSeveral, jades.ErrCompact, jades.ErrClear,
	}, func(target error) bool { return errors.Is(err, target) })
}

// Augment raises the signatures of a document to a level: B to T to LT to LTA, and LTA again as
// algorithms and certificates age.
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

// format returns the format asked for, or the one that suits the content.
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
