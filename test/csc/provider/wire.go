package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call is one request and what became of it.
type Call struct {
	At       time.Time
	Version  int    // 1 or 2, 0 for OAuth
	Endpoint string // "signatures/signHash"
	Body     map[string]any
	Status   int      // 0 where the connection was cut or hung
	Fault    string   // the switch that changed the answer
	Signed   []string // hashes for which a value was made
	token    string
	plain    bool // at an address that does not name the version
	refused  bool // the answer says for certain that nothing was signed and to come again
}

// Hashes are those of a call to authorize or signHash.
func (c Call) Hashes() []string {
	list, _ := c.Body["hash"].([]any)
	if list == nil {
		list, _ = c.Body["hashes"].([]any)
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}

// Calls are those to an endpoint, "" for all.
func (p *Provider) Calls(endpoint string) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Call
	for _, c := range p.calls {
		if endpoint == "" || c.Endpoint == endpoint {
			out = append(out, *c)
		}
	}
	return out
}

// Repeated are the hashes that were sent to signHash again after a call whose
// outcome did not ask for it: only 401, 429, and 503 with Retry-After do.
func (p *Provider) Repeated() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	final := map[string]bool{}
	var out []string
	for _, c := range p.calls {
		if c.Endpoint != "signatures/signHash" {
			continue
		}
		for _, h := range c.Hashes() {
			if final[h] {
				out = append(out, h)
			}
			if !c.refused {
				final[h] = true
			}
		}
	}
	return out
}

// Signed is how many values were made.
func (p *Provider) Signed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.calls {
		n += len(c.Signed)
	}
	return n
}

// Complaints are the demands of the specification that a client did not meet.
func (p *Provider) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints)
}

// Forget forgets calls and complaints, and switches every fault off:
// credentials are again what they were before the first.
func (p *Provider) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range p.saved {
		*p.credentials[id] = c
	}
	p.calls, p.complaints, p.faults, p.saved, p.Chain = nil, nil, nil, nil, ""
}

func (p *Provider) complain(c *Call, format string, args ...any) {
	p.complaints = append(p.complaints, fmt.Sprintf("v%d %s: %s", c.Version, c.Endpoint, fmt.Sprintf(format, args...)))
}

// answer is a response before it is written.
type answer struct {
	status int
	header map[string]string
	body   map[string]any // marshalled unless raw is there
	raw    []byte
	cut    string // "", "before", "headers", "body", "after", "reset"
	hang   bool
	drip   bool
}

func ok(body map[string]any) *answer { return &answer{status: http.StatusOK, body: body} }

// refuse is an error in the form of the specification (clause 10.1 of v1).
func refuse(status int, code, description string) *answer {
	return &answer{status: status, body: map[string]any{"error": code, "error_description": description}}
}

func invalid(description string) *answer {
	return refuse(http.StatusBadRequest, "invalid_request", description)
}

// serve finds the endpoint, lets it answer, and lets the faults that are
// switched on change the answer.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	c := &Call{At: time.Now(), Body: map[string]any{}, token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/csc/v1/"):
		c.Version, c.Endpoint = 1, path[len("/csc/v1/"):]
	case strings.HasPrefix(path, "/csc/v2/"):
		c.Version, c.Endpoint = 2, path[len("/csc/v2/"):]
	case strings.HasPrefix(path, "/one/"): // addresses that do not name the version
		c.Version, c.Endpoint, c.plain = 1, path[len("/one/"):], true
	case strings.HasPrefix(path, "/two/"):
		c.Version, c.Endpoint, c.plain = 2, path[len("/two/"):], true
	case strings.HasPrefix(path, "/as/oauth2/"):
		c.Endpoint = path[len("/as/"):]
	default:
		c.Endpoint = "elsewhere" + path
	}
	p.mu.Lock()
	p.calls = append(p.calls, c)
	a := p.before(c)
	if a == nil {
		a = p.answer(c, r, raw)
	} else if c.Version > 0 { // what was sent is recorded all the same
		_ = json.Unmarshal(raw, &c.Body)
	}
	p.after(c, a)
	delay := p.Delay
	c.Status = a.status
	if a.cut != "" && a.cut != "after" || a.hang {
		c.Status = 0
	}
	c.refused = a.status == http.StatusUnauthorized || a.header["Retry-After"] != "" && (a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable)
	hang := p.Hang
	p.mu.Unlock()
	if c.Endpoint == "signatures/signHash" {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	a.write(w, r, hang)
}

// answer calls the endpoint.
func (p *Provider) answer(c *Call, r *http.Request, raw []byte) *answer {
	if c.Version == 0 {
		return p.oauth(c, r, raw)
	}
	if r.Method != http.MethodPost {
		p.complain(c, "method %s", r.Method)
		return refuse(http.StatusMethodNotAllowed, "invalid_request", "Only POST is accepted")
	}
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != "application/json" {
		p.complain(c, "content type %q", ct)
		return refuse(http.StatusUnsupportedMediaType, "invalid_request", "The content type must be application/json")
	}
	if err := json.Unmarshal(raw, &c.Body); err != nil || c.Body == nil {
		c.Body = map[string]any{}
		p.complain(c, "the body is no JSON object: %.60q", raw)
		return invalid("The request is not a JSON object")
	}
	p.foreign(c)
	if c.Endpoint == "info" {
		return p.info(c)
	}
	b := p.bearerOf(c, r)
	if b == nil {
		return &answer{
			status: http.StatusUnauthorized, header: map[string]string{"WWW-Authenticate": `Bearer error="invalid_token"`},
			body: map[string]any{"error": "invalid_token", "error_description": "The access token is missing, wrong or has expired"},
		}
	}
	switch c.Endpoint {
	case "credentials/list":
		return p.list(c, b)
	case "credentials/info":
		return p.credentialInfo(c, b)
	case "credentials/authorize":
		return p.authorize(c, b)
	case "credentials/extendTransaction":
		return p.extend(c, b)
	case "signatures/signHash":
		return p.signHash(c, b)
	case "auth/revoke":
		return p.revoke(c)
	}
	p.complain(c, "no such method")
	return refuse(http.StatusNotFound, "not_found", "There is no such method")
}

// parameters are what each method knows, in version 1 and 2.
var parameters = map[string][2]string{
	"info":                          {"lang", "lang"},
	"auth/revoke":                   {"token token_type_hint clientData", "token token_type_hint clientData"},
	"credentials/list":              {"userID maxResults pageToken clientData", "userID credentialInfo certificates certInfo authInfo onlyValid lang clientData"},
	"credentials/info":              {"credentialID certificates certInfo authInfo lang clientData", "credentialID certificates certInfo authInfo lang clientData"},
	"credentials/authorize":         {"credentialID numSignatures hash PIN OTP description clientData", "credentialID numSignatures hashes hashAlgorithmOID authData description clientData"},
	"credentials/extendTransaction": {"credentialID hash SAD clientData", "credentialID hashes hashAlgorithmOID SAD clientData"},
	"signatures/signHash":           {"credentialID SAD hash hashAlgo signAlgo signAlgoParams clientData", "credentialID SAD hashes hashAlgorithmOID signAlgo signAlgoParams operationMode validity_period response_uri clientData"},
}

// foreign notes parameters that the version's method does not have.
func (p *Provider) foreign(c *Call) {
	known, ok := parameters[c.Endpoint]
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Body)) {
		if !slices.Contains(strings.Fields(known[c.Version-1]), name) {
			p.complain(c, "there is no parameter %s", name)
		}
		if c.Body[name] == nil {
			p.complain(c, "parameter %s is null", name)
		}
	}
}

// write sends the answer, or as much of it as the fault leaves.
func (a *answer) write(w http.ResponseWriter, r *http.Request, hang time.Duration) {
	rc := http.NewResponseController(w)
	if a.hang {
		select {
		case <-time.After(hang):
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
	if a.cut == "before" {
		panic(http.ErrAbortHandler)
	}
	body := a.raw
	if body == nil && a.body != nil {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(a.body)
		body = buf.Bytes()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json;charset=UTF-8")
	h.Set("Cache-Control", "no-store")
	for k, v := range a.header {
		if v == "" {
			h.Del(k)
		} else {
			h.Set(k, v)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if a.cut == "after" {
		h.Set("Connection", "close")
	}
	w.WriteHeader(a.status)
	switch {
	case a.cut == "headers":
		_ = rc.Flush()
		panic(http.ErrAbortHandler)
	case a.cut == "body":
		_, _ = w.Write(body[:len(body)/2])
		_ = rc.Flush()
		panic(http.ErrAbortHandler)
	case a.drip:
		for i := range body {
			if _, err := w.Write(body[i : i+1]); err != nil {
				return
			}
			_ = rc.Flush()
			select {
			case <-time.After(hang / 20):
			case <-r.Context().Done():
				return
			}
		}
		return
	}
	_, _ = w.Write(body)
}
