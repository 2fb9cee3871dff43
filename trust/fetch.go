package trust

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// Bounds on the answers of other servers.
const (
	maxOCSP   = 1 << 20
	maxCRL    = 96 << 20
	maxIssuer = 4 << 20
)

var errNoAddress = errors.New("the certificate names no address")

func (s *Store) cache() *Cache {
	if s.Cache != nil {
		return s.Cache
	}
	return &s.own
}

// fetch performs a GET or POST under the store's limits.
func (s *Store) fetch(ctx context.Context, url string, body []byte, limit int64) (b []byte, err error) {
	err = s.stream(ctx, url, body, func(r io.Reader) error {
		b, err = io.ReadAll(io.LimitReader(r, limit+1))
		return err
	})
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: answer is larger than %d bytes", url, limit)
	}
	return b, nil
}

// stream passes the answer to read as it arrives.
func (s *Store) stream(ctx context.Context, url string, body []byte, read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.FetchTimeout, 10*time.Second))
	defer cancel()
	method, payload := http.MethodGet, io.Reader(nil)
	if body != nil {
		method, payload = http.MethodPost, bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, payload)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/ocsp-request")
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP status %d", url, res.StatusCode)
	}
	if err := read(res.Body); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// sharedFetch runs one fetch per key at a time, with other callers waiting for its result. The
// fetch ends by its own timeout, not with the first caller, and a panic in it becomes an error
// since it runs in a goroutine of its own.
func sharedFetch[T any](ctx context.Context, s *Store, key string, fetch func(context.Context) (T, error)) (v T, err error) {
	done := s.flight.DoChan(key, func() (_ any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("fetch: panic: %v", p)
			}
		}()
		return fetch(context.WithoutCancel(ctx))
	})
	select {
	case r := <-done:
		v, _ = r.Val.(T)
		return v, r.Err
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// fetchOCSP asks the certificate's responders in turn. A cached answer from before since is used
// only if it promises a next update, or if no responder has a newer one.
func (s *Store) fetchOCSP(ctx context.Context, cert, issuer *pkix.Certificate, now, since time.Time) ([]byte, error) {
	var old []byte
	err := errNoAddress
	for _, url := range cert.OCSPServers[:min(len(cert.OCSPServers), 3)] {
		key := "ocsp " + url + " " + cert.ID()
		known, ok := s.cache().get(key, now)
		if ok && (!known.at.Before(since) || !surpassed(known.body, since)) {
			return known.body, nil
		}
		if ok {
			old = known.body
		}
		var b []byte
		if b, err = sharedFetch(ctx, s, key, func(ctx context.Context) ([]byte, error) { return s.askOCSP(ctx, url, cert, issuer, now) }); err == nil {
			return b, nil
		}
	}
	if old != nil {
		return old, nil
	}
	return nil, err
}

// surpassed reports whether an answer from before that time has no next update: newer information
// is then available at any time (RFC 6960, 4.2.2.1).
func surpassed(answer []byte, since time.Time) bool {
	o, err := pkix.ParseOCSPResponse(answer)
	return err != nil || slices.ContainsFunc(o.Responses, func(r pkix.SingleResponse) bool {
		return r.NextUpdate.IsZero() && r.ThisUpdate.Before(since)
	})
}

func (s *Store) askOCSP(ctx context.Context, url string, cert, issuer *pkix.Certificate, now time.Time) ([]byte, error) {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	b, err := s.fetch(ctx, url, pkix.NewOCSPRequest(cert, issuer, nonce), maxOCSP)
	if err != nil {
		return nil, err
	}
	o, err := pkix.ParseOCSPResponse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	// A responder may omit the nonce; a wrong one belongs to another request.
	if o.Nonce != nil && !bytes.Contains(o.Nonce, nonce) {
		return nil, fmt.Errorf("%s: nonce does not match", url)
	}
	until := now.Add(5 * time.Minute)
	for _, r := range o.Responses {
		if r.About(cert, issuer) {
			if r.NextUpdate.After(now) && r.NextUpdate.Before(now.Add(time.Hour)) {
				until = r.NextUpdate
			}
			s.cache().put("ocsp "+url+" "+cert.ID(), b, now, until)
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s: answer is about another certificate", url)
}

// fetchCRL fetches the certificate's revocation list.
func (s *Store) fetchCRL(ctx context.Context, cert *pkix.Certificate, now time.Time) (*list, error) {
	err := errNoAddress
	tried := 0
	for _, p := range cert.CRLDistributionPoints {
		for _, url := range p.URLs {
			if tried++; tried > 4 {
				return nil, err
			}
			var l *list
			if l, err = s.crlAt(ctx, url, now); err == nil {
				return l, nil
			}
		}
	}
	return nil, err
}

func (s *Store) crlAt(ctx context.Context, url string, now time.Time) (*list, error) {
	if l := s.cache().list(url, now); l != nil {
		return l, nil
	}
	return sharedFetch(ctx, s, "crl "+url, func(ctx context.Context) (l *list, err error) {
		err = s.stream(ctx, url, nil, func(r io.Reader) error {
			l, err = s.cache().store(url, r, now)
			return err
		})
		return l, err
	})
}

// dearmour decodes PEM and bare base64.
func dearmour(b []byte) []byte {
	if p, _ := pem.Decode(b); p != nil {
		return p.Bytes
	}
	if len(b) > 0 && b[0] != 0x30 {
		if d, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(b), nil))); err == nil {
			return d
		}
	}
	return b
}

// fetchIssuers fetches the certificates that authority information access points to: one
// certificate, or a PKCS#7 bundle, which is searched.
func (s *Store) fetchIssuers(ctx context.Context, cert *pkix.Certificate, now time.Time) ([]*pkix.Certificate, error) {
	err := errNoAddress
	for _, url := range cert.IssuerURLs[:min(len(cert.IssuerURLs), 3)] {
		key := "issuer " + url
		known, ok := s.cache().get(key, now)
		b := known.body
		if !ok {
			b, err = sharedFetch(ctx, s, key, func(ctx context.Context) ([]byte, error) { return s.fetch(ctx, url, nil, maxIssuer) })
			if err != nil {
				continue
			}
			s.cache().put(key, b, now, now.Add(24*time.Hour))
		}
		if certs := s.anyCertificates(b); len(certs) > 0 {
			return certs, nil
		}
		err = &ades.MalformedError{Format: "X.509", Where: url, Err: ErrNoCertificate}
	}
	return nil, err
}

func (s *Store) anyCertificates(b []byte) []*pkix.Certificate {
	var out []*pkix.Certificate
	for _, der := range append(Certificates(b), pkix.Embedded(dearmour(b))...) {
		if c, err := pkix.ParseCertificate(der); err == nil {
			out = append(out, c)
		}
	}
	return out
}
