package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// State of a record.
type State string

// The states, as the wire spells them.
const (
	WaitValidation State = "WAIT_VALIDATION"
	WaitSigners    State = "WAIT_SIGNERS" // of a record that people sign: not all have
	WaitSign       State = "WAIT_SIGN"
	Done           State = "DONE"
	Error          State = "ERROR"
)

// next holds every step that is allowed; docs/lifecycle.md is the same table.
var next = map[State][]State{
	WaitValidation: {WaitSigners, WaitSign, Error},
	WaitSigners:    {WaitSign, Error},
	WaitSign:       {Done, Error},
}

// States in the order of a life.
var States = []State{WaitValidation, WaitSigners, WaitSign, Done, Error}

func stateWords() (words []string) {
	for _, s := range States {
		words = append(words, string(s))
	}
	return words
}

// Next returns the states that may follow; none follow an end.
func (s State) Next() []State { return next[s] }

// Final says that nothing follows.
func (s State) Final() bool { return len(next[s]) == 0 }

// stateIs is the condition of SQL that a record is in one of the states that
// have a property.
func stateIs(has func(State) bool) string {
	var words []string
	for _, s := range States {
		if has(s) {
			words = append(words, "'"+string(s)+"'")
		}
	}
	return "state in (" + strings.Join(words, ", ") + ")"
}

var (
	isWaiting = stateIs(func(s State) bool { return !s.Final() })
	isEnded   = stateIs(State.Final)
	// isWaitSign: what will be signed is known.
	isWaitSign    = stateIs(func(s State) bool { return s == WaitSign })
	isWaitSigners = stateIs(func(s State) bool { return s == WaitSigners })
	// workable: it waits, but not for an approval or a person's signature.
	workable = isWaiting + ` and not (` + isWaitSign + ` and approval = 'WAITING') and not (` + isWaitSigners + ` and acts = 0)`
)

// only is a condition on a row that is found by its id. Without "is true" PostgreSQL may use
// the partial index of all waiting records, which looks smaller than the primary key, and read
// all of it: 539 pages for a signature among 800, 0.9 ms of the 1.6 that PostgreSQL took in
// all.
func only(condition string) string { return "(" + condition + ") is true" }

// ErrLost says that another worker has taken the record over: our result is discarded.
var ErrLost = errors.New("signing: the record was taken over")

// transition moves a record along the table while we hold its lease; otherwise it returns
// ErrLost. Further columns are set by SQL whose arguments begin with $5.
func transition(ctx context.Context, tx *store.Tx, r *Record, lease string, to State, set string, args ...any) error {
	err := tx.Expect(ctx, 1, ErrLost, moveTo(to, set),
		append([]any{string(to), store.Millis(r.UpdatedAt), r.ID, lease}, args...)...)
	if err != nil {
		return fmt.Errorf("signing: to %s: %w", to, err)
	}
	return nil
}

func moveTo(to State, set string) string {
	from := stateIs(func(s State) bool { return slices.Contains(s.Next(), to) })
	return `update signatures set state = $1, updated_at = $2, ` + set + ` where id = $3 and ` + only(`lease_by = $4 and `+from)
}

// Table is that of the records. A record is its own place in the queue: while it waits, and not
// for an approval, it is ready, in the order of the accounts' turns.
const Table = "signatures"

var Ready = workable

// weight of a record in turns.
func (r *Record) weight() int {
	if r.Options.Batch {
		return len(r.Inputs)
	}
	return 1
}

// StoreValidated is the step after validation. A record that waits for an approval
// gives its lease back: the approval brings the work.
func StoreValidated(ctx context.Context, tx *store.Tx, r *Record, lease string) error {
	set := `signature_type = $5, secret = $6`
	if r.Approval == ApprovalWaiting {
		set += `, lease_by = '', lease_until = 0`
	}
	return transition(ctx, tx, r, lease, WaitSign, set, string(r.Type), r.Secret)
}

// StoreEnd ends a record in the state that it has in memory, DONE or ERROR.
func StoreEnd(ctx context.Context, tx *store.Tx, r *Record, lease string) error {
	const over = `, secret = null, lease_by = '', lease_until = 0, acts = 0`
	results, err := storedResults(r.Results)
	if err != nil {
		return err
	}
	if r.State == Done {
		return transition(ctx, tx, r, lease, Done, `signature_type = $5, achieved_level = $6, signer = $7, results = $8`+over, string(r.Type), r.Achieved, storedSigner(r.Signer), results)
	}
	return transition(ctx, tx, r, lease, Error, `error_number = $5, error_message = $6, signature_type = $7, results = $8`+over, r.ErrorNumber, r.ErrorMessage, string(r.Type), results)
}

var leaseOn = `update signatures set lease_until = $1 where id = $2 and ` + only(`lease_by = $3 and state = $4 and approval in ('', 'APPROVED')`)

// KeepLease makes sure that the record is ours and may be signed.
func KeepLease(ctx context.Context, tx *store.Tx, r *Record, lease string, until time.Time) error {
	return tx.Expect(ctx, 1, ErrLost, leaseOn, store.Millis(until), r.ID, lease, string(r.State))
}

// When is a record as it was when it had come to a state, which it may have left since.
func (r *Record) When(state State, at time.Time) *Record {
	if r.State == state {
		return r
	}
	was := *r
	was.State, was.UpdatedAt = state, at
	was.Signed, was.Signer, was.Achieved, was.ErrorNumber, was.ErrorMessage, was.Results, was.Tally = nil, nil, "", 0, "", nil, Tally{}
	return &was
}
