package callback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
)

// Schedule is the pause before each attempt after the first.
var Schedule = []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

const (
	attemptLimit  = 30 * time.Second
	longestDelay  = 24 * time.Hour
	answerBytes   = 64 << 10
	headerPurpose = "callback-headers"
	secretPurpose = "callback-secret"
)

// Sender queues deliveries and makes them.
type Sender struct {
	db       *store.DB
	master   keys.Sealer
	client   *http.Client
	now      func() time.Time
	schedule []time.Duration
	limiter  limiter
	Jobs     *job.Queue // woken for new deliveries; nil: another process makes them
	// Record is what a delivery carries, as the wire has it, in the state that it reports. It is
	// set before the first call.
	Record func(ctx context.Context, d *Delivery) (any, error)
	// Sent, where set, is called in the transaction that records an attempt, so that the
	// record's audit trail can show it.
	Sent func(ctx context.Context, tx *store.Tx, d *Delivery) error
	// Settled, where set, is called with the result of each attempt, one of Results.
	Settled func(result string)
	// Log is the audit log of secrets; nil in tests of this package. It is set before the
	// first call.
	Log *audit.Log
}

// Results are what an attempt may come to: the receiver took it, it will be
// tried again, or it was the last.
var Results = []string{delivered, retried, givenUp}

const (
	delivered = "delivered"
	retried   = "retried"
	givenUp   = "given_up"
)

// New returns a sender that dials through the guard.
func New(db *store.DB, master keys.Sealer, guard *fetch.Guard) *Sender {
	return &Sender{db: db, master: master, client: guard.Client(attemptLimit), now: time.Now, schedule: Schedule}
}

// Message is a state to be told.
type Message struct {
	Account string
	Scope   string // the call that the record came from: "EU-QES_automatic"
	Record  string
	Target  *Target
	State   string    // that the record has reached
	At      time.Time // when
}

// Queue adds a delivery in a transaction: it is made once that commits.
func (s *Sender) Queue(ctx context.Context, tx *store.Tx, m Message) error {
	if m.Target == nil {
		return nil
	}
	id := store.NewID()
	d := &Delivery{
		ID: id, Account: m.Account, Scope: m.Scope, Record: m.Record, URL: m.Target.URL, Method: m.Target.Method,
		Field: m.Target.Field, Custom: string(m.Target.Custom), Retry: m.Target.Retry, webhookID: "msg_" + id, CreatedAt: s.now(),
		State: m.State, ReachedAt: m.At,
	}
	if err := s.seal(d, m.Target.Headers); err != nil {
		return err
	}
	return s.insert(ctx, tx, d)
}

func (s *Sender) insert(ctx context.Context, tx *store.Tx, d *Delivery) error {
	_, err := tx.Exec(ctx, `insert into callbacks (id, account_id, scope, record_id, url, method, field, headers, custom, state, reached_at, retry, webhook_id, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		d.ID, d.Account, d.Scope, d.Record, d.URL, d.Method, d.Field, d.headers, d.Custom, d.State, store.Millis(d.ReachedAt), d.Retry, d.webhookID, store.Millis(d.CreatedAt))
	if err != nil {
		return fmt.Errorf("callback: queue: %w", err)
	}
	s.Jobs.Wake(tx, table)
	return nil
}

// A delivery is its own place in the queue: it is ready while it is active, and no
// earlier state of the same record is still to be tried: a receiver hears of states in
// their order, as far as it takes them.
const (
	table = "callbacks"
	ready = `t.active = 1 and (t.settled > 0 or not exists (select 1 from callbacks e where e.record_id = t.record_id and e.account_id = t.account_id and e.id < t.id and e.settled = 0 and e.active = 1))`
)

// workers is how many may wait for other people's servers at once.
const workers = 64

// Source has deliveries made.
func (s *Sender) Source() job.Source {
	return job.Source{
		Table: table, Ready: ready, Order: "t.lease_until, t.id", Longest: 2 * longestDelay, Workers: workers, Timeout: attemptLimit + 15*time.Second, Work: s.Work,
		Columns: withSecrets, Scan: scanClaimed,
	}
}

// Work makes one attempt. What the receiver does is an outcome, not an error; trouble
// of our own puts it off.
func (s *Sender) Work(ctx context.Context, c job.Claim) error {
	wait, err := s.attempt(ctx, c)
	if err == nil && wait == 0 {
		return nil
	}
	out := job.Outcome{Pause: wait, Undone: true}
	if stopped := errors.Is(ctx.Err(), context.Canceled); err != nil && !stopped {
		out = job.Outcome{Pause: job.Backoff(c.Failures), Failed: true}
	}
	ctx = disk.Reclaiming(context.WithoutCancel(ctx))
	return errors.Join(err, s.db.Write(ctx, func(tx *store.Tx) error { return job.Later(ctx, tx, c, out, s.now()) }))
}

// attempt makes one, or says how long it has to wait.
func (s *Sender) attempt(ctx context.Context, c job.Claim) (wait time.Duration, err error) {
	d, ok := c.Row.(*Delivery)
	if !ok {
		return 0, errors.New("callback: a claim without its delivery")
	}
	span.SetRecord(ctx, d.Record)
	leave, wait := s.limiter.enter(d)
	if wait > 0 {
		return wait, nil
	}
	defer leave()
	d.StartedAt = s.now()
	out, err := s.post(ctx, d)
	if errors.Is(err, store.ErrNoRows) {
		return 0, nil // the record was erased meanwhile
	}
	if err != nil {
		return 0, err
	}
	d.Elapsed = s.now().Sub(d.StartedAt)
	return 0, s.recordAttempt(ctx, c, d, out)
}

// outcome of one attempt: a status, or why there is none.
type outcome struct {
	status  int
	problem string
	after   time.Duration // Retry-After
}

func (s *Sender) post(ctx context.Context, d *Delivery) (outcome, error) {
	req, err := s.request(ctx, d)
	if err != nil {
		return outcome{}, err
	}
	_, end := span.Start(ctx, span.Callback)
	resp, err := s.client.Do(req)
	end(err)
	if err != nil {
		if ctx.Err() != nil {
			return outcome{}, ctx.Err() // we are being stopped: the attempt does not count
		}
		return outcome{problem: problemOf(err)}, nil
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, answerBytes)) // only to reuse the connection
	out := outcome{status: resp.StatusCode}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		out.after = retryAfter(resp.Header.Get("Retry-After"), s.now())
	}
	return out, nil
}

func (s *Sender) request(ctx context.Context, d *Delivery) (*http.Request, error) {
	t := &Target{Method: d.Method, Field: d.Field, Custom: json.RawMessage(d.Custom)}
	data, err := s.Data(ctx, d)
	if err != nil {
		return nil, err
	}
	body, contentType := t.body(data)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("callback: %w", err)
	}
	headers, err := s.headersOf(d)
	if err != nil {
		return nil, err
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "rogito")
	return req, s.sign(ctx, req, d, body)
}

func problemOf(err error) string {
	var no *fetch.Refused
	if errors.As(err, &no) {
		return no.Why
	}
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		return "the receiver took too long"
	}
	return "the receiver could not be reached"
}

// retryAfter reads seconds or a date.
func retryAfter(v string, now time.Time) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(v); err == nil {
		d = time.Duration(n) * time.Second
	} else if t, err := http.ParseTime(v); err == nil {
		d = t.Sub(now)
	}
	return min(max(d, 0), longestDelay)
}

// recordAttempt records an attempt and plans the next.
func (s *Sender) recordAttempt(ctx context.Context, c job.Claim, d *Delivery, out outcome) error {
	d.Status, d.Problem = out.status, out.problem
	taken := out.status >= 200 && out.status < 300
	last := d.Attempts >= d.Retry
	d.Active = !taken && !last && out.status != http.StatusGone
	if !d.Active {
		d.CompletedAt = s.now()
	}
	ctx = disk.Reclaiming(context.WithoutCancel(ctx)) // the request went out: that must be written down
	mine := false
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update callbacks set settled = settled + 1, active = $1, status = $2, problem = $3, elapsed = $4, started_at = $5, completed_at = $6,
				lease_by = '', lease_until = $9 where id = $7 and lease_by = $8 and active = 1`,
			flag(d.Active), d.Status, d.Problem, d.Elapsed.Milliseconds(), store.Millis(d.StartedAt), store.Millis(d.CompletedAt), d.ID, c.Lease,
			store.Millis(s.now().Add(max(s.pause(d.Attempts), out.after))))
		if mine = n == 1; err != nil || !mine {
			return err // 0 rows: another worker settled it
		}
		told := *d
		told.Attempts++
		if s.Sent != nil {
			if err := s.Sent(ctx, tx, &told); err != nil {
				return err
			}
		}
		s.Jobs.Wake(tx, table) // the next state may be told of
		return nil
	})
	if err == nil && mine && s.Settled != nil {
		s.Settled(result(taken, d.Active))
	}
	return err
}

func result(taken, again bool) string {
	switch {
	case taken:
		return delivered
	case again:
		return retried
	}
	return givenUp
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// pause before the attempt after the nth, with a tenth of jitter either way,
// so that many deliveries that failed together do not come back together.
func (s *Sender) pause(n int) time.Duration {
	d := s.schedule[min(n, len(s.schedule)-1)]
	return d + time.Duration((rand.Float64()*0.2-0.1)*float64(d))
}
