package provider

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is an oddity or a fault that can be switched on.
type Fault struct {
	Name  string
	About string
	At    string // the endpoint whose answers change; "" for none
	Times int    // how many answers; 0: all
	Skip  int    // answers before that are left alone
	// Want is what the contract lets a signature end as: DONE, or the code of
	// the record; words where it leaves open which.
	Want string
	Docs int    // documents that a request needs to show it; 0: one
	Key  string // the credential that shows it; "": rsa
	Only int    // the version that it exists in; 0: both
	// Enrol says that it is on while the credential is taken into use, too.
	Enrol bool

	before func(*Provider, *Call) *answer
	after  func(*Provider, *Call, *answer)
	set    func(*Provider)
}

type active struct {
	*Fault
	left int // -1: for ever
	skip int
}

// Switch switches a fault on.
func (p *Provider) Switch(name string) {
	i := slices.IndexFunc(Faults, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		panic("provider: no fault is called " + name)
	}
	f := &Faults[i]
	p.mu.Lock()
	left := f.Times
	if left == 0 {
		left = -1
	}
	p.faults = append(p.faults, &active{f, left, f.Skip})
	if p.saved == nil {
		p.saved = map[string]Credential{}
		for id, c := range p.credentials {
			p.saved[id] = *c
		}
	}
	p.mu.Unlock()
	if f.set != nil {
		f.set(p)
	}
}

// on says whether a fault is on; the lock is held.
func (p *Provider) on(name string) bool {
	return slices.ContainsFunc(p.faults, func(a *active) bool { return a.Name == name })
}

func (p *Provider) hit(c *Call) []*active {
	var out []*active
	for _, a := range p.faults {
		if a.At == "" || a.At != c.Endpoint || a.left == 0 {
			continue
		}
		if a.skip > 0 {
			if c.Fault == "" {
				a.skip--
				c.Fault = "later: " + a.Name // counted once, though looked at before and after
			}
			continue
		}
		if c.Fault != "later: "+a.Name {
			out = append(out, a)
		}
	}
	return out
}

func (p *Provider) before(c *Call) *answer {
	for _, a := range p.hit(c) {
		if a.before == nil {
			continue
		}
		if out := a.before(p, c); out != nil {
			a.left--
			c.Fault = a.Name
			return out
		}
	}
	return nil
}

func (p *Provider) after(c *Call, out *answer) {
	for _, a := range p.hit(c) {
		if a.after == nil || out.status >= 300 {
			continue
		}
		a.after(p, c, out)
		a.left--
		c.Fault = a.Name
	}
}

const (
	signing   = "signatures/signHash"
	approving = "credentials/authorize"
	asking    = "credentials/info"
	tokens    = "oauth2/token"
)

// status answers with a status before anything is done.
func status(code int, header ...string) func(*Provider, *Call) *answer {
	return func(*Provider, *Call) *answer {
		a := refuse(code, "server_error", fmt.Sprintf("The provider answers %d on purpose", code))
		if code < 500 {
			a.body["error"] = "access_denied"
		}
		a.header = map[string]string{}
		for i := 0; i+1 < len(header); i += 2 {
			a.header[header[i]] = header[i+1]
		}
		return a
	}
}

func says(code, description string) func(*Provider, *Call) *answer {
	return func(*Provider, *Call) *answer { return refuse(http.StatusBadRequest, code, description) }
}

// values changes the signature values of an answer.
func values(change func(*Provider, *Call, []string) any) func(*Provider, *Call, *answer) {
	return func(p *Provider, c *Call, a *answer) {
		if list, is := a.body["signatures"].([]string); is {
			a.body["signatures"] = change(p, c, list)
		}
	}
}

// each changes every value.
func each(change func([]byte) string) func(*Provider, *Call, *answer) {
	return values(func(_ *Provider, _ *Call, list []string) any {
		for i, s := range list {
			b, _ := base64.StdEncoding.DecodeString(s)
			list[i] = change(b)
		}
		return list
	})
}

// with changes the answer as a whole.
func with(change func(*answer)) func(*Provider, *Call, *answer) {
	return func(_ *Provider, _ *Call, a *answer) { change(a) }
}

func raw(text, contentType string) func(*Provider, *Call, *answer) {
	return with(func(a *answer) {
		a.raw, a.header = []byte(text), map[string]string{"Content-Type": contentType}
	})
}

// member sets a member of the answer, nil removes it. Dots lead inside.
func member(path string, value any) func(*Provider, *Call, *answer) {
	return with(func(a *answer) {
		m := a.body
		parts := strings.Split(path, ".")
		for _, name := range parts[:len(parts)-1] {
			m, _ = m[name].(map[string]any)
		}
		if m == nil {
			return
		}
		if value == nil {
			delete(m, parts[len(parts)-1])
			return
		}
		m[parts[len(parts)-1]] = value
	})
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// plainValue turns an ECDSA value from DER to r‖s.
func plainValue(der []byte) string {
	var v struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &v); err != nil {
		return b64(der)
	}
	out := make([]byte, 64)
	v.R.FillBytes(out[:32])
	v.S.FillBytes(out[32:])
	return b64(out)
}

// otherKey signs what was asked for with another key.
func otherKey(p *Provider, c *Call, list []string) any {
	key := p.credentials["rsa3072"].Actor.Key
	if name, _ := c.Body["credentialID"].(string); !p.credentials[name].rsa() {
		key = p.credentials["seal"].Actor.Key
	}
	for i, h := range c.Hashes() {
		digest, _ := base64.StdEncoding.DecodeString(h)
		v, err := key.Sign(rand.Reader, digest, crypto.SHA256)
		if err == nil && i < len(list) {
			list[i] = b64(v)
		}
	}
	return list
}

// otherHash signs something else with the right key.
func otherHash(p *Provider, c *Call, list []string) any {
	name, _ := c.Body["credentialID"].(string)
	for i := range list {
		digest := sha256.Sum256([]byte{byte(i)})
		if v, err := p.credentials[name].Actor.Key.Sign(rand.Reader, digest[:], crypto.SHA256); err == nil {
			list[i] = b64(v)
		}
	}
	return list
}

// become changes the state of the credential that a call names, once it is over.
func become(state string) func(*Provider, *Call, *answer) {
	return func(p *Provider, c *Call, _ *answer) {
		name, _ := c.Body["credentialID"].(string)
		if state == "disabled" {
			p.credentials[name].KeyStatus = state
			return
		}
		p.credentials[name].Status = state
	}
}

// all changes every credential when the fault is switched on.
func all(change func(*Credential)) func(*Provider) {
	return func(p *Provider) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.credentials {
			change(c)
		}
	}
}

func chained(word string) func(*Provider) {
	return func(p *Provider) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.Chain = word
	}
}

// algorithms replaces key.algo of the keys of a kind.
func algorithms(rsa bool, list ...string) func(*Provider) {
	return all(func(c *Credential) {
		if c.rsa() == rsa {
			c.Algorithms = list
		}
	})
}

// negate turns s of an ECDSA value into n-s, which is as good.
func negate(p *Provider, c *Call, list []string) any {
	name, _ := c.Body["credentialID"].(string)
	pub, is := p.credentials[name].Actor.Key.Public().(*ecdsa.PublicKey)
	for i, s := range list {
		b, _ := base64.StdEncoding.DecodeString(s)
		var v struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(b, &v); err != nil || !is {
			continue
		}
		v.S.Sub(pub.Params().N, v.S)
		b, _ = asn1.Marshal(v)
		list[i] = b64(b)
	}
	return list
}

// hugely puts 80 MB of white space before an answer.
func hugely(a *answer) {
	a.raw = append(bytes.Repeat([]byte(" "), 80<<20), `{"signatures":[]}`...)
}

// hasty makes a SAD that has expired when it arrives.
func hasty(p *Provider, _ *Call, a *answer) {
	id, _ := a.body["SAD"].(string)
	if s := p.sads[id]; s != nil {
		s.until = time.Now().Add(-time.Second)
	}
}

func gone(p *Provider, _ *Call, a *answer) {
	id, _ := a.body["SAD"].(string)
	delete(p.sads, id)
}

// elsewhere sends a call on to another address of the provider.
func elsewhere(code int) func(*Provider, *Call) *answer {
	return func(p *Provider, _ *Call) *answer {
		return &answer{status: code, header: map[string]string{"Location": p.api.URL + "/trap"}, body: map[string]any{}}
	}
}
