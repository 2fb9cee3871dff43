// Package soap calls services that speak SOAP 1.1, document/literal wrapped: one
// operation in, its answer or a fault out. Envelopes are read with the rules and
// limits of every other XML here; answers by MTOM are read, never sent.
package soap

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/remote"
)

// Config of a client.
type Config struct {
	remote.Endpoint

	Name      string  // of the provider
	Passes    bool    // callers bring the provider's own names and passwords
	Namespace string  // of the service
	PerSecond float64 // calls at most; zero: as many as come
	Observe   remote.Observe
}

// Client calls one service.
type Client struct {
	config Config
	http   *http.Client
	pace   *rate.Limiter // of calls
}

// New returns a client.
func New(c Config) (*Client, error) {
	if !(c.PerSecond >= 0) { // nor what is no number
		return nil, fmt.Errorf("per_second: %v calls in a second cannot be", c.PerSecond)
	}
	if c.Observe == nil {
		c.Observe = func(string, string, time.Duration) {}
	}
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	pace := rate.NewLimiter(rate.Inf, 1)
	if c.PerSecond > 0 {
		pace.SetLimit(rate.Limit(c.PerSecond))
	}
	return &Client{config: c, http: client, pace: pace}, nil
}

// Name of the provider in the configuration.
func (c *Client) Name() string { return c.config.Name }

// Passes says that callers bring the provider's own names and passwords.
func (c *Client) Passes() bool { return c.config.Passes }

// Element of a request. Absent ones are left out: an empty text is not.
type Element struct {
	Name string
	Text string
	In   []Element
}

// Text is an element where there is a text, and none else.
func Text(name, text string) []Element {
	if text == "" {
		return nil
	}
	return []Element{{Name: name, Text: text}}
}

// The namespaces of SOAP 1.1, which is spoken, and of 1.2, which is understood.
const (
	envelope   = "http://schemas.xmlsoap.org/soap/envelope/"
	envelope12 = "http://www.w3.org/2003/05/soap-envelope"
)

// request writes an envelope. Only the operation is in the service's namespace.
func (c *Client) request(operation string, body []Element) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<soapenv:Envelope xmlns:soapenv="%s"><soapenv:Body><s:%s xmlns:s="%s">`, envelope, operation, c.config.Namespace)
	write(&b, body)
	fmt.Fprintf(&b, `</s:%s></soapenv:Body></soapenv:Envelope>`, operation)
	return b.String()
}

func write(b *strings.Builder, list []Element) {
	for _, e := range list {
		b.WriteString("<" + e.Name + ">")
		_ = xml.EscapeText(b, []byte(e.Text)) // into memory
		write(b, e.In)
		b.WriteString("</" + e.Name + ">")
	}
}

// Why a call gave no answer that can be used.
var (
	// ErrUnsent says that no byte of the request left.
	ErrUnsent = errors.New("the service cannot be reached")
	// ErrSilent says that no whole answer came: what became of the request is not
	// known.
	ErrSilent = errors.New("no answer")
	// ErrUnreadable says that an answer came that is none.
	ErrUnreadable = errors.New("the answer cannot be read")
)

// Fault is an answer that refuses.
type Fault struct {
	Code   string       // Client, Server
	Words  string       // may have in them what was sent
	Detail *xmldom.Node // nil: none
}

// Error is for the log: without words, that may repeat a password.
func (f *Fault) Error() string { return "fault " + remote.Clean(f.Code) }

// Unread says that the service did not get as far as reading the request.
func (f *Fault) Unread() bool {
	return slices.Contains([]string{"Client", "VersionMismatch", "MustUnderstand", "DataEncodingUnknown"}, f.Code)
}

// Call calls an operation. It fails with a *Fault, or with an error that wraps
// ErrUnsent, ErrSilent or ErrUnreadable.
func (c *Client) Call(ctx context.Context, operation string, body []Element) (*Answer, error) {
	if err := c.pace.Wait(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	begin := time.Now()
	a, err := c.call(ctx, operation, body)
	outcome := "refused"
	switch {
	case err == nil:
		outcome = "ok"
	case errors.Is(err, ErrUnsent):
		outcome = "unsent"
	case errors.Is(err, ErrSilent):
		outcome = "silent"
	}
	c.config.Observe(operation, outcome, time.Since(begin))
	return a, err
}

// maxAnswer bounds what a service may answer: a hundred values of 8,192 bits in
// base64 take a hundredth of it.
const maxAnswer = 8 << 20

func (c *Client) call(ctx context.Context, operation string, body []Element) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL, strings.NewReader(c.request(operation, body)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	req.Header.Set("Accept", "text/xml, multipart/related")
	req.Header.Set("SOAPAction", `""`)
	sent := false
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent = true }}))
	resp, err := c.http.Do(req)
	if err != nil {
		if !sent || refusesUs(err) {
			return nil, fmt.Errorf("%w: %w", ErrUnsent, err)
		}
		return nil, fmt.Errorf("%w: %w", ErrSilent, err)
	}
	defer resp.Body.Close()
	text, err := whole(resp)
	if err != nil {
		return nil, fmt.Errorf("%w: it was cut short: %w", ErrSilent, err)
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrUnreadable, maxAnswer)
	}
	a, err := read(resp.Header.Get("Content-Type"), text)
	if err == nil {
		err = a.of(operation, c.config.Namespace)
	}
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case resp.StatusCode/100 == 5:
		return nil, fmt.Errorf("%w: status %d without a fault", ErrSilent, resp.StatusCode)
	case resp.StatusCode == http.StatusAccepted && err != nil:
		return nil, fmt.Errorf("%w: status %d: it may be done later", ErrSilent, resp.StatusCode)
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("%w: status %d", ErrUnreadable, resp.StatusCode)
	case err != nil && (ctx.Err() != nil || !framed(resp) && endsEarly(err, text)): // one that sees us leave may end its answer there
		return nil, fmt.Errorf("%w: it was cut short: %w", ErrSilent, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return a, nil
}

// whole reads what a service answers. Some services send gzip without being asked.
func whole(resp *http.Response) ([]byte, error) {
	var body io.Reader = resp.Body
	if coding := resp.Header.Get("Content-Encoding"); strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip") {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	return io.ReadAll(io.LimitReader(body, maxAnswer+1))
}

// refusesUs says that a server ended the handshake of TLS since it does not take
// our certificate: in TLS 1.3 that comes after we think that we are connected.
func refusesUs(err error) bool {
	var alert tls.AlertError
	return errors.As(err, &alert) && slices.Contains([]tls.AlertError{42, 43, 44, 45, 46, 48, 49, 116}, alert)
}

// framed says that the length of an answer was told, so that all of it is here.
func framed(r *http.Response) bool {
	return r.ContentLength >= 0 || slices.Contains(r.TransferEncoding, "chunked") || r.ProtoMajor > 1
}

// endsEarly says that a text is good as far as it goes.
func endsEarly(err error, text []byte) bool {
	var syntax *xmldom.SyntaxError
	return len(text) == 0 || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) && syntax.Offset >= bytes.LastIndexByte(text, '<')
}

// Ask calls an operation that signs nothing: whatever fails is an error of package remote, a
// fault what refusal makes of it.
func (c *Client) Ask(ctx context.Context, operation string, body []Element, refusal func(*Fault) error) (*Answer, error) {
	a, err := c.Call(ctx, operation, body)
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return nil, refusal(fault)
	case errors.Is(err, ErrUnreadable):
		return nil, unreadable(err, operation)
	case err != nil:
		return nil, remote.NoAnswer(err, operation)
	}
	return a, nil
}

func unreadable(err error, operation string) *remote.Error {
	return remote.Errorf(remote.Refused, err, "the provider's answer cannot be read (%s)", operation)
}

// HashName is a hash function as services name it; only SHA-2 is signed.
func HashName(h crypto.Hash) (string, error) {
	switch h.Size() {
	case 32:
		return "SHA256", nil
	case 48:
		return "SHA384", nil
	case 64:
		return "SHA512", nil
	}
	return "", remote.Errorf(remote.Refused, nil, "a key at a provider signs with SHA-256, SHA-384 or SHA-512 only")
}

// Signing is the error of a call that may have signed. A fault is a refusal where
// known makes it one; another comes from somewhere on the way to the key.
func Signing(err error, known func(*Fault) *remote.Error, operation string) error {
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		if refused := known(fault); refused != nil {
			return refused
		}
		return remote.Silent(err, "it answered with a fault that says nothing")
	case errors.Is(err, ErrUnsent):
		return remote.NoAnswer(err, operation)
	case errors.Is(err, ErrUnreadable):
		return unreadable(err, operation)
	}
	return remote.Silent(err, "its answer did not come")
}
