package callback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// Delivery is one message to one receiver, with what became of it so far.
type Delivery struct {
	ID, Account, Scope, Record string
	URL, Method, Field         string
	Custom                     string
	Retry                      int
	Attempts                   int // whose outcome is known
	Active                     bool
	Status                     int // of the last attempt; 0: none
	Problem                    string
	Elapsed                    time.Duration
	StartedAt, CompletedAt     time.Time
	CreatedAt                  time.Time

	State     string    // that it reports
	ReachedAt time.Time // when the record came to it

	webhookID string
	headers   []byte    // sealed
	secrets   [2][]byte // sealed, of one that is claimed: the account's current one, and the one before it while that is good
}

const (
	columns = `id, account_id, scope, record_id, url, method, field, headers, custom, state, reached_at, retry, settled, active,
	status, problem, elapsed, started_at, completed_at, created_at, webhook_id`
	selectDelivery = `select ` + columns + ` from callbacks `
	// withSecrets are the columns of one that is claimed.
	withSecrets = columns + `,
	(select k.secret from callback_secrets k where k.account_id = callbacks.account_id and k.expires_at = 0 order by k.id desc limit 1),
	(select k.secret from callback_secrets k where k.account_id = callbacks.account_id and k.expires_at > $1 order by k.id desc limit 1)`
)

func scanDelivery(row store.Row, more ...any) (*Delivery, error) {
	d := &Delivery{}
	var active, elapsed, started, completed, created, reached int64
	err := row.Scan(append([]any{
		&d.ID, &d.Account, &d.Scope, &d.Record, &d.URL, &d.Method, &d.Field, &d.headers, &d.Custom, &d.State, &reached, &d.Retry,
		&d.Attempts, &active, &d.Status, &d.Problem, &elapsed, &started, &completed, &created, &d.webhookID,
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("callback: read delivery: %w", err)
	}
	d.Active, d.Elapsed = active != 0, time.Duration(elapsed)*time.Millisecond
	d.StartedAt, d.CompletedAt, d.CreatedAt = store.Time(started), store.Time(completed), store.Time(created)
	d.ReachedAt = store.Time(reached)
	return d, nil
}

// scanClaimed is scanDelivery of one that is claimed.
func scanClaimed(row store.Row, more ...any) (any, error) {
	var secrets [2][]byte
	d, err := scanDelivery(row, append([]any{&secrets[0], &secrets[1]}, more...)...)
	if err != nil {
		return nil, err
	}
	d.secrets = secrets
	return d, nil
}

func (s *Sender) load(ctx context.Context, id string) (*Delivery, error) {
	return scanDelivery(s.db.Read().QueryRow(ctx, selectDelivery+`where id = $1`, id))
}

// List returns the deliveries of an account, newest first.
func (s *Sender) List(ctx context.Context, account, after string, skip, limit int) ([]*Delivery, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account)
	rows, err := s.db.Read().Query(ctx, selectDelivery+`where account_id = $1`+tail, args...)
	return store.All("callback: list", rows, err, func(r store.Row) (*Delivery, error) { return scanDelivery(r) })
}

// ListRecord returns the deliveries of one record of an account, newest first.
func (s *Sender) ListRecord(ctx context.Context, account, record string, limit int) ([]*Delivery, error) {
	rows, err := s.db.Read().Query(ctx, selectDelivery+`where account_id = $1 and record_id = $2 order by id desc limit $3`, account, record, limit)
	return store.All("callback: list", rows, err, func(r store.Row) (*Delivery, error) { return scanDelivery(r) })
}

// Find returns a delivery of an account, or fault 140.
func (s *Sender) Find(ctx context.Context, account, id string) (*Delivery, error) {
	d, err := scanDelivery(s.db.Read().QueryRow(ctx, selectDelivery+`where id = $1 and account_id = $2`, id, account))
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no such callback")
	}
	return d, err
}

// Data is what a delivery carries: the record, made when it is asked for and not kept
// beside it. One that was erased has none: store.ErrNoRows.
func (s *Sender) Data(ctx context.Context, d *Delivery) (json.RawMessage, error) {
	if _, err := s.headersOf(d); err != nil { // they are sealed for all that a message is
		return nil, err
	}
	record, err := s.Record(ctx, d)
	if errors.Is(err, fault.NotFound) {
		return nil, store.ErrNoRows
	}
	if err != nil {
		return nil, fmt.Errorf("callback: read record: %w", err)
	}
	b, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("callback: body: %w", err)
	}
	return b, nil
}

func (s *Sender) headersOf(d *Delivery) (map[string]string, error) {
	b, err := s.master.UnsealFor(headerPurpose, d.owner(), d.headers)
	if err != nil {
		return nil, fmt.Errorf("callback: unseal: %w", err)
	}
	var h map[string]string
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("callback: headers: %w", err)
	}
	return h, nil
}

// owner is what headers are sealed for: all that a message is. A row that names another
// address is not sent there, nor under another name or for another record or state.
func (d *Delivery) owner() string {
	return fmt.Sprintf("%s %s %q %q %q %q %q %q %q %d %q %d", d.Account, d.ID, d.URL, d.Method, d.Field, d.Scope, d.Record, d.Custom, d.webhookID, store.Millis(d.CreatedAt), d.State, store.Millis(d.ReachedAt))
}

// seal fills in what a delivery carries.
func (s *Sender) seal(d *Delivery, headers map[string]string) error {
	text, err := json.Marshal(headers)
	if err != nil {
		return fmt.Errorf("callback: headers: %w", err)
	}
	if d.headers, err = s.master.SealFor(headerPurpose, d.owner(), text); err != nil {
		return fmt.Errorf("callback: seal: %w", err)
	}
	return nil
}

// HeaderNames are the names of the caller's headers; their values may be
// secrets and are not shown.
func (s *Sender) HeaderNames(d *Delivery) ([]string, error) {
	h, err := s.headersOf(d)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(h))
	for k := range h {
		names = append(names, k)
	}
	return names, nil
}

// Resend sends a delivery of an account again, as a new one with the same
// webhook-id, and returns that.
func (s *Sender) Resend(ctx context.Context, account, id string) (*Delivery, error) {
	d, err := s.Find(ctx, account, id)
	if err != nil {
		return nil, err
	}
	again := *d
	again.ID = store.NewID()
	headers, err := s.headersOf(d)
	if err != nil {
		return nil, err
	}
	if err := s.seal(&again, headers); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error { return s.insert(ctx, tx, &again) })
	if err != nil {
		return nil, err
	}
	return s.load(ctx, again.ID)
}

// EraseRecord removes the deliveries of a record.
func (s *Sender) EraseRecord(ctx context.Context, tx *store.Tx, record string) error {
	_, err := tx.Exec(ctx, `delete from callbacks where record_id = $1`, record)
	return err
}
