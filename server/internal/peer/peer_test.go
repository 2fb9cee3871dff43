package peer

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddress(t *testing.T) {
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		why, peer, header, value, want string
		proxies                        Proxies
	}{
		{"nobody is trusted", "10.0.0.1:5", "X-Forwarded-For", "203.0.113.1", "10.0.0.1", nil},
		{"a stranger's word", "198.51.100.1:5", "X-Forwarded-For", "203.0.113.1", "198.51.100.1", trusted},
		{"one proxy", "10.0.0.1:5", "X-Forwarded-For", "203.0.113.1", "203.0.113.1", trusted},
		{"what the client itself wrote is hearsay", "10.0.0.1:5", "X-Forwarded-For", "127.0.0.1, 203.0.113.1", "203.0.113.1", trusted},
		{"two proxies", "10.0.0.1:5", "X-Forwarded-For", "203.0.113.1, 10.9.9.9", "203.0.113.1", trusted},
		{"no header", "10.0.0.1:5", "", "", "10.0.0.1", trusted},
		{"rubbish", "10.0.0.1:5", "X-Forwarded-For", "unknown", "10.0.0.1", trusted},
		{"rubbish before a proxy", "10.0.0.1:5", "X-Forwarded-For", "x, 10.2.2.2", "10.2.2.2", trusted},
		{"port", "10.0.0.1:5", "X-Forwarded-For", "203.0.113.1:4711", "203.0.113.1", trusted},
		{"mapped", "[::ffff:10.0.0.1]:5", "X-Forwarded-For", "::ffff:203.0.113.1", "203.0.113.1", trusted},
		{"version 6", "[fd00::1]:5", "X-Forwarded-For", "2001:db8::1", "2001:db8::1", trusted},
		{"RFC 7239", "10.0.0.1:5", "Forwarded", `for=203.0.113.1;proto=https, for="[2001:db8::2]:80"`, "2001:db8::2", trusted},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		if got := Host(c.proxies.Client(r)); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

// A proxy writes one header and lets the other pass as its client sent it.
func TestOwnHeaderDoesNotWin(t *testing.T) {
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct{ why, xff, forwarded, want string }{
		{"the proxy writes Forwarded", "192.0.2.9", "for=203.0.113.1", "10.0.0.1"},
		{"the proxy writes X-Forwarded-For", "203.0.113.1", "for=192.0.2.9", "10.0.0.1"},
		{"both say the same", "203.0.113.1", "for=203.0.113.1", "203.0.113.1"},
		{"both, with hearsay", "192.0.2.9, 203.0.113.1", `for=192.0.2.8, for="203.0.113.1:99"`, "203.0.113.1"},
		{"the other is rubbish", "203.0.113.1", "for=unknown", "10.0.0.1"},
		{"the other is empty", "203.0.113.1", "", "10.0.0.1"},
		{"the client's is empty", "", "for=203.0.113.1", "10.0.0.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:5"
		r.Header.Set("X-Forwarded-For", c.xff)
		r.Header.Set("Forwarded", c.forwarded)
		if got := Host(trusted.Client(r)); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("203.0.113.1, 10.0.0.2", `for="[::1]:3"`)
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, xff, fwd string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = []string{xff}
		r.Header["Forwarded"] = []string{fwd}
		if _, err := netip.ParseAddr(Host(trusted.Client(r))); err != nil {
			t.Fatalf("%q %q: %v", xff, fwd, err)
		}
	})
}
