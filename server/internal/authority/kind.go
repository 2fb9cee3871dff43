package authority

import (
	"context"
	"crypto/x509"
	"errors"
	"net/url"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// sandboxMark ends the name of a sandbox's authority.
const sandboxMark = " SANDBOX"

// ErrKind means that the existing authority was made for a sandbox and the installation is not one,
// or the other way round.
var ErrKind = errors.New("the authority of this installation was made for a sandbox, or this is one and its authority was not: " +
	"start with an empty database and data folder (rogito init)")

// openKind checks whether the existing authority suits the installation. A command may have made it
// before the kind of the installation and its public address were configured, so it is replaced as
// long as it has issued nothing.
func (a *Authority) openKind(ctx context.Context) error {
	root, err := a.load(ctx, "root")
	if err != nil || root.Certificate == nil {
		return err
	}
	issuing, err := a.load(ctx, "issuing")
	if err != nil {
		return err
	}
	wrong := isSandbox(root.Certificate) != a.config.Sandbox
	if !wrong && (a.config.PublicURL == "" || reachable(issuing.Certificate)) {
		return nil
	}
	return a.db.Write(ctx, func(tx *store.Tx) error {
		var used bool
		err := tx.QueryRow(ctx, `select exists (select 1 from authority_issued where certificate_id <> '')`).Scan(&used)
		switch {
		case err != nil:
			return err
		case used && wrong:
			return ErrKind
		case used:
			return nil // its certificates stay, wherever they point
		}
		for _, sql := range []string{
			`delete from authority_keys where name in ('root', 'issuing', 'ocsp', 'tsa', 'seal')`,
			`delete from authority_issued`,
			`delete from authority_crl`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

func isSandbox(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.Subject.Organization, func(o string) bool { return strings.HasSuffix(o, sandboxMark) })
}

// reachable says that a certificate points to an address, not to a path.
func reachable(c *x509.Certificate) bool {
	if c == nil || len(c.CRLDistributionPoints) == 0 {
		return false
	}
	u, err := url.Parse(c.CRLDistributionPoints[0])
	return err == nil && u.Host != ""
}
