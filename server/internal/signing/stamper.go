package signing

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/tsp"
)

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
	own := NewStamper(x.guard.Client(stampTimeout), tsp.Server{URL: o.TimestampURL, Username: o.TimestampUser, Password: x.secrets.TimestampPassword})
	own.Observe = x.config.OwnStamp
	return markedStamper{own}
}

// NewStamper asks authorities over a guarded client: five seconds a try, three
// tries, a clock within a minute of ours.
func NewStamper(client *http.Client, servers ...tsp.Server) *tsp.Client {
	return &tsp.Client{Servers: servers, HTTP: client, Timeout: stampTimeout, Retries: 2, Skew: stampSkew}
}

// raisingRefusal separates a time-stamp that could not be obtained from revocation data that could
// not.
func raisingRefusal(err error) error {
	var stamp *stampError
	var missing *ades.MissingError
	switch {
	case errors.As(err, &stamp):
		return &ledger.Refusal{Number: fault.TimestampFailed, Text: "the time-stamp authority failed: " + stamp.plain(), Err: err}
	case errors.As(err, &missing):
		return &ledger.Refusal{Number: fault.RevocationMissing, Text: "revocation data for the level cannot be had: " + documents.ClipTo(missing.Error(), 300), Err: err}
	}
	return err
}
