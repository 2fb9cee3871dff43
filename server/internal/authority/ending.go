package authority

import (
	"context"
	"crypto/x509"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// Members are the authority's own certificates, the root's first.
func (a *Authority) Members() []*x509.Certificate {
	return []*x509.Certificate{a.root.Certificate, a.issuing.Certificate, a.responder.Certificate, a.unit.Certificate}
}

// Ending counts the certificates that are good, and those of them that end
// before a time.
func (a *Authority) Ending(ctx context.Context, before time.Time) (good, ending int64, err error) {
	err = a.db.Read().QueryRow(ctx, `select count(*), coalesce(sum(case when not_after < $2 then 1 else 0 end), 0)
		from authority_issued where certificate_id <> '' and revoked_at = 0 and not_after > $1`,
		store.Millis(a.config.Now()), store.Millis(before)).Scan(&good, &ending)
	return good, ending, err
}
