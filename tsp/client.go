package tsp

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net/http"
	"time"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
)

// Server is one time-stamping authority.
type Server struct {
	URL string
	// Username and Password for basic authentication; empty for none.
	Username, Password string
	// Policy to request, dotted; empty for the authority's default.
	Policy string
}

// Client obtains tokens. It implements [rogito.dev/rogito/ades.Stamper]. The zero value has no
// servers.
type Client struct {
	// Servers are asked in order until one returns a good token; those with a transport error are
	// asked again in the next round.
	Servers []Server
	// HTTP is used for the requests; nil means one without redirects.
	HTTP *http.Client
	// Timeout of one request; zero means 15 seconds.
	Timeout time.Duration
	// Retries is how often each server is asked again after a transport error.
	Retries int
	// Pause before the next round, doubled each time; zero means 200 ms.
	Pause time.Duration
	// Skew is how far the token's time may be from the local clock; zero means that it is not
	// compared.
	Skew time.Duration
	// Now is the clock for Skew; nil means time.Now.
	Now func() time.Time
	// Accept may reject a token that is otherwise good, for example because its authority is not
	// trusted; nil accepts all.
	Accept func(*Token) error
	// Observe, if not nil, is called after each request with its duration and error, which is nil
	// for a good token.
	Observe func(s Server, took time.Duration, err error)
}

// Stamp obtains a token over a digest, from the first server that returns a good one. The error
// names the failure of each.
func (c *Client) Stamp(ctx context.Context, hash crypto.Hash, digest []byte) ([]byte, error) {
	return c.StampNonce(ctx, hash, digest, nil)
}

// StampNonce is Stamp with the caller's nonce; nil means a random one for each try.
func (c *Client) StampNonce(ctx context.Context, hash crypto.Hash, digest []byte, nonce *big.Int) ([]byte, error) {
	if len(c.Servers) == 0 {
		return nil, errors.New("tsp: no time-stamping authority")
	}
	pause := cmp.Or(c.Pause, 200*time.Millisecond)
	errs := make([]error, len(c.Servers))
	left := make([]int, len(c.Servers)) // by index
	for i := range left {
		left[i] = i
	}
	for round := 0; ; round++ {
		token, again := c.round(ctx, left, errs, Request{Hash: hash, Digest: digest, Nonce: nonce, Certificates: true})
		if token != nil {
			return token, nil
		}
		if round >= c.Retries || len(again) == 0 {
			break
		}
		left = again
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("tsp: %w", errors.Join(append(errs, ctx.Err())...))
		case <-time.After(pause):
			pause *= 2
		}
	}
	return nil, fmt.Errorf("tsp: %w", errors.Join(errs...))
}

// round asks each remaining server once, until the context ends, and returns those worth asking
// again.
func (c *Client) round(ctx context.Context, left []int, errs []error, req Request) (token []byte, again []int) {
	for _, i := range left {
		begin := time.Now()
		token, retry, err := c.request(ctx, c.Servers[i], req)
		if c.Observe != nil {
			c.Observe(c.Servers[i], time.Since(begin), err)
		}
		if err == nil {
			return token, nil
		}
		errs[i] = fmt.Errorf("%s: %w", c.Servers[i].URL, err)
		if retry {
			again = append(again, i)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, again
}

func (c *Client) request(ctx context.Context, s Server, req Request) (token []byte, again bool, err error) {
	if s.Policy != "" && !oid.Valid(s.Policy) {
		return nil, false, fmt.Errorf("policy %q is not an object identifier", s.Policy)
	}
	req.Policy = s.Policy
	if req.Nonce == nil {
		if req.Nonce, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64)); err != nil {
			return nil, false, err
		}
	}
	der, err := req.Encode()
	if err != nil {
		return nil, false, err
	}
	answer, again, err := c.post(ctx, s, der)
	if err != nil {
		return nil, again, err
	}
	token, err = ParseResponse(answer)
	if err != nil {
		return nil, false, err
	}
	return token, false, c.check(token, &req)
}

func (c *Client) check(token []byte, req *Request) error {
	t, err := Parse(token)
	if err != nil {
		return err
	}
	if err := t.Check(req); err != nil {
		return err
	}
	if c.Skew > 0 {
		now := time.Now
		if c.Now != nil {
			now = c.Now
		}
		if d := t.Time.Sub(now()).Abs(); d > c.Skew {
			return fmt.Errorf("time of the token is %v from the local clock", d.Round(time.Second))
		}
	}
	if c.Accept != nil {
		return c.Accept(t)
	}
	return nil
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post sends the request; again reports whether another try may help.
func (c *Client) post(ctx context.Context, s Server, der []byte) (body []byte, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, 15*time.Second))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(der))
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Content-Type", queryType)
	r.Header.Set("Accept", replyType)
	if s.Username != "" || s.Password != "" {
		r.SetBasicAuth(s.Username, s.Password)
	}
	client := c.HTTP
	if client == nil {
		client = noRedirects
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, true, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	if mt, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); mt == "text/html" {
		return nil, false, errors.New("answer is a web page")
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, limits.TimestampResponse+1))
	if err != nil {
		return nil, true, err
	}
	if len(body) > limits.TimestampResponse {
		return nil, false, errors.New("answer is too large")
	}
	return body, false, nil
}
