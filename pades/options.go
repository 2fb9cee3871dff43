package pades

import (
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// Options of PAdES. The zero value makes an invisible approval signature in a new field.
type Options struct {
	// Password of an encrypted document, the user's or the owner's.
	Password string

	// Field is the full name of an existing empty signature field to sign. If there is none,
	// Prepare returns [ades.ErrNotFound].
	Field string
	// AnyField signs the first empty signature field if Field is empty, or a new field if the
	// document has none.
	AnyField bool
	// NewField is the name of a new field; empty means Signature1 and so on. If Field has the same
	// name, the field is made only if it does not exist.
	NewField string

	// Name, Reason, Location and ContactInfo go into the signature dictionary.
	Name        string
	Reason      string
	Location    string
	ContactInfo string

	// Certify makes a certification signature that permits what DocMDP permits: 1 no changes, 2
	// form filling and signing, 3 annotations too. Zero makes an approval signature.
	Certify int
	// Lock names the fields that may no longer change; nil locks only those in the signed field's
	// own Lock entry.
	Lock *Lock

	// Appearance shows the signature on a page; nil makes it invisible.
	Appearance *Appearance

	// AsIs refuses a document without signatures that is damaged or can be read in two ways, with
	// *ades.MalformedError. By default it is rewritten, and the copy is signed: see [Anew].
	AsIs bool
	// Spool makes storage for such a copy; nil keeps it in memory.
	Spool func() Spool

	// ContentStamper time-stamps the content before it is signed; nil for none.
	ContentStamper ades.Stamper

	// Stamped reserves space for a time-stamp in the signature, for Complete at level T and above.
	Stamped bool
	// Reserve is the space for the signature in bytes; zero means an estimate from certificates and
	// algorithm.
	Reserve int
}

// Spool stores a rewritten document.
type Spool interface {
	io.Writer
	// Source returns what was written.
	Source() ades.Source
}

// LockAction says which fields a Lock applies to.
type LockAction string

// The actions of a field lock (ISO 32000-2, table 236).
const (
	LockAll     LockAction = "All"
	LockInclude LockAction = "Include" // the named fields
	LockExclude LockAction = "Exclude" // all but the named fields
)

// Lock is a field lock: FieldMDP.
type Lock struct {
	Action LockAction // empty means LockInclude
	Fields []string   // full names; a name includes its descendants
}

// ErrForbidden means that the document does not permit signing, or not with these options.
var ErrForbidden = errors.New("the document does not permit this signature")

// NoRoomError means that the finished signature is larger than the reserved space. Prepare again
// with Options.Reserve set to Need.
type NoRoomError struct {
	Have, Need int
}

// spare is how much longer the next signature may be: ECDSA values vary by a few bytes, and a
// time-stamp contains one too.
const spare = 64

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("pades: a signature that needs %d bytes does not fit into the %d reserved", e.Need, e.Have)
}

// settings are all parameters of a signature.
type settings struct {
	ades.SignParams
	Options
}

func (o settings) check() error {
	switch {
	case o.Certificate == nil:
		return errors.New("pades: no certificate to sign with")
	case o.Time.IsZero():
		return errors.New("pades: no signing time")
	case o.Certify < 0 || o.Certify > 3:
		return fmt.Errorf("pades: no DocMDP permission %d", o.Certify)
	case o.Reason != "" && len(o.Commitments) > 0:
		return errors.New("pades: a reason and a commitment exclude each other (EN 319 142-1, clause 5.3)")
	case o.Reserve < 0:
		return fmt.Errorf("pades: reserve of %d bytes", o.Reserve)
	}
	if err := oid.CheckHash(cms.HashFor(o.SignParams)); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	if o.Lock == nil {
		return nil
	}
	switch o.Lock.Action {
	case "", LockInclude, LockExclude:
		if len(o.Lock.Fields) == 0 {
			return errors.New("pades: lock without field names")
		}
	case LockAll:
	default:
		return fmt.Errorf("pades: no lock action %q", o.Lock.Action)
	}
	return nil
}
