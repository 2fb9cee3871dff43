// Package callback tells clients what became of their records: one HTTP
// request for each state, repeated on a schedule until it is taken, signed as
// Standard Webhooks asks for, logged, and never in the way of signing.
package callback

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	exact "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
)

// Target is where a caller wants to be told, and how.
type Target struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"` // JSON or POST
	Field   string            `json:"field"`  // of a form
	Headers map[string]string `json:"headers,omitempty"`
	Custom  json.RawMessage   `json:"custom,omitempty"`
	Retry   int               `json:"retry"` // attempts after the first
}

// Checker judges an address without a look-up.
type Checker interface {
	Check(raw string) error
}

const (
	maxHeaderKey  = 256
	maxHeaders    = 2 << 10
	maxCustom     = 512
	defaultField  = "data"
	defaultRetry  = 5
	maxURL        = 2048
	methodJSON    = "JSON"
	methodForm    = "POST"
	maxFieldBytes = 64
)

// Parse reads the callback member of a request; nil where it is absent or
// null. Faults are 704 to 740.
func Parse(v jsontext.Value, guard Checker) (*Target, error) {
	if v.Kind() == 0 || v.Kind() == 'n' {
		return nil, nil
	}
	var raw struct {
		URL     json.RawMessage `json:"url"`
		Method  json.RawMessage `json:"method"`
		Field   json.RawMessage `json:"field"`
		Headers json.RawMessage `json:"headers"`
		Custom  json.RawMessage `json:"custom"`
		Retry   json.RawMessage `json:"retry"`
	}
	if exact.Unmarshal(v, &raw) != nil { // Url is not url
		return nil, fault.New(fault.CallbackURL, "callback must be an object with a url")
	}
	t := &Target{Method: methodJSON, Field: defaultField, Retry: defaultRetry}
	if err := t.parseURL(raw.URL, guard); err != nil {
		return nil, err
	}
	if err := t.parseForm(raw.Method, raw.Field); err != nil {
		return nil, err
	}
	if err := t.parseHeaders(raw.Headers); err != nil {
		return nil, err
	}
	if err := t.parseCustom(raw.Custom); err != nil {
		return nil, err
	}
	if !absent(raw.Retry) && (json.Unmarshal(raw.Retry, &t.Retry) != nil || t.Retry < 0 || t.Retry > 5) {
		return nil, fault.New(fault.CallbackRetry, "callback.retry must be an integer between 0 and 5")
	}
	return t, nil
}

func absent(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

func (t *Target) parseURL(v json.RawMessage, guard Checker) error {
	if absent(v) || json.Unmarshal(v, &t.URL) != nil || t.URL == "" {
		return fault.New(fault.CallbackURL, "callback.url is required and must be a string")
	}
	u, err := url.Parse(t.URL)
	if err != nil || len(t.URL) > maxURL || u.Scheme == "" {
		return fault.New(fault.CallbackURL, "callback.url is malformed")
	}
	if (u.Scheme == "http" || u.Scheme == "https") && u.Host == "" {
		return fault.New(fault.CallbackURL, "callback.url has no host")
	}
	if err := guard.Check(t.URL); err != nil {
		return fault.New(fault.CallbackURLRefused, "callback.url: %v", err)
	}
	return nil
}

func (t *Target) parseForm(method, field json.RawMessage) error {
	if !absent(method) {
		var m string
		if json.Unmarshal(method, &m) != nil || !strings.EqualFold(m, methodJSON) && !strings.EqualFold(m, methodForm) {
			return fault.New(fault.CallbackURL, "%s", hint.OneOf("callback.method", m, []string{methodJSON, methodForm}))
		}
		t.Method = strings.ToUpper(m)
	}
	if !absent(field) && (json.Unmarshal(field, &t.Field) != nil || t.Field == "" || len(t.Field) > maxFieldBytes) {
		return fault.New(fault.CallbackURL, "callback.field must be a string of 1 to %d bytes", maxFieldBytes)
	}
	return nil
}

func (t *Target) parseHeaders(v json.RawMessage) error {
	if absent(v) || string(v) == "[]" { // PHP's empty object
		return nil
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(v, &raw) != nil {
		return fault.New(fault.CallbackHeaders, "callback.headers must be an object")
	}
	t.Headers = map[string]string{}
	seen := map[string]bool{}
	total := 0
	for k, v := range raw {
		if len(k) > maxHeaderKey {
			return fault.New(fault.CallbackHeaderKey, "callback.headers: a key is longer than %d characters", maxHeaderKey)
		}
		var s string
		if json.Unmarshal(v, &s) != nil {
			return fault.New(fault.CallbackHeaderValue, "callback.headers: the value of %q is not a string", k)
		}
		if err := fetch.CheckHeader(k, s); err != nil {
			return fault.New(fault.CallbackHeaderValue, "callback.headers: %v", err)
		}
		if strings.HasPrefix(strings.ToLower(k), "webhook-") {
			return fault.New(fault.CallbackHeaderValue, "callback.headers: %q is set by the service", k)
		}
		if name := http.CanonicalHeaderKey(k); seen[name] {
			return fault.New(fault.CallbackHeaderKey, "callback.headers: %q is there twice", k)
		} else {
			seen[name] = true
		}
		t.Headers[k] = s
		total += len(k) + len(s)
	}
	if total > maxHeaders {
		return fault.New(fault.CallbackHeadersSize, "callback.headers: over 2 kB in all")
	}
	return nil
}

func (t *Target) parseCustom(v json.RawMessage) error {
	if absent(v) {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil || b.Len() > maxCustom {
		return fault.New(fault.CallbackCustom, "callback.custom is over %d bytes", maxCustom)
	}
	t.Custom = b.Bytes()
	return nil
}

// body is what is sent, and its media type.
func (t *Target) body(data json.RawMessage) (body []byte, contentType string) {
	custom := t.Custom
	if absent(custom) {
		custom = json.RawMessage("null")
	}
	if t.Method == methodForm {
		form := url.Values{t.Field: {string(data)}, "custom": {string(custom)}}
		return []byte(form.Encode()), "application/x-www-form-urlencoded"
	}
	b := append([]byte(`{"data":`), data...)
	b = append(b, `,"custom":`...)
	b = append(b, custom...)
	return append(b, '}'), "application/json"
}
