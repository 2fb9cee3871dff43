package api

import (
	"context"
	"net/http"
)

type peerKey struct{}

// Peer remembers the certificate that a client presented in mutual TLS, for
// operations that ask for it. It stands around the API's handler.
func Peer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
