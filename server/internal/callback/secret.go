package callback

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// Secret signs the callbacks of an account.
type Secret struct {
	Text      string // whsec_…
	CreatedAt time.Time
	ExpiresAt time.Time // zero: it is the current one
}

// overlap is how long a rotated secret stays good.
const overlap = 24 * time.Hour

// Secrets returns the account's secrets that are good now, the current one
// first. The first call makes one.
func (s *Sender) Secrets(ctx context.Context, account string) ([]Secret, error) {
	all, err := s.readSecrets(ctx, s.db.Read(), account)
	if err != nil || len(all) > 0 && all[0].ExpiresAt.IsZero() {
		return all, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := oneAtATime(ctx, tx, account); err != nil {
			return err
		}
		have, err := s.readSecrets(ctx, tx, account)
		if err != nil || len(have) > 0 && have[0].ExpiresAt.IsZero() {
			return err
		}
		return s.addSecret(ctx, tx, account)
	})
	if err != nil {
		return nil, err
	}
	return s.readSecrets(ctx, s.db.Read(), account)
}

// oneAtATime serialises changes of an account's secrets: two at once would leave two current
// ones, and a rotation would miss one of them.
func oneAtATime(ctx context.Context, tx *store.Tx, account string) error {
	_, err := tx.Exec(ctx, `update accounts set id = id where id = $1`, account)
	return err
}

// Rotate makes a new secret. Only the previous one stays good, for a day: rotating twice gets
// rid of a secret that leaked.
func (s *Sender) Rotate(ctx context.Context, account string) ([]Secret, error) {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := oneAtATime(ctx, tx, account); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `delete from callback_secrets where account_id = $1 and expires_at <> 0 returning id`, account)
		gone, err := store.All("callback: rotate secret", rows, err, store.Column[string])
		if err == nil {
			err = Secrets.Remove(ctx, tx, s.Log, account, gone...)
		}
		if err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `update callback_secrets set expires_at = $1 where account_id = $2 and expires_at = 0 returning id`,
			store.Millis(s.now().Add(overlap)), account)
		ending, err := store.All("callback: rotate secret", rows, err, store.Column[string])
		for _, id := range ending {
			err = errors.Join(err, Secrets.Write(ctx, tx, s.Log, id))
		}
		if err != nil {
			return err
		}
		return s.addSecret(ctx, tx, account)
	})
	if err != nil {
		return nil, err
	}
	return s.readSecrets(ctx, s.db.Read(), account)
}

func (s *Sender) addSecret(ctx context.Context, tx *store.Tx, account string) error {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw)
	sealed, err := s.master.SealFor(secretPurpose, account, []byte("whsec_"+base64.StdEncoding.EncodeToString(raw)))
	if err != nil {
		return fmt.Errorf("callback: seal secret: %w", err)
	}
	id := store.NewID()
	_, err = tx.Exec(ctx, `insert into callback_secrets (id, account_id, secret, created_at) values ($1, $2, $3, $4)`, id, account, sealed, store.Millis(s.now()))
	if err != nil {
		return err
	}
	return Secrets.Write(ctx, tx, s.Log, id)
}

// Secrets are those of all accounts, as the audit log keeps track of them: one
// that was given away and replaced does not sign again because its row was put back.
var Secrets = &audit.Register{
	Kind: "callback-secret", Table: "callback_secrets", Key: "id", Name: "secret of callbacks",
	Select: `select id, account_id, secret, expires_at, created_at from callback_secrets`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r := &audit.Registered{}
		var secret []byte
		var expires, created int64
		err := row.Scan(&r.ID, &r.Account, &secret, &expires, &created)
		r.Traits = []any{r.Account, secret, expires, created}
		return r, err
	},
}

func (s *Sender) readSecrets(ctx context.Context, q store.Querier, account string) ([]Secret, error) {
	rows, err := q.Query(ctx, `select secret, created_at, expires_at from callback_secrets
		where account_id = $1 and (expires_at = 0 or expires_at > $2) order by id desc`, account, store.Millis(s.now()))
	return store.All("callback: read secrets", rows, err, func(r store.Row) (Secret, error) {
		var sealed []byte
		var created, expires int64
		if err := r.Scan(&sealed, &created, &expires); err != nil {
			return Secret{}, err
		}
		text, err := s.master.UnsealFor(secretPurpose, account, sealed)
		return Secret{string(text), store.Time(created), store.Time(expires)}, err
	})
}

// secretsOf are the texts of the secrets that sign a delivery.
func (s *Sender) secretsOf(ctx context.Context, d *Delivery) (texts []string, err error) {
	if d.secrets[0] == nil { // there is no current one yet
		all, err := s.Secrets(ctx, d.Account)
		for _, secret := range all {
			texts = append(texts, secret.Text)
		}
		return texts, err
	}
	for _, sealed := range d.secrets {
		if sealed == nil {
			continue
		}
		text, err := s.master.UnsealFor(secretPurpose, d.Account, sealed)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// sign adds the three headers of Standard Webhooks, with one signature for
// each secret that is good.
func (s *Sender) sign(ctx context.Context, req *http.Request, d *Delivery, body []byte) error {
	secrets, err := s.secretsOf(ctx, d)
	if err != nil {
		return err
	}
	at := s.now()
	var sigs []string
	for _, secret := range secrets {
		w, err := webhooks.NewWebhook(secret)
		if err != nil {
			return fmt.Errorf("callback: secret: %w", err)
		}
		sig, err := w.Sign(d.webhookID, at, body)
		if err != nil {
			return fmt.Errorf("callback: sign: %w", err)
		}
		sigs = append(sigs, sig)
	}
	req.Header.Set(webhooks.HeaderWebhookID, d.webhookID)
	req.Header.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(webhooks.HeaderWebhookSignature, strings.Join(sigs, " "))
	return nil
}
