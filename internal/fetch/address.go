package fetch

import (
	"net/netip"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
)

// normalHost normalizes the spellings of a host: case, the final dot, full-width letters and
// digits, and the many ways to write an IPv4 address.
func normalHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = strings.TrimSuffix(ascii, ".")
	}
	if a, ok := anyAddress(host); ok {
		return a.String()
	}
	return host
}

// checkHost judges a host as written; a name passes, since only the look-up can decide.
func (g *Guard) checkHost(host string) error {
	plain := normalHost(host)
	if plain == "localhost" || strings.HasSuffix(plain, ".localhost") {
		return &Refused{Why: "the host is this machine", private: true}
	}
	if plain == "" || strings.ContainsAny(plain, " %\x00") {
		return refuse("the host cannot be read")
	}
	if a, err := netip.ParseAddr(plain); err == nil {
		if g.guardian.SafeAddr(a) != nil || embedsSpecial(g.guardian, a) {
			return &Refused{Why: "the host is an address that may not be reached", private: true}
		}
		return nil
	}
	if looksNumeric(plain) {
		return refuse("the host is an address that cannot be read")
	}
	return nil
}

// anyAddress parses an address in any spelling that some resolver accepts: dotted with one to four
// parts, each decimal, octal or hexadecimal, and IPv6 with or without a zone, with IPv4 inside.
func anyAddress(host string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.WithZone("").Unmap(), true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 || host == "" {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		n, ok := anyNumber(p)
		if !ok {
			return netip.Addr{}, false
		}
		last := i == len(parts)-1
		if !last && n > 255 || last && n >= 1<<(8*uint(5-len(parts))) {
			return netip.Addr{}, false
		}
		if last {
			v = v<<(8*uint(5-len(parts))) | n
		} else {
			v = v<<8 | n
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func anyNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
		if s == "" {
			return 0, true // "0x" is zero to the C library
		}
	case len(s) > 1 && s[0] == '0':
		s, base = strings.TrimLeft(s, "0"), 8
		if s == "" {
			return 0, true
		}
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil
}

// looksNumeric reports whether a host's last label is a number: never a public name, so it must be
// an address that could not be parsed.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if strings.HasPrefix(last, "0x") {
		return true
	}
	return strings.Trim(last, "0123456789") == "" || strings.Contains(host, ":")
}

func parseAddrPort(address string) (netip.Addr, error) {
	ap, err := netip.ParseAddrPort(address)
	return ap.Addr().WithZone("").Unmap(), err
}

// embedsSpecial finds a forbidden IPv4 address inside an IPv6 one: NAT64 (RFC 6052), 6to4 (RFC
// 3056), IPv4-compatible, Teredo.
func embedsSpecial(g *ssrf.Guardian, a netip.Addr) bool {
	if a.Is4() {
		return false
	}
	b := a.As16()
	for _, form := range embeddings {
		if form.prefix.Contains(a) {
			inner := netip.AddrFrom4([4]byte(b[form.at : form.at+4]))
			if form.never || g.SafeAddr(inner) != nil {
				return true
			}
		}
	}
	return false
}

var embeddings = []struct {
	prefix netip.Prefix
	at     int
	never  bool
}{
	{prefix: netip.MustParsePrefix("64:ff9b::/96"), at: 12},
	{prefix: netip.MustParsePrefix("64:ff9b:1::/48"), never: true, at: 12},
	{prefix: netip.MustParsePrefix("2002::/16"), at: 2},
	{prefix: netip.MustParsePrefix("2001::/32"), never: true, at: 12},
	{prefix: netip.MustParsePrefix("::/96"), never: true, at: 12},
}
