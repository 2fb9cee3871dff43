package enroll

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// ClientCertificate may be presented in mutual TLS by an account's callers.
type ClientCertificate struct {
	ID, Name, Fingerprint, Subject string
	NotAfter, CreatedAt            time.Time
}

// Fingerprint names a certificate: the SHA-256 of its DER, in hex.
func Fingerprint(der []byte) string {
	h := sha256.Sum256(der)
	return hex.EncodeToString(h[:])
}

// AddClientCertificate registers a PEM certificate for an account.
func (s *Service) AddClientCertificate(ctx context.Context, account, name, text string) (*ClientCertificate, error) {
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
	c := &ClientCertificate{ID: store.NewID(), Name: name, Fingerprint: Fingerprint(x.Raw), Subject: x.Subject.String(), NotAfter: x.NotAfter, CreatedAt: now}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into client_certificates (id, account_id, name, fingerprint, subject, not_after, created_at) values ($1, $2, $3, $4, $5, $6, $7)`,
			c.ID, account, c.Name, c.Fingerprint, c.Subject, store.Millis(c.NotAfter), store.Millis(now))
		if store.IsConflict(err) {
			return fault.New(fault.BadField, "the certificate is registered already")
		}
		if err != nil {
			return err
		}
		return idempotency.ClaimFrom(ctx).Record(ctx, tx, c.ID, 0)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

const selectClient = `select id, name, fingerprint, subject, not_after, created_at from client_certificates `

// ClientCertificates of an account, newest first; only one when id is given.
func (s *Service) ClientCertificates(ctx context.Context, account, id, after string, skip, limit int) ([]ClientCertificate, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account, id)
	rows, err := s.db.Read().Query(ctx, selectClient+`where account_id = $1 and ($2 = '' or id = $2)`+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("enroll: client certificates: %w", err)
	}
	defer rows.Close()
	all := []ClientCertificate{}
	for rows.Next() {
		var c ClientCertificate
		var after, created int64
		if err := rows.Scan(&c.ID, &c.Name, &c.Fingerprint, &c.Subject, &after, &created); err != nil {
			return nil, fmt.Errorf("enroll: client certificate: %w", err)
		}
		c.NotAfter, c.CreatedAt = store.Time(after), store.Time(created)
		all = append(all, c)
	}
	return all, rows.Err()
}

// RemoveClientCertificate takes one off the list; fault 140 when it is not
// there. No key is used on its strength any more when it returns.
func (s *Service) RemoveClientCertificate(ctx context.Context, account, id string) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := intent.Forbid(ctx, tx, intent.Account, account); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `delete from client_certificates where account_id = $1 and id = $2`, account, id)
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, "no such client certificate")
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
	return tx.Ask(ctx, func(row store.Row) error {
		var n int
		if err := row.Scan(&n); err != nil || n > 0 {
			return err
		}
		return otherwise
	}, `select count(*) from client_certificates where account_id = $1 and fingerprint = $2 and not_after > $3`, account, fingerprint, store.Millis(s.config.Now()))
}

// KnowsClient says whether a certificate is registered for an account and
// still good.
func (s *Service) KnowsClient(ctx context.Context, account string, der []byte) (bool, error) {
	if len(der) == 0 {
		return false, nil
	}
	var n int
	err := s.db.Read().QueryRow(ctx, `select count(*) from client_certificates where account_id = $1 and fingerprint = $2 and not_after > $3`,
		account, Fingerprint(der), store.Millis(s.config.Now())).Scan(&n)
	return n > 0, err
}
