// Package sms sends short messages through the gateway of the operator's choice:
// one HTTP request for each, written as the gateway wants it.
package sms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/internal/fetch"
)

// Config says which gateway takes short messages, and how it is asked.
type Config struct {
	URL     string            `yaml:"url" doc:"address of the gateway that sends short messages, e.g. https://sms.example.org/send; {to} and {text} stand for the number (+39…) and the message; empty: none is sent, and signers cannot be asked for a code by sms"`
	Method  string            `yaml:"method" doc:"POST, PUT or GET"`
	Headers map[string]string `yaml:"headers" secret:"true" doc:"headers of the request, such as Authorization, as a map; meant for the environment"`
	Body    string            `yaml:"body" doc:"body of the request with {to} and {text}: JSON where it begins with {, else fields of a form (to={to}&text={text}); values are escaped accordingly"`
}

// On says whether messages are sent.
func (c *Config) On() bool { return c.URL != "" }

// Check finds what cannot work.
func (c *Config) Check() error {
	if !c.On() {
		return nil
	}
	u, err := url.Parse(c.fill(c.URL, "+390000000000", "text", url.QueryEscape))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("sms.url is not an http(s) address")
	}
	switch c.Method {
	case http.MethodPost, http.MethodPut, http.MethodGet:
	default:
		return fmt.Errorf("sms.method: %q is none of POST, PUT, GET", c.Method)
	}
	for name, value := range c.Headers {
		if err := fetch.CheckHeader(name, value); err != nil {
			return fmt.Errorf("sms.headers: %s cannot be sent", name)
		}
	}
	for _, what := range []string{"{to}", "{text}"} {
		if !strings.Contains(c.URL+c.Body, what) {
			return fmt.Errorf("sms.body: neither it nor sms.url has %s", what)
		}
	}
	if body := c.fill(c.Body, "+390000000000", `a "text"`, quote); c.json() && !json.Valid([]byte(body)) {
		return errors.New("sms.body begins with { and is not JSON: put {to} and {text} in quotation marks")
	}
	return nil
}

func (c *Config) json() bool { return strings.HasPrefix(strings.TrimSpace(c.Body), "{") }

// fill puts the values into a template at once, so that none is looked for in another.
func (*Config) fill(template, to, text string, escape func(string) string) string {
	return strings.NewReplacer("{to}", escape(to), "{text}", escape(text)).Replace(template)
}

// quote is a text inside a string of JSON.
func quote(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b[1 : len(b)-1])
}

// attemptLimit bounds one request.
const attemptLimit = 30 * time.Second

// Sender sends.
type Sender struct {
	config Config
	client *http.Client
	outbox string
}

// New returns a sender that dials through the guard.
func New(c Config, guard *fetch.Guard) *Sender {
	return &Sender{config: c, client: guard.Client(attemptLimit)}
}

// NewOutbox returns one that sends nothing, and leaves what it would send in a folder.
func NewOutbox(dir string) *Sender { return &Sender{outbox: dir} }

// Message is one to be sent.
type Message struct {
	ID   string // the same for the same news; names the file in an outbox
	To   string // E.164
	Text string
}

// ErrRefused says that the gateway will not take a message, however often it is asked.
var ErrRefused = errors.New("the gateway refuses the message")

// Send hands a message to the gateway. No error says what was sent or to whom.
func (s *Sender) Send(ctx context.Context, m Message) error {
	if s.outbox != "" {
		return atomicfile.WriteBytes(filepath.Join(s.outbox, m.ID+".txt"), 0o600, []byte("To: "+m.To+"\n\n"+m.Text+"\n"))
	}
	address := s.config.fill(s.config.URL, m.To, m.Text, url.QueryEscape)
	escape, media := url.QueryEscape, "application/x-www-form-urlencoded"
	if s.config.json() {
		escape, media = quote, "application/json"
	}
	r, err := http.NewRequestWithContext(ctx, s.config.Method, address, strings.NewReader(s.config.fill(s.config.Body, m.To, m.Text, escape)))
	if err != nil {
		return errors.New("sms: the request cannot be made")
	}
	if s.config.Body != "" {
		r.Header.Set("Content-Type", media)
	}
	for name, value := range s.config.Headers {
		r.Header.Set(name, value)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		var u *url.Error // its text has the address, which may have number and message in it
		if errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("sms: %w", err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is used again
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return nil
	case code/100 == 4 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout:
		return fmt.Errorf("sms: %w: it answered %d", ErrRefused, code)
	default:
		return fmt.Errorf("sms: the gateway answered %d", code)
	}
}
