package account

import (
	"net"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/money"
)

// Scope is METHOD:domain/segment, the right to call a method on all paths
// under a first segment. "*" means any method, domain or segment.
type Scope struct {
	Method, Domain, Segment string
}

// AllScopes is the scope that allows everything.
const AllScopes = "*:*/*"

var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "*"}

// ParseScope reads a scope; what is not one is fault 80.
func ParseScope(s string) (Scope, error) {
	method, rest, ok := strings.Cut(s, ":")
	domain, segment, found := strings.Cut(rest, "/")
	sc := Scope{strings.ToUpper(method), strings.ToLower(domain), segment}
	if !ok || !found || len(s) > 300 || !slices.Contains(methods, sc.Method) || !isDomain(sc.Domain) || !isSegment(segment) {
		return Scope{}, fault.New(fault.BadScopes, "scope %q is not METHOD:domain/segment", Shorten(s))
	}
	return sc, nil
}

func (s Scope) String() string { return s.Method + ":" + s.Domain + "/" + s.Segment }

// Covers says whether everything that o allows is allowed by s. Domains say
// where a client believes to be, and grant nothing.
func (s Scope) Covers(o Scope) bool {
	return (s.Method == "*" || s.Method == o.Method) && (s.Segment == "*" || s.Segment == o.Segment)
}

// meet is what two scopes both allow, if that is anything.
func (s Scope) meet(o Scope) (Scope, bool) {
	method, ok := meet(s.Method, o.Method)
	segment, fine := meet(s.Segment, o.Segment)
	return Scope{method, s.Domain, segment}, ok && fine
}

func meet(a, b string) (string, bool) {
	if a == "*" {
		return b, true
	}
	return a, b == "*" || a == b
}

func isDomain(s string) bool {
	if s == "*" {
		return true
	}
	host := s
	if h, port, err := net.SplitHostPort(s); err == nil && port != "" {
		host = h
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == ':' || r == '[' || r == ']' || r == '_' || r == '*')
	})
}

func isSegment(s string) bool {
	if s == "*" {
		return true
	}
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' || r == '~')
	})
}

func Shorten(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Endpoint is a method on a first segment that the server answers.
type Endpoint struct{ Method, Segment string }

// scopesFor judges the scopes asked for a token by a caller (nil: the
// operator) who reached the server as host.
func (s *Service) scopesFor(c *Caller, host string, asked []string) ([]string, error) {
	if len(asked) == 0 {
		return nil, fault.New(fault.ScopesMissing, "scopes are missing")
	}
	if len(asked) > 200 {
		return nil, fault.New(fault.BadScopes, "scopes: more than 200")
	}
	list := make([]string, 0, len(asked))
	for _, text := range asked {
		sc, err := ParseScope(text)
		if err != nil {
			return nil, err
		}
		if err := s.enabled(c, host, sc); err != nil {
			return nil, err
		}
		if c != nil && c.TokenID != "" && !covers(c.scopes, sc) {
			return nil, fault.New(fault.ScopeLacking, "a token cannot give the scope %s, which it lacks", sc)
		}
		list = append(list, sc.String())
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func (s *Service) enabled(c *Caller, host string, sc Scope) error {
	ours := sc.Domain == "*" || strings.EqualFold(sc.Domain, host) || s.ownDomain(sc.Domain)
	if !ours && !s.cfg.AnyDomain && (c == nil || !c.Sandbox) {
		return fault.New(fault.ScopeNotEnabled, "scope %s: the domain is not enabled", sc)
	}
	if ours && !s.knownSegment(sc) {
		return fault.New(fault.ScopeNotEnabled, "scope %s: there is no such resource", sc)
	}
	return nil
}

func (s *Service) ownDomain(domain string) bool {
	host := domain
	if h, _, err := net.SplitHostPort(domain); err == nil {
		host = h
	}
	return slices.ContainsFunc(s.domains, func(d string) bool { return d == domain || d == host })
}

func (s *Service) knownSegment(sc Scope) bool {
	if sc.Segment == "*" {
		return true
	}
	list := s.endpoints.Load()
	return list == nil || slices.ContainsFunc(*list, func(e Endpoint) bool { return e.Segment == sc.Segment })
}

// domainOf is the domain that a request is counted under: the one it named, if
// it is ours. A client cannot fill the tables with names of its own.
func (s *Service) domainOf(host string) string {
	if len(s.domains) == 0 {
		return "localhost"
	}
	for _, d := range s.domains {
		if d == host {
			return HostOnly(d)
		}
	}
	return HostOnly(s.domains[len(s.domains)-1])
}

// RateLimit is the rate of a token in words; "" for none.
func (s *Service) RateLimit() string {
	if s.cfg.Rate <= 0 {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(money.Micro(s.cfg.Rate*1e6).String(), "0"), ".") + "/s"
}

// Scopes are all that can be asked for: every call of every domain.
func (s *Service) Scopes() (list []Scope) {
	endpoints := s.endpoints.Load()
	if endpoints == nil {
		return nil
	}
	domains := slices.Clone(s.domains)
	slices.Sort(domains)
	for _, domain := range slices.Compact(domains) {
		for _, e := range *endpoints {
			list = append(list, Scope{e.Method, domain, e.Segment})
		}
	}
	return list
}
