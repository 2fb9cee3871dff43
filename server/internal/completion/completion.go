// Package completion writes the audit of a signature for people: a certificate
// that says what was signed, by whom, how they were identified, when, and what
// the signature is worth, with the course of events and a technical annex. As a
// PDF it carries the whole trail as an attached file and is sealed by the server.
package completion

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/sheet"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// Certificates makes them.
type Certificates struct {
	Signing  *signing.Service
	Enroll   *enroll.Service
	Verifier *rogito.Verifier
	// Seal is the server's own; Chain goes with it.
	Seal  func() (*x509.Certificate, crypto.Signer)
	Chain []*x509.Certificate
	// Stamper and Gatherer raise the seal to LTA.
	Stamper  ades.Stamper
	Gatherer ades.Gatherer
	// AuditKey is what checkpoints of the audit log are verified with.
	AuditKey string
	// Check is the address where people check the document.
	Check func(record string) string
	// Producer is the program and its version.
	Producer string
	Sandbox  bool
	Zone     *time.Location // of times; nil: by the language
	Spool    string         // folder for documents on their way
	Now      func() time.Time
	Log      *slog.Logger

	mu   sync.Mutex
	kept map[string]sealed
}

// sealed is a PDF that is handed out again for a while: asking twice does
// not spend two time-stamps more, which an authority may charge for.
type sealed struct {
	pdf   []byte
	until time.Time
}

const (
	keepSealed = 10 * time.Minute
	mostSealed = 32 << 20 // bytes of all of them
)

// Certificate is what is known of a record, at a moment.
type Certificate struct {
	of      *Certificates
	record  *ledger.Record
	entries []*audit.Entry
	signer  *enroll.Certificate // nil: it is not known any more
	proof   *enroll.Kept        // how they were identified; nil: nothing is kept
	report  *report.Report      // on the signed document as it is now; nil: there is none
	why     unchecked           // there is none
	made    time.Time
}

// unchecked is why a signed document was not checked again.
type unchecked int

const (
	isChecked unchecked = iota
	notSigned           // (yet)
	gone                // deleted at the end of its retention
	protected           // by a password, which is not kept
	bare                // a signature value without a certificate
)

// Of gathers what a certificate says of a record, whose audit the caller has.
func (c *Certificates) Of(ctx context.Context, r *ledger.Record, entries []*audit.Entry) (*Certificate, error) {
	out := &Certificate{of: c, record: r, entries: entries, made: c.Now()}
	var err error
	if out.signer, err = c.Enroll.Find(ctx, r.AccountID, r.CertificateID); err != nil {
		var f *fault.Error
		if !errors.As(err, &f) {
			return nil, err
		}
	}
	if out.signer != nil {
		if out.proof, err = c.Enroll.Identification(ctx, r.CertificateID); err != nil {
			return nil, err
		}
	}
	return out, out.verify(ctx)
}

// verify checks the signed document as anybody could, with the content that a
// detached signature is over.
func (c *Certificate) verify(ctx context.Context) error {
	r := c.record
	switch {
	case r.State != ledger.Done:
		c.why = notSigned
		return nil
	case r.Type == request.PKCS1:
		c.why = bare
		return nil
	}
	spool := upload.New(c.of.Spool, upload.Limits{})
	defer spool.Close()
	read := func(f *ledger.File) (ades.Source, error) {
		w := spool.Write()
		there, err := c.of.Signing.Copy(ctx, r, f, w)
		if err != nil || !there {
			return nil, err
		}
		return w.Source(), nil
	}
	signed, err := read(r.Signed)
	if err != nil {
		return err
	}
	if signed == nil {
		c.why = gone
		return nil
	}
	o := rogito.VerifyOptions{Recursive: r.Options.Batch || r.ByPeople() && r.Documents() > 1}
	if r.Options.Detached && !r.Options.Batch {
		files := append([]*ledger.File{r.Validated}, r.Inputs...)
		together := r.Type == request.JAdES && len(r.Inputs) > 1 // what was validated is an archive of them
		if together {
			files = r.Inputs
		}
		for _, f := range files {
			src, err := read(f)
			if err != nil {
				return err
			}
			if src != nil {
				o.Detached = append(o.Detached, ades.File{Name: nameOf(f), Source: src})
			}
			if src != nil && !together {
				break
			}
		}
	}
	c.report, err = c.of.Verifier.Verify(ctx, signed, o)
	if errors.Is(err, ades.ErrPassword) {
		c.report, c.why = nil, protected
		return nil
	}
	if err != nil {
		return fmt.Errorf("completion: %w", err)
	}
	c.report.Source = nil // it goes with the spool
	return nil
}

// PDF writes the certificate, with the trail attached to it, and seals it: at
// LTA, or, where time-stamps or revocation data cannot be had, at B.
func (c *Certificate) PDF(ctx context.Context, lang paper.Lang, trail []byte) ([]byte, error) {
	v := c.view(lang)
	key := fmt.Sprintf("%s %s %s %x", c.record.AccountID, lang, v.Word, sha256.Sum256(trail))
	if b := c.of.again(key); b != nil {
		return b, nil
	}
	b, err := v.pdf(trail)
	if err != nil {
		return nil, err
	}
	out, err := c.seal(ctx, b, lang, ades.LevelLTA)
	if err != nil && ctx.Err() == nil {
		c.of.Log.WarnContext(ctx, "a certificate of completion is sealed without a time-stamp", "record", c.record.ID, "error", err)
		out, err = c.seal(ctx, b, lang, ades.LevelB)
	}
	if err != nil {
		return nil, fmt.Errorf("completion: seal: %w", err)
	}
	c.of.keep(key, out)
	return out, nil
}

func (c *Certificates) again(key string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.kept[key]; ok && c.Now().Before(s.until) {
		return s.pdf
	}
	return nil
}

func (c *Certificates) keep(key string, pdf []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.kept, func(_ string, s sealed) bool { return !c.Now().Before(s.until) })
	size := len(pdf)
	for _, s := range c.kept {
		size += len(s.pdf)
	}
	if c.kept == nil || size > mostSealed {
		c.kept = map[string]sealed{}
	}
	if len(pdf) <= mostSealed {
		c.kept[key] = sealed{pdf, c.Now().Add(keepSealed)}
	}
}

func (c *Certificate) seal(ctx context.Context, b []byte, lang paper.Lang, level ades.Level) ([]byte, error) {
	return c.of.seal(ctx, b, c.made, level, c.of.box(lang))
}

// box is where the seal is put on papers of the server's own.
func (c *Certificates) box(lang paper.Lang) *pades.Appearance {
	return &pades.Appearance{
		Page: 1, X: sheet.SealX, Y: sheet.SealY, Width: sheet.SealWidth, Height: sheet.SealHeight, Language: string(lang), Zone: lang.Zone(c.Zone),
	}
}

// SealReport puts the seal on the report of a verification: at B, for a time-stamp
// may cost money, and anybody can have the document verified again.
func (c *Certificates) SealReport(ctx context.Context, pdf []byte, lang paper.Lang) ([]byte, error) {
	out, err := c.seal(ctx, pdf, c.Now(), ades.LevelB, c.box(lang))
	if err != nil {
		return nil, fmt.Errorf("seal a report: %w", err)
	}
	return out, nil
}

// SealJSON puts the seal on a report in JSON, as JAdES.
func (c *Certificates) SealJSON(ctx context.Context, text []byte) ([]byte, error) {
	cert, key := c.Seal()
	const name = "report.json"
	var out bytes.Buffer
	_, err := rogito.Sign(ctx, rogito.File(name, bytes.NewReader(text)), &out, key, rogito.Options{
		SignParams: ades.SignParams{Certificate: cert, Chain: c.Chain, Time: c.Now()},
		Format:     ades.JAdES, JAdES: jades.Options{MediaTypes: map[string]string{name: "application/json"}},
	})
	if err != nil {
		return nil, fmt.Errorf("seal a report: %w", err)
	}
	return out.Bytes(), nil
}

// seal signs a PDF of the server's own, which nobody may change from then on.
func (c *Certificates) seal(ctx context.Context, pdf []byte, at time.Time, level ades.Level, look *pades.Appearance) ([]byte, error) {
	cert, key := c.Seal()
	var out bytes.Buffer
	_, err := rogito.Sign(ctx, rogito.File("report.pdf", bytes.NewReader(pdf)), &out, key, rogito.Options{
		SignParams: ades.SignParams{Certificate: cert, Chain: c.Chain, Time: at},
		Format:     ades.PAdES, Level: level, Stamper: c.Stamper, Gatherer: c.Gatherer,
		PAdES: pades.Options{Certify: 1, Appearance: look},
	})
	return out.Bytes(), err
}

// HTML writes the certificate as a page of its own.
func (c *Certificate) HTML(w io.Writer, lang paper.Lang) error {
	return pageTemplate().ExecuteTemplate(w, "completion", c.view(lang))
}
