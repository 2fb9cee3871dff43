package signing

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

// Next returns the states that may follow; none follow an end.
func (s State) Next() []State { return next[s] }

// Final says that nothing follows.
func (s State) Final() bool { return len(next[s]) == 0 }
