// Package client talks to a Rogito server over HTTP: it signs documents, waits
// until they are signed, downloads and verifies them, orders certificates, asks
// for real-estate quotations, and checks that a callback is from the server.
//
// It is a thin layer over the API that a server describes at /openapi.json: the
// types here have the members that the document gives them. Files are sent as
// they are read, so that a large one is never whole in memory.
//
//	c := client.New("https://rogito.example.org", token)
//	record, err := c.Sign(ctx, client.Automatic, client.SignRequest{
//		Documents: []client.Document{client.File("contract.pdf")},
//		Username:  username, Password: password,
//	})
//	if err != nil {
//		return err
//	}
//	err = c.Download(ctx, record.ID, out)
//
// # Errors
//
// A refusal by the server is an [*Error] with a code of the table at /docs/errors; a signature that
// was accepted and then failed is a [*SignError]. Any other error comes from the connection, a file
// or the context.
//
// # Repeating
//
// A call that changes nothing, or that has an idempotency key (every call here that makes something
// has one), is repeated if the server asks for it (409 with code 150, 429, 503) or the connection
// breaks: the server does nothing twice.
package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls one server with one token. It is safe for concurrent use.
type Client struct {
	BaseURL string       // such as https://rogito.example.org
	Token   string       // sent as Bearer
	HTTP    *http.Client // nil: http.DefaultClient
	// Attempts at a call that may be repeated; 0 means four.
	Attempts int
}

// New returns a client of a server.
func New(baseURL, token string) *Client { return &Client{BaseURL: baseURL, Token: token} }

// Error is the refusal of a call by the server.
type Error struct {
	Status     int           // HTTP status
	Code       int           // of the table at /docs/errors; 0 if the answer is not in the API's form
	Message    string        // names the problem and the field
	RequestID  string        // for the operator, who finds it in the log
	RetryAfter time.Duration // when to try again; 0 if the server does not say
}

// Error is the server's message.
func (e *Error) Error() string {
	return fmt.Sprintf("rogito: %s (status %d, code %d, request %s)", e.Message, e.Status, e.Code, e.RequestID)
}

// stillRunning is the code of an idempotent call whose first is not answered yet.
const stillRunning = 150

// call is one call: what is sent, and how it is sent again.
type call struct {
	method, path string
	query        url.Values
	body         func() (io.Reader, error) // called for each attempt; nil: none
	contentType  string
	accept       string
	key          string // idempotency
}

func (c *call) repeatable() bool { return c.method == http.MethodGet || c.key != "" }

// newKey is an idempotency key for a call that was given none.
func newKey(given string) string {
	if given != "" {
		return given
	}
	return rand.Text()
}

// send makes a call and returns an answer that is no refusal; its body is the
// caller's to close.
func (c *Client) send(ctx context.Context, o *call) (*http.Response, error) {
	attempts := c.Attempts
	if attempts <= 0 {
		attempts = 4
	}
	for wait := 250 * time.Millisecond; ; wait *= 2 {
		resp, err := c.once(ctx, o)
		if err == nil {
			return resp, nil
		}
		attempts--
		again, after := worthRepeating(err)
		if attempts <= 0 || !again || !o.repeatable() || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(max(wait, after)):
		}
	}
}

// longestWait is what a server may ask for before the caller decides.
const longestWait = 30 * time.Second

// worthRepeating reports whether an error may be transient. An error of making the request is not.
func worthRepeating(err error) (bool, time.Duration) {
	var no *Error
	var wire *url.Error
	switch {
	case errors.As(err, &no):
		busy := no.Status == http.StatusTooManyRequests || no.Status == http.StatusServiceUnavailable || no.Code == stillRunning
		return busy && no.RetryAfter <= longestWait, no.RetryAfter
	case errors.As(err, &wire):
		return true, 0
	}
	return false, 0
}

func (c *Client) once(ctx context.Context, o *call) (*http.Response, error) {
	var body io.Reader
	if o.body != nil {
		var err error
		if body, err = o.body(); err != nil {
			return nil, fmt.Errorf("rogito: %w", err)
		}
	}
	u := strings.TrimSuffix(c.BaseURL, "/") + o.path
	if len(o.query) > 0 {
		u += "?" + o.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, o.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("rogito: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	for name, value := range map[string]string{"Content-Type": o.contentType, "Accept": o.accept, "Idempotency-Key": o.key} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, fmt.Errorf("rogito: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return nil, refusal(resp)
	}
	return resp, nil
}

// mostRefusal bounds what is read of a refusal: a proxy's page may be long.
const mostRefusal = 64 << 10

func refusal(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id"), Message: http.StatusText(resp.StatusCode)}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	var envelope struct {
		Message string
		Error   int
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, mostRefusal))
	if json.Unmarshal(b, &envelope) == nil && envelope.Error != 0 {
		e.Code, e.Message = envelope.Error, envelope.Message
	}
	return e
}

// ask makes a call and reads data of the envelope that answers it.
func ask[D any](ctx context.Context, c *Client, o *call) (data D, message string, err error) {
	resp, err := c.send(ctx, o)
	if err != nil {
		return data, "", err
	}
	defer resp.Body.Close()
	var envelope struct {
		Data    D
		Message string
	}
	if err := json.NewDecoder(resp.Body).Decode(&envelope); err != nil {
		return data, "", fmt.Errorf("rogito: read the answer: %w", err)
	}
	return envelope.Data, envelope.Message, nil
}

// jsonBody is a body that is made of a value.
func jsonBody(v any) func() (io.Reader, error) {
	return func() (io.Reader, error) {
		b, err := json.Marshal(v)
		return strings.NewReader(string(b)), err
	}
}

// timeForm is how the API writes times of records.
const timeForm = "2006-01-02 15:04:05.000-07:00"

// Time is a time as the API writes it. A null is the zero Time.
type Time struct{ time.Time }

// UnmarshalJSON reads it.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil || s == nil || *s == "" {
		return err
	}
	at, err := time.Parse(timeForm, *s)
	if err != nil {
		at, err = time.Parse(time.RFC3339, *s)
	}
	t.Time = at
	return err
}
