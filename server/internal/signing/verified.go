package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/tsp"
)

// errBroken says that what we made does not verify: it is thrown away, and the
// record never DONE.
var errBroken = errors.New("signing: the signed document does not verify")

type leveler func(s *ades.Signature, doc *ades.Document, complete func(certs ...[]byte) bool) string

// verified looks for our own signature in what was made: it must be there, be
// intact, and cover what it should. Whether others in the document are is not
// our doing.
func (m *maker) verified(src ades.Source, out media, doc *ades.Document, level leveler) (*made, error) {
	var mine *ades.Signature
	for _, s := range flat(doc.Signatures) {
		if bytes.Equal(s.SigningCertificate, m.cert.DER) && (mine == nil || !s.ClaimedTime.Before(mine.ClaimedTime)) {
			mine = s
		}
	}
	if mine == nil {
		return nil, fmt.Errorf("%w: our signature is not in it", errBroken)
	}
	if m.overDigest() {
		if mine.ValueIntact != ades.Yes {
			return nil, errBroken
		}
	} else if mine.Intact() != ades.Yes {
		return nil, fmt.Errorf("%w: %v", errBroken, mine.Problems)
	}
	// A counter-signature lives in the signature it is on: that one is raised,
	// and its level is the document's. Whatever LT needs was gathered, or the work
	// would have ended there.
	name := level(outermost(doc.Signatures, mine), doc, func(...[]byte) bool { return m.raising.Level >= ades.LevelLT })
	_, short, _ := strings.Cut(name, "BASELINE-")
	return &made{src: src, media: out, level: short, sig: mine, doc: doc}, nil
}

// outermost is the signature of the document that holds s, maybe s itself.
func outermost(sigs []*ades.Signature, s *ades.Signature) *ades.Signature {
	for _, top := range sigs {
		if slices.Contains(flat([]*ades.Signature{top}), s) {
			return top
		}
	}
	return s
}

// overDigest says that the content is not at hand, only its digest.
func (m *maker) overDigest() bool { return m.item.digest != nil }

func flat(sigs []*ades.Signature) []*ades.Signature {
	var all []*ades.Signature
	for _, s := range sigs {
		all = append(append(all, s), flat(s.CounterSignatures)...)
	}
	return all
}

// checkLevel makes sure that what was asked for was reached.
func (m *maker) checkLevel(out *made) error {
	if m.record.Options.Counter && !m.raise {
		return nil
	}
	want := m.raising.Level.String()
	reached := slices.Index(levels, out.level)
	if out.level != "" && reached >= slices.Index(levels, want) {
		return nil
	}
	if out.level == "" && !m.raise {
		return nil // a form older than the baseline, over an older file
	}
	return fmt.Errorf("%w: level %q, not %s", errBroken, out.level, want)
}

func checkSignature(cert *x509.Certificate, h crypto.Hash, digest, value []byte) error {
	good := false
	switch k := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		good = rsa.VerifyPKCS1v15(k, h, digest, value) == nil
	case *ecdsa.PublicKey:
		good = ecdsa.VerifyASN1(k, digest, value)
	}
	if !good {
		return errBroken
	}
	return nil
}

// stampError marks what went wrong with a time-stamp, wherever it surfaces.
type stampError struct{ err error }

func (e *stampError) Error() string { return "time-stamp: " + e.err.Error() }
func (e *stampError) Unwrap() error { return e.err }

// plain is what the caller may read: never an address or a password.
func (e *stampError) plain() string {
	var status *tsp.StatusError
	var t interface{ Timeout() bool }
	switch {
	case errors.As(e.err, &status):
		return "it refused the request"
	case errors.As(e.err, &t) && t.Timeout(), errors.Is(e.err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "it could not be reached, or its token is not good"
}

type markedStamper struct{ next ades.Stamper }

func (s markedStamper) Stamp(ctx context.Context, h crypto.Hash, digest []byte) ([]byte, error) {
	token, err := s.next.Stamp(ctx, h, digest)
	if err != nil {
		return nil, &stampError{err}
	}
	return token, nil
}

const (
	stampTimeout = 5 * time.Second
	stampSkew    = time.Minute
)

// stamper is the caller's time-stamp authority, or the configured one.
func (x *run) stamper() ades.Stamper {
	o := &x.record.Options
	if o.TimestampURL == "" {
		return markedStamper{x.config.Stamper}
	}
	return markedStamper{NewStamper(x.guard.Client(stampTimeout), tsp.Server{URL: o.TimestampURL, Username: o.TimestampUser, Password: x.secrets.TimestampPassword})}
}

// NewStamper asks authorities over a guarded client: five seconds a try, three
// tries, a clock within a minute of ours.
func NewStamper(client *http.Client, servers ...tsp.Server) ades.Stamper {
	return &tsp.Client{Servers: servers, HTTP: client, Timeout: stampTimeout, Retries: 2, Skew: stampSkew}
}
