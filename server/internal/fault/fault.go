// Package fault holds the only error whose text may reach a client, and the
// one table of error codes.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Error is a refusal that a client may read. Anything else that goes wrong
// reaches the client as a bare "internal error".
type Error struct {
	Code       Code          // a row of Table
	Text       string        // names the problem and the field
	Status     int           // HTTP status where the row leaves a choice; zero takes the row's
	RetryAfter time.Duration // for 409, 429 and 503
	Err        error         // the cause, for the log; never shown
	// Format and Args are what Text was built from: a page that says it in another
	// language knows the sentence by its form.
	Format string
	Args   []any
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the code of the fault: errors.Is(err, fault.NotFound).
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// New returns a fault of a code, its text built as by fmt.Sprintf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...), Format: format, Args: args}
}

// Because attaches the cause, which goes to the log and no further.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Storage is the fault a client reads when the storage cannot serve; nil for
// nil, and a fault as it is.
func Storage(err error) error {
	var f *Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	f = New(Unavailable, "the storage is not available").Because(err)
	f.RetryAfter = 2 * time.Second
	return f
}

// Explain is the text of an error with what faults in it keep to themselves: for
// operators, in the log and at a terminal.
func Explain(err error) string {
	text := err.Error()
	var f *Error
	if errors.As(err, &f) && f.Err != nil {
		text += ": " + Explain(f.Err)
	}
	return text
}

// HTTP is the status of the answer that carries the fault.
func (e *Error) HTTP() int {
	if e.Status != 0 {
		return e.Status
	}
	return Status(e.Code)
}
