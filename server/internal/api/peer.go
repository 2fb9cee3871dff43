package api

import (
	"context"
	"net/http"
	"strings"
)

type (
	peerKey   struct{}
	directKey struct{}
)

// Peer remembers the certificate that a client presented in mutual TLS, for
// operations that ask for it, and the address of the peer, which
// may be a proxy's. It wraps the API's handler.
func Peer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/cns/") { // the only ones who ask
			r = r.WithContext(context.WithValue(r.Context(), directKey{}, r.RemoteAddr))
		}
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, r.TLS.PeerCertificates[0].Raw))
		}
		next.ServeHTTP(w, r)
	})
}

func PeerFrom(ctx context.Context) []byte {
	der, _ := ctx.Value(peerKey{}).([]byte)
	return der
}

// DirectFrom is the address (HOST:PORT) of the connection's other end.
func DirectFrom(ctx context.Context) string {
	addr, _ := ctx.Value(directKey{}).(string)
	return addr
}
