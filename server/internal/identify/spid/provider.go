package spid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// Metadata are read again after a day, and after ten minutes where that failed.
const (
	refresh     = 24 * time.Hour
	retry       = 10 * time.Minute
	loadTime    = 15 * time.Second
	maxMetadata = 8 << 20 // AgID's file of all providers has less than 1 MB
	maxEntities = 256
	maxCerts    = 16
)

// provider is an identity provider, as its metadata say.
type provider struct {
	entity, name  string
	sso, slo      map[string]string // by binding
	sloResponse   map[string]string // where logout answers go, if elsewhere
	all           []*pkix.Certificate
	until         time.Time // zero: no end
	at            string    // the source
	insecureParts bool      // an address that may not be talked to was left out
}

// certs are the certificates that count at a time.
func (p *provider) certs(now time.Time) []*pkix.Certificate {
	var out []*pkix.Certificate
	for _, c := range p.all {
		if !now.Before(c.NotBefore) && now.Before(c.NotAfter) {
			out = append(out, c)
		}
	}
	return out
}

func (p *provider) usable(now time.Time) bool {
	return (p.until.IsZero() || now.Before(p.until)) && len(p.certs(now)) > 0 && len(p.sso) > 0
}

// source is a file or an address with metadata.
type source struct {
	at      string
	loading sync.Mutex
	now     atomic.Pointer[loaded]
}

// loaded is what a source had. It is not changed.
type loaded struct {
	providers []*provider
	read      time.Time // when it was last read well; zero: never
	next      time.Time
	err       error // why it could not be read the last time
}

// providers are those that count now. Where two sources name one entity, the
// first counts.
func (s *SPID) providers(ctx context.Context) []*provider {
	read := make([]*loaded, len(s.sources))
	var all sync.WaitGroup // one that hangs is waited for once, not one after the other
	for i, src := range s.sources {
		all.Go(func() { read[i] = s.load(ctx, src, false) })
	}
	all.Wait()
	now := s.now()
	var out []*provider
	known := map[string]bool{}
	for _, l := range read {
		for _, p := range l.providers {
			if p.usable(now) && !known[p.entity] {
				known[p.entity] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// load reads a source if it is time to. Callers that come while another one is reading it get the
// previous state.
func (s *SPID) load(ctx context.Context, src *source, again bool) *loaded {
	old := src.now.Load()
	if old != nil && !again && s.now().Before(old.next) {
		return old
	}
	if old == nil || again {
		src.loading.Lock()
	} else if !src.loading.TryLock() {
		return old
	}
	defer src.loading.Unlock()
	if now := src.now.Load(); now != old { // it has been read meanwhile
		return now
	}
	next := &loaded{read: s.now(), next: s.now().Add(refresh)}
	if next.providers, next.err = s.fetch(ctx, src.at); next.err != nil {
		s.deps.Log.Warn("SPID metadata could not be read", "source", src.at, "error", next.err)
		next.read, next.next = time.Time{}, s.now().Add(retry)
		if old != nil { // it counts until its own end
			next.providers, next.read = old.providers, old.read
		}
	}
	src.now.Store(next)
	return next
}

// fetch does not end with the visitor who happened to come first.
func (s *SPID) fetch(ctx context.Context, at string) ([]*provider, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
	defer cancel()
	text, err := s.octets(ctx, at)
	if err != nil {
		return nil, err
	}
	found, err := s.parseProviders(text)
	if err != nil {
		return nil, fmt.Errorf("metadata of identity providers: %w", err)
	}
	for _, p := range found {
		p.at = at
	}
	return found, nil
}

func (s *SPID) octets(ctx context.Context, at string) ([]byte, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		f, err := os.Open(strings.TrimPrefix(at, "file://"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return bounded(f)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.deps.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", answer.Status)
	}
	return bounded(answer.Body)
}

func bounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err == nil && len(b) > maxMetadata {
		err = fmt.Errorf("more than %d bytes", maxMetadata)
	}
	return b, err
}

// parseProviders reads an EntityDescriptor, or an EntitiesDescriptor as AgID
// publishes it. They are believed for where they come from: a file of the
// operator's, or an https address. A signature of the root that does not fit
// its own certificate shows a document that was cut or changed, which is not
// read.
func (s *SPID) parseProviders(text []byte) ([]*provider, error) {
	d, err := xmldom.Parse(string(text), xmldom.Limits{Size: maxMetadata, Depth: 48, Nodes: 400_000, Attributes: 64, Bindings: 64})
	if err != nil {
		return nil, err
	}
	defer d.Release()
	root := d.Root()
	if sig := root.Children(xmldsig.Space, "Signature"); len(sig) > 0 {
		if len(sig[0].Descendants(xmldsig.Space, "Reference")) != 1 {
			return nil, errors.New("a signature that is not of one reference")
		}
		var certs []*pkix.Certificate
		for _, der := range xmldsig.Certificates(sig[0].Child(xmldsig.Space, "KeyInfo")) {
			if c, err := pkix.ParseCertificate(der); err == nil && len(certs) < maxCerts {
				certs = append(certs, c)
			}
		}
		if _, err := xmldsig.VerifyEnveloped(d, certs); errors.Is(err, xmldsig.ErrDigest) || errors.Is(err, pkix.ErrSignature) {
			return nil, err
		}
	}
	entities := []*xmldom.Node{root}
	if root.Is(saml.Metadata, "EntitiesDescriptor") {
		entities = root.Descendants(saml.Metadata, "EntityDescriptor")
	} else if !root.Is(saml.Metadata, "EntityDescriptor") {
		return nil, errors.New("not SAML metadata")
	}
	if len(entities) > maxEntities {
		return nil, fmt.Errorf("more than %d entities", maxEntities)
	}
	var found []*provider
	known := map[string]bool{}
	missing := errors.New("no identity provider in it")
	for _, e := range entities {
		p, err := s.parseProvider(e)
		if err != nil { // the others still count
			s.deps.Log.Warn("SPID metadata of an identity provider are not used", "error", err)
			missing = err
			continue
		}
		if p == nil { // not an identity provider
			continue
		}
		if known[p.entity] {
			return nil, errors.New("an entity stands there twice")
		}
		known[p.entity] = true
		found = append(found, p)
	}
	if len(found) == 0 {
		return nil, missing
	}
	return found, nil
}

func (s *SPID) parseProvider(e *xmldom.Node) (*provider, error) {
	roles := e.Children(saml.Metadata, "IDPSSODescriptor")
	if len(roles) == 0 {
		return nil, nil
	}
	if len(roles) > 1 {
		return nil, errors.New("an entity with two roles of identity provider")
	}
	role := roles[0]
	p := &provider{
		entity: strings.Clone(e.Attr("entityID")),
		sso:    s.endpoints(role, "SingleSignOnService", "Location"), slo: s.endpoints(role, "SingleLogoutService", "Location"),
		sloResponse: s.endpoints(role, "SingleLogoutService", "ResponseLocation"),
	}
	if p.entity == "" || len(p.entity) > 1024 {
		return nil, errors.New("an entity without a name")
	}
	for n := role; n != nil && n.Kind == xmldom.Element; n = n.Parent {
		v, ok := n.LookupAttr("", "validUntil")
		if !ok {
			continue
		}
		t, err := saml.Time(v)
		if err != nil {
			return nil, errors.New("validUntil is not an instant")
		}
		if p.until.IsZero() || t.Before(p.until) {
			p.until = t
		}
	}
	for _, k := range role.Children(saml.Metadata, "KeyDescriptor") {
		if use, ok := k.LookupAttr("", "use"); ok && use != "signing" {
			continue
		}
		for _, der := range xmldsig.Certificates(k.Child(xmldsig.Space, "KeyInfo")) {
			if c, err := pkix.ParseCertificate(der); err == nil && len(p.all) < maxCerts {
				p.all = append(p.all, c)
			}
		}
	}
	p.name = displayName(e, p.entity)
	p.insecureParts = len(p.sso) == 0 && len(role.Children(saml.Metadata, "SingleSignOnService")) > 0
	return p, nil
}

// endpoints are the addresses of a service by binding, the first of each.
func (s *SPID) endpoints(role *xmldom.Node, service, attr string) map[string]string {
	out := map[string]string{}
	for _, n := range role.Children(saml.Metadata, service) {
		b, at := n.Attr("Binding"), n.Attr(attr)
		if (b == saml.POST || b == saml.Redirect) && out[b] == "" && len(at) <= 2048 && s.secure(at) {
			out[strings.Clone(b)] = strings.Clone(at)
		}
	}
	return out
}

// displayName is what people are shown: Italian, else the first there is. Some
// have an address there.
func displayName(e *xmldom.Node, entity string) string {
	name, o := "", e.Child(saml.Metadata, "Organization")
	for _, n := range append(o.Children(saml.Metadata, "OrganizationDisplayName"), o.Children(saml.Metadata, "OrganizationName")...) {
		lang, _ := n.LookupAttr("http://www.w3.org/XML/1998/namespace", "lang")
		v, ok := saml.Value(n)
		if !ok || v == "" || len(v) > 200 || strings.Contains(v, "://") {
			continue
		}
		if name == "" || lang == "it" {
			name = strings.Join(strings.Fields(v), " ")
		}
		if lang == "it" {
			break
		}
	}
	if u, err := url.Parse(entity); name == "" && err == nil && u.Host != "" {
		name = u.Host
	}
	if name == "" {
		name = entity
	}
	return name
}
