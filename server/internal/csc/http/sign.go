package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// atOnce is how many signatures of one request are made side by side.
const atOnce = 8

// maxValue bounds a signature value in bytes.
const maxValue = 4096

// signHash signs digests (11.10).
func (s *Service) signHash(ctx context.Context, c *call) (object, error) {
	cert, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	secret, err := c.activation()
	if err != nil {
		return nil, err
	}
	hashes, oid, err := c.hashes()
	if err != nil {
		return nil, err
	}
	signAlgo, err := c.must("signAlgo")
	if err != nil {
		return nil, err
	}
	if err := c.plain(); err != nil {
		return nil, err
	}
	hashName := c.own("hashAlgo", "hashAlgorithmOID")[0]
	size, err := hashFor(keyType(cert.Algorithm), signAlgo, oid, hashName)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, missing("string", hashName)
	}
	jobs := make([]job, len(hashes))
	for i, h := range hashes {
		if len(h) != size {
			return nil, cscserver.Invalid("Invalid digest value length")
		}
		jobs[i] = digestJob(h, request.PKCS1, request.DefaultOptions())
		jobs[i].wanted = cscserver.Exactly(h)
	}
	values, err := s.sign(ctx, c, cert.ID, secret, jobs, maxValue)
	if err != nil {
		return nil, err
	}
	return object{"signatures": values}, nil
}

// activation is the SAD of a request: the parameter, or a bearer that is one.
func (c *call) activation() (string, error) {
	secret, err := c.text("SAD")
	if err != nil {
		return "", err
	}
	if secret == "" && c.bearer.Scope == cscserver.ScopeCredential {
		_, secret, _ = strings.Cut(c.secret, " ")
		return strings.TrimSpace(secret), nil
	}
	if secret == "" {
		return "", missing("string", "SAD")
	}
	return secret, nil
}

// plain refuses what is not offered: answers that come later, and parameters of
// algorithms, of which none here has any.
func (c *call) plain() error {
	mode, err := c.text("operationMode")
	if err != nil || mode != "" && mode != "S" {
		return cscserver.Invalid("Invalid parameter operationMode")
	}
	if params, err := c.text("signAlgoParams"); err != nil || params != "" && params != derNull {
		return cscserver.Invalid("Invalid parameter signAlgoParams")
	}
	return nil
}

// derNull is the NULL for absent parameters (RFC 4055, 2.1), in base64.
const derNull = "BQA="

// job is one signature that is wanted.
type job struct {
	req    *request.Request
	wanted cscserver.Wanted
}

// digestJob signs a digest.
func digestJob(h []byte, format request.SignatureType, o request.Options) job {
	in, hash := request.DigestInput(h)
	o.Asked, o.Hash = format, hash
	return job{req: &request.Request{Inputs: []request.Input{in}, Type: format, Options: o}}
}

// sign takes the hashes out of the SAD, has each job done as a record of its own,
// and returns what was signed, in order. Nothing is returned before it is written
// down that each hash was used.
func (s *Service) sign(ctx context.Context, c *call, certificate, secret string, jobs []job, most int64) ([][]byte, error) {
	wanted := make([]cscserver.Wanted, len(jobs))
	for i, j := range jobs {
		wanted[i] = j.wanted
	}
	r, err := s.Auth.Reserve(ctx, c.bearer, certificate, secret, wanted)
	if err != nil {
		return nil, err
	}
	from := signer(ctx)
	outcomes, values, errs := make([]cscserver.Outcome, len(jobs)), make([][]byte, len(jobs)), make([]error, len(jobs))
	for i, h := range r.Hashes { // what is not tried stays as it was
		outcomes[i] = cscserver.Outcome{Record: h.Record, Waiting: h.Record != ""}
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var wait sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i := range jobs {
		turn <- struct{}{}
		wait.Go(func() {
			defer func() { <-turn }()
			if stop.Err() != nil {
				errs[i] = context.Cause(stop)
				return
			}
			outcomes[i], values[i], errs[i] = s.guarded(ctx, from, r, i, jobs[i], most)
			if errs[i] != nil && !outcomes[i].Waiting {
				cancel()
			}
		})
	}
	wait.Wait()
	if err := s.Auth.Settle(ctx, r, outcomes); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return values, ctx.Err()
}

// guarded is one, except that a panic ends the call and not the server, since it runs beside the
// goroutine that the API watches. After a panic the outcome of the hash is unknown.
func (s *Service) guarded(ctx context.Context, from request.Caller, r *cscserver.Reservation, i int, j job, most int64) (out cscserver.Outcome, value []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, value, err = cscserver.Outcome{Record: lost}, nil, fmt.Errorf("csc: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.one(ctx, from, r, i, j, most)
}

// lost is the id of a record that is not known.
const lost = "unknown"

// one makes a record of a job, or looks at the one that waited for an approval.
func (s *Service) one(ctx context.Context, from request.Caller, r *cscserver.Reservation, i int, j job, most int64) (cscserver.Outcome, []byte, error) {
	var record *ledger.Record
	var err error
	if id := r.Hashes[i].Record; id != "" {
		record, err = s.Signing.Find(ctx, from.AccountID, id)
		if errors.Is(err, fault.NotFound) { // it was deleted
			return cscserver.Outcome{Record: id}, nil, cscserver.Invalid("The signature was deleted (record %s)", id)
		}
		if err != nil {
			return cscserver.Outcome{Record: id, Waiting: true}, nil, err
		}
	} else {
		j.req.Description = r.Description
		record, err = s.Signing.SubmitGranted(ctx, j.req, r.Grant, from)
	}
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.HTTP() < http.StatusInternalServerError:
		return cscserver.Outcome{}, nil, err // no record, no use of the key
	case err != nil:
		return cscserver.Outcome{Record: lost}, nil, err
	}
	done := cscserver.Outcome{Record: record.ID}
	switch {
	case record.State == ledger.Error:
		return done, nil, record.Fault()
	case record.State != ledger.Done:
		done.Waiting = true
		return done, nil, waits(record)
	}
	value, err := s.Signing.Signed(ctx, from, record.ID, most)
	return done, value, err
}
