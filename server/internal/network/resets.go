package network

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
)

// resets counts the requests of an HTTP/2 connection that its client took back,
// less those that it waited for. net/http bounds how many run at once, not how
// fast they come and go (CVE-2023-44487): a connection that does nothing else is
// closed. One that many share, a proxy's, has more answers than resets.
type resets struct {
	conn net.Conn
	n    atomic.Int32
}

const maxResets = 200

type resetsKey struct{}

// endResets does nothing for a request that was taken back before it began, and
// closes the connections that it counts too many on.
func endResets(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			next.ServeHTTP(w, r)
			return
		}
		if r.Context().Err() == nil {
			next.ServeHTTP(w, r)
		}
		c, ok := r.Context().Value(resetsKey{}).(*resets)
		if ok && c.tooMany(r.Context().Err() != nil) {
			log.Warn("closed a connection whose requests are taken back", "client", r.RemoteAddr)
			_ = c.conn.Close() // no one is left to report an error to
		}
	})
}

// tooMany counts one request, and says so once.
func (c *resets) tooMany(takenBack bool) bool {
	if takenBack {
		return c.n.Add(1) == maxResets
	}
	if c.n.Load() > 0 {
		c.n.Add(-1)
	}
	return false
}
