package enroll

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// ClientCertificate may be presented in mutual TLS by an account's callers.
type ClientCertificate struct {
	ID, Name, Fingerprint, Subject string
	NotAfter, CreatedAt            time.Time
	// Given by the API key or the operator: only then it counts for a security
	// level. A token that registers a certificate of its own proves nothing.
	Given bool
}

// Fingerprint names a certificate: the SHA-256 of its DER, in hex.
func Fingerprint(der []byte) string {
	h := sha256.Sum256(der)
	return hex.EncodeToString(h[:])
}

// clientMark is the keyed digest of a client certificate's row, which rejects rows written by
// anybody else.
func (s *Service) clientMark(account string, c *ClientCertificate) []byte {
	sum := s.master.MAC("client certificate", fmt.Appendf(nil, "%q %q %q %q %q %d %t %d", c.ID, account, c.Name, c.Fingerprint, c.Subject, store.Millis(c.NotAfter), c.Given, store.Millis(c.CreatedAt)))
	return sum[:]
}

// AddClientCertificate registers a PEM certificate for an account. given says
// that the API key or the operator does.
func (s *Service) AddClientCertificate(ctx context.Context, account, name, text string, given bool) (*ClientCertificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fault.New(fault.BadField, "certificate must be a certificate in PEM")
	}
	x, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fault.New(fault.BadField, "certificate cannot be read").Because(err)
	}
	now := s.config.Now()
	if now.After(x.NotAfter) {
		return nil, fault.New(fault.BadField, "the certificate has expired")
	}
	c := &ClientCertificate{ID: store.NewID(), Name: name, Fingerprint: Fingerprint(x.Raw), Subject: x.Subject.String(), NotAfter: x.NotAfter, CreatedAt: now, Given: given}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if given { // in place of what a token has registered
			if _, err := s.dropClients(ctx, tx, account, `fingerprint = $2 and not given`, c.Fingerprint); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `insert into client_certificates (id, account_id, name, fingerprint, subject, not_after, given, created_at, mac) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			c.ID, account, c.Name, c.Fingerprint, c.Subject, store.Millis(c.NotAfter), c.Given, store.Millis(now), s.clientMark(account, c))
		if store.IsConflict(err) {
			return fault.New(fault.BadField, "the certificate is registered already")
		}
		if err != nil {
			return err
		}
		if err := Clients.Write(ctx, tx, s.audit, c.ID); err != nil {
			return err
		}
		return idempotency.ClaimFrom(ctx).Record(ctx, tx, c.ID, 0)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

const selectClient = `select id, name, fingerprint, subject, not_after, given, created_at, mac from client_certificates `

// scanClient reads a row; genuine says that this server wrote it.
func (s *Service) scanClient(account string, row store.Row) (c ClientCertificate, genuine bool, err error) {
	var after, created int64
	var mac []byte
	if err := row.Scan(&c.ID, &c.Name, &c.Fingerprint, &c.Subject, &after, &c.Given, &created, &mac); err != nil {
		return c, false, err
	}
	c.NotAfter, c.CreatedAt = store.Time(after), store.Time(created)
	return c, hmac.Equal(mac, s.clientMark(account, &c)), nil
}

// ClientCertificates of an account, newest first; only one when id is given.
func (s *Service) ClientCertificates(ctx context.Context, account, id, after string, skip, limit int) ([]ClientCertificate, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account, id)
	rows, err := s.db.Read().Query(ctx, selectClient+`where account_id = $1 and ($2 = '' or id = $2)`+tail, args...)
	all := []ClientCertificate{}
	return all, store.Each("enroll: client certificates", rows, err, func(r store.Row) error {
		c, genuine, err := s.scanClient(account, r)
		if genuine {
			all = append(all, c)
		}
		return err
	})
}

// Clients are the client certificates, as the audit log keeps track of them: one that was
// removed does not count again if its row is restored.
var Clients = &audit.Register{
	Kind: "client-certificate", Table: "client_certificates", Key: "id", Name: "client certificate",
	Select: `select id, account_id, mac from client_certificates`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r, mac := &audit.Registered{}, []byte(nil)
		err := row.Scan(&r.ID, &r.Account, &mac)
		r.Traits = []any{mac}
		return r, err
	},
}

// dropClients takes client certificates of an account away.
func (s *Service) dropClients(ctx context.Context, tx *store.Tx, account, where, arg string) (int, error) {
	rows, err := tx.Query(ctx, `delete from client_certificates where account_id = $1 and `+where+` returning id`, account, arg)
	ids, err := store.All("enroll: remove client certificates", rows, err, store.Column[string])
	if err != nil {
		return 0, err
	}
	return len(ids), Clients.Remove(ctx, tx, s.audit, account, ids...)
}

// RemoveClientCertificate removes a certificate; fault 140 when there is none. When it returns,
// no use of a key that relied on it is under way.
func (s *Service) RemoveClientCertificate(ctx context.Context, account, id string) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := intent.Forbid(ctx, tx, intent.Account, account); err != nil {
			return err
		}
		n, err := s.dropClients(ctx, tx, account, `id = $2`, id)
		if err == nil && n == 0 {
			err = fault.New(fault.NotFound, "no such client certificate")
		}
		return err
	})
	if err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Account, account)
}

// KnowsClientIn has a transaction fail with an error where a client certificate
// is not registered any more, or past its end.
func (s *Service) KnowsClientIn(ctx context.Context, tx *store.Tx, account, fingerprint string, otherwise error) error {
	known, err := s.knows(ctx, tx, account, fingerprint)
	if err == nil && !known {
		err = otherwise
	}
	return err
}

// knows reports whether a client certificate satisfies a security level: the row is genuine,
// and the log does not say that it was removed.
func (s *Service) knows(ctx context.Context, q store.Querier, account, fingerprint string) (bool, error) {
	c, genuine, err := s.scanClient(account, q.QueryRow(ctx, selectClient+`where account_id = $1 and fingerprint = $2`, account, fingerprint))
	if errors.Is(err, store.ErrNoRows) {
		return false, nil
	}
	if err != nil || !genuine || !c.Given || !s.config.Now().Before(c.NotAfter) {
		return false, err
	}
	return Clients.Holds(ctx, q, s.audit, c.ID)
}

// KnowsClient says whether a certificate is registered for an account, by its API
// key or the operator, and still good.
func (s *Service) KnowsClient(ctx context.Context, account string, der []byte) (bool, error) {
	if len(der) == 0 {
		return false, nil
	}
	return s.knows(ctx, s.db.Read(), account, Fingerprint(der))
}
