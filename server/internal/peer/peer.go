// Package peer says who is at the other end of a connection: whose address counts
// for a client's behind proxies, what of an address is one client, and since when
// the connection waits for it.
package peer

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Proxies are the networks whose word on a client's address is believed.
type Proxies []netip.Prefix

// Client is the address of the client: the peer's, unless the peer is a
// trusted proxy; then the last address of X-Forwarded-For or Forwarded that
// is not a trusted proxy's. Entries before that one are hearsay. A proxy
// writes one of the two and may let the client's own other one pass: where both
// are there and name different clients, neither is believed.
func (p Proxies) Client(r *http.Request) string {
	if len(p) == 0 {
		return r.RemoteAddr
	}
	peer, ok := Addr(Host(r.RemoteAddr))
	if !ok || !p.Trusts(peer) {
		return r.RemoteAddr
	}
	best := peer
	for i, chain := range [][]string{forwardedChain(r.Header["X-Forwarded-For"], strings.TrimSpace), forwardedChain(r.Header["Forwarded"], forwardedFor)} {
		if len(chain) == 0 {
			continue
		}
		named := p.last(peer, chain)
		if i == 1 && len(r.Header["X-Forwarded-For"]) > 0 && named != best {
			return r.RemoteAddr
		}
		best = named
	}
	if best == peer {
		return r.RemoteAddr
	}
	return netip.AddrPortFrom(best, 0).String()
}

// last is the last address of a chain that is not a trusted proxy's.
func (p Proxies) last(peer netip.Addr, chain []string) netip.Addr {
	best := peer
	for i := len(chain) - 1; i >= 0; i-- {
		addr, ok := Addr(chain[i])
		if !ok {
			break
		}
		best = addr
		if !p.Trusts(addr) {
			break
		}
	}
	return best
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

// forwardedChain lists the addresses that proxies wrote down, nearest last.
func forwardedChain(lines []string, address func(string) string) (chain []string) {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			chain = append(chain, address(part))
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

// Addr reads an address, with or without a port.
func Addr(s string) (netip.Addr, bool) {
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

// Host is what of HOST:PORT is before the port.
func Host(addr string) string {
	h, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return h
}

// Waiter gets the time since when a connection waits for its client to send or take
// the next piece, and with the zero time that it does not any more.
type Waiter interface{ WaitsForClient(since time.Time) }

type waiterKey struct{}

// WithWaiter returns the context of a connection with its Waiter.
func WithWaiter(ctx context.Context, w Waiter) context.Context {
	return context.WithValue(ctx, waiterKey{}, w)
}

// WaiterOf is nil on HTTP/2, where many requests share a connection.
func WaiterOf(r *http.Request) Waiter {
	if r.ProtoMajor != 1 {
		return nil
	}
	w, _ := r.Context().Value(waiterKey{}).(Waiter)
	return w
}
