package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks whose word on a client's address is believed.
type Proxies []netip.Prefix

// client is the address of the client: the peer's, unless the peer is a
// trusted proxy; then the last address of X-Forwarded-For (or Forwarded) that
// is not a trusted proxy's. What stands before that one is hearsay.
func (p Proxies) client(r *http.Request) string {
	if len(p) == 0 {
		return r.RemoteAddr
	}
	peer, ok := parseAddr(host(r.RemoteAddr))
	if !ok || !p.Trusts(peer) {
		return r.RemoteAddr
	}
	chain := forwarded(r.Header)
	best := peer
	for i := len(chain) - 1; i >= 0; i-- {
		addr, ok := parseAddr(chain[i])
		if !ok {
			break
		}
		best = addr
		if !p.Trusts(addr) {
			break
		}
	}
	if best == peer {
		return r.RemoteAddr
	}
	return netip.AddrPortFrom(best, 0).String()
}

// Trusts says whether an address is a trusted proxy's.
func (p Proxies) Trusts(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// forwarded lists the addresses that proxies wrote down, nearest last.
func forwarded(h http.Header) []string {
	var chain []string
	for _, line := range h.Values("X-Forwarded-For") {
		for part := range strings.SplitSeq(line, ",") {
			chain = append(chain, strings.TrimSpace(part))
		}
	}
	if chain != nil {
		return chain
	}
	for _, line := range h.Values("Forwarded") {
		for element := range strings.SplitSeq(line, ",") {
			chain = append(chain, forwardedFor(element))
		}
	}
	return chain
}

// forwardedFor is the for= of one element of RFC 7239's header.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		k, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(k, "for") {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

func parseAddr(s string) (netip.Addr, bool) {
	s = strings.TrimPrefix(s, "[")
	if i := strings.IndexByte(s, ']'); i >= 0 {
		s = s[:i]
	} else if strings.Count(s, ":") == 1 {
		s, _, _ = strings.Cut(s, ":")
	}
	a, err := netip.ParseAddr(s)
	return a.Unmap().WithZone(""), err == nil
}

// Network is what counts as one client: an address, or what of an IPv6 address
// one customer is usually given.
func Network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // which every IPv6 address has
		return p.Addr()
	}
	return a
}

func host(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return h
}
