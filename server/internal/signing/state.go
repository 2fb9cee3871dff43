package signing

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/store"
)

// State of a record.
type State string

// The states, as the wire spells them.
const (
	WaitValidation State = "WAIT_VALIDATION"
	WaitSign       State = "WAIT_SIGN"
	Done           State = "DONE"
	Error          State = "ERROR"
)

// next holds every step that is allowed; docs/lifecycle.md is the same table.
var next = map[State][]State{
	WaitValidation: {WaitSign, Error},
	WaitSign:       {Done, Error},
}

// States in the order of a life.
var States = []State{WaitValidation, WaitSign, Done, Error}

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
	isWaitSign = stateIs(func(s State) bool { return s == WaitSign })
	// workable: it waits, and for nobody's approval.
	workable = isWaiting + ` and deleted_at = 0 and not (` + isWaitSign + ` and approval = 'WAITING')`
)

// only is a condition on a row that is found by its id. Said plainly, PostgreSQL may take an
// index of some rows, that of all that waits or of all that were not deleted, which looks
// smaller than that of the ids, and read through whatever is in it: 539 pages for a
// signature among 800, 0.9 ms of the 1.6 that PostgreSQL took for all of it.
func only(condition string) string { return "(" + condition + ") is true" }

// transition moves a record along the table, if it is still ours: whoever took
// it over has it, and we get errLost. What else changes is given as SQL whose
// arguments begin with $5.
func (x *run) transition(ctx context.Context, tx *store.Tx, to State, set string, args ...any) error {
	err := tx.Expect(ctx, 1, errLost, moveTo(to, set),
		append([]any{string(to), store.Millis(x.record.UpdatedAt), x.record.ID, x.lease}, args...)...)
	if err != nil {
		return fmt.Errorf("signing: to %s: %w", to, err)
	}
	return nil
}

func moveTo(to State, set string) string {
	from := stateIs(func(s State) bool { return slices.Contains(s.Next(), to) })
	return `update signatures set state = $1, updated_at = $2, ` + set + ` where id = $3 and ` + only(`lease_by = $4 and deleted_at = 0 and `+from)
}
