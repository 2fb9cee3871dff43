// Package client is a client of the Cloud Signature Consortium API, versions
// 1.0.4.0 and 2.0.0.2: a provider keeps the private key, gets digests, and
// answers with signature values.
// Errors are those of package remote.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/remote"
)

// Flows by which a token is had.
const (
	FlowCode   = "code"               // the holder logs in at the provider
	FlowClient = "client_credentials" // the operator's client
	FlowToken  = "token"              // a token that the operator was given
)

// Flows that there are.
var Flows = []string{FlowCode, FlowClient, FlowToken}

// Config of a provider.
type Config struct {
	remote.Endpoint // the URL is the base of the API

	Name     string
	Version  string // auto, 1 or 2; empty means auto
	Flow     string
	ClientID string
	// Secret and Token are read when they are needed, so that a new one in the
	// file is taken up without a restart.
	Secret, Token func() (string, error)
	Redirect      string // where the provider sends the holder back to
	Observe       remote.Observe
	Now           func() time.Time
}

// Error is what came of a call.
type Error = remote.Error

func refused(err error, format string, args ...any) *Error {
	return remote.Errorf(remote.Refused, err, format, args...)
}

// Provider is a client of one provider.
type Provider struct {
	config Config
	client *http.Client

	mu    sync.Mutex
	about *Info
	read  time.Time
	token Tokens // of the operator's client
}

// New returns a client.
func New(c Config) (*Provider, error) {
	c.URL = strings.TrimSuffix(c.URL, "/")
	if c.Version == "" {
		c.Version = "auto"
	}
	if !slices.Contains([]string{"auto", "1", "2"}, c.Version) {
		return nil, fmt.Errorf("version: %q is none of auto, 1, 2", c.Version)
	}
	if !slices.Contains(Flows, c.Flow) {
		return nil, fmt.Errorf("flow: %q is none of %s", c.Flow, strings.Join(Flows, ", "))
	}
	if c.Flow != FlowToken && c.ClientID == "" {
		return nil, fmt.Errorf("client_id is missing: the flow %s needs one", c.Flow)
	}
	if c.Observe == nil {
		c.Observe = func(string, string, time.Duration) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	return &Provider{config: c, client: client}, nil
}

// Name of the provider in the configuration.
func (p *Provider) Name() string { return p.config.Name }

// Redirect is where the provider sends holders back to.
func (p *Provider) Redirect() string { return p.config.Redirect }

// Flow by which its tokens are had.
func (p *Provider) Flow() string { return p.config.Flow }

// Info is the provider's description of itself.
type Info struct {
	Specs    string   `json:"specs"`
	Name     string   `json:"name"`
	AuthType []string `json:"authType"`
	OAuth2   string   `json:"oauth2"`
	Servers  []Server `json:"oauth2Servers"` // since 2.1, in place of the one
	Methods  []string `json:"methods"`

	Version int `json:"-"` // that we speak with it
}

// Server is where holders, or clients, get tokens.
type Server struct {
	Base     string   `json:"baseUri"`
	AuthType []string `json:"authType"`
}

const infoFor = 10 * time.Minute

// Info asks what the provider is and can do, and remembers it for a while.
func (p *Provider) Info(ctx context.Context) (*Info, error) {
	p.mu.Lock()
	about, read := p.about, p.read
	p.mu.Unlock()
	if about != nil && p.config.Now().Sub(read) < infoFor {
		return about, nil
	}
	about = &Info{}
	if err := p.ask(ctx, "info", "", map[string]any{}, about); err != nil {
		return nil, err
	}
	switch {
	case p.config.Version != "auto":
		about.Version, _ = strconv.Atoi(p.config.Version)
	case strings.HasPrefix(about.Specs, "1"):
		about.Version = 1
	case strings.HasPrefix(about.Specs, "2"):
		about.Version = 2
	default:
		return nil, refused(nil, "the provider speaks version %.20q of the protocol, which is neither 1 nor 2: set its version", about.Specs)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about, p.read = about, p.config.Now()
	return about, nil
}

// Can says whether the provider names a method.
func (i *Info) Can(method string) bool { return slices.Contains(i.Methods, method) }

// Bounds on what a provider may answer.
const (
	maxAnswer = 8 << 20
	maxWaits  = 5                // of Retry-After in one call
	maxWait   = 60 * time.Second // of one of them
)

// answer is a response, read.
type answer struct {
	status int
	header http.Header
	body   []byte
	framed bool     // its length was told: all of it is here
	hidden []string // secrets of the request, which the provider may repeat
}

// errNotSent says that a request did not leave: no connection came about.
var errNotSent = errors.New("the provider cannot be reached")

// post sends one request and reads the answer whole. What is hidden, and the token,
// is not told to anybody where the answer repeats it.
func (p *Provider) post(ctx context.Context, address, contentType, token string, body []byte, hidden []string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	sent := false
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }}))
	begin, operation, outcome := time.Now(), p.operation(address), "silent"
	defer func() { p.config.Observe(operation, outcome, time.Since(begin)) }()
	resp, err := p.client.Do(req)
	if err != nil {
		if !sent { // no connection came about: nothing left
			outcome = "unsent"
			err = fmt.Errorf("%w: %w", errNotSent, err)
		}
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil && resp.StatusCode/100 == 2 { // what refuses needs no words
		return nil, fmt.Errorf("the answer was cut short: %w", err)
	}
	if outcome = "refused"; resp.StatusCode/100 == 2 {
		outcome = "ok"
	}
	a := &answer{status: resp.StatusCode, header: resp.Header, body: b, hidden: append(hidden, token)}
	// One that sees us leave may end its answer there.
	a.framed = ctx.Err() == nil && (resp.ContentLength >= 0 || slices.Contains(resp.TransferEncoding, "chunked") || resp.ProtoMajor > 1)
	if len(b) > maxAnswer {
		a.body, a.framed = nil, true // not read, and never will be
	}
	return a, nil
}

// operation is how a call is named in the metrics.
func (p *Provider) operation(address string) string {
	if method, ok := strings.CutPrefix(address, p.config.URL+"/"); ok && !strings.HasPrefix(method, "oauth2/") {
		return method
	}
	return "oauth2/token"
}

// ask calls a method where nothing is signed: every failure is a refusal. An
// answer that asks to wait is waited for.
func (p *Provider) ask(ctx context.Context, method, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for waits := 0; ; waits++ {
		a, err := p.post(ctx, p.config.URL+"/"+method, "application/json", token, body, secretsOf(in))
		if err != nil {
			return remote.NoAnswer(err, method)
		}
		if again, err := a.wait(ctx, waits); again || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if a.status/100 != 2 {
			return a.refusal(method)
		}
		if err := json.Unmarshal(a.body, out); err != nil {
			return refused(err, "the provider's answer cannot be read (%s)", method)
		}
		return nil
	}
}

// StatusError is the status of an answer that refused.
type StatusError int

func (s StatusError) Error() string { return "status " + strconv.Itoa(int(s)) }

// refusal is an answer that says no, with the provider's words.
func (a *answer) refusal(method string) *Error {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	words := ""
	if json.Unmarshal(a.body, &said) == nil && said.Error != "" {
		words = said.Error
		if said.Description != "" {
			words += ": " + said.Description
		}
	}
	if words = remote.Clean(remote.Hide(words, a.hidden)); words == "" {
		words = fmt.Sprintf("status %d", a.status)
	}
	return refused(StatusError(a.status), "the provider refused (%s): %s", method, words)
}

// secretsOf are the values of a request that only its provider may read.
func secretsOf(in any) (all []string) {
	body, _ := in.(map[string]any)
	for _, name := range []string{"PIN", "OTP", "SAD"} {
		if s, ok := body[name].(string); ok {
			all = append(all, s)
		}
	}
	if data, ok := body["authData"].([]map[string]string); ok {
		for _, d := range data {
			all = append(all, d["value"])
		}
	}
	return all
}

// wait waits as long as an answer (429, 503) asks for; false where it does not
// ask, an error where it asks for too much.
func (a *answer) wait(ctx context.Context, before int) (bool, error) {
	if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
		return false, nil
	}
	now := time.Now()
	if there, err := http.ParseTime(a.header.Get("Date")); err == nil {
		now = there // clocks differ by minutes
	}
	pause, asks := retryAfter(a.header.Get("Retry-After"), now)
	if !asks {
		return false, nil
	}
	if end, ok := ctx.Deadline(); before >= maxWaits || pause > maxWait || ok && time.Until(end) < pause {
		return false, refused(StatusError(a.status), "the provider is busy: it asks to come back in %d seconds", int(pause.Seconds()))
	}
	select {
	case <-ctx.Done():
		return false, refused(ctx.Err(), "the provider is busy")
	case <-time.After(pause):
		return true, nil
	}
}

func retryAfter(s string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && n >= 0 && n < 1<<31 {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
