package pades

import (
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// Options are what PAdES has to choose from. The zero value makes an invisible
// approval signature in a new field.
type Options struct {
	// Password of an encrypted document, the user's or the owner's.
	Password string

	// Field is the full name of an existing empty signature field to sign
	// into. It is [ades.ErrNotFound] when there is none of that name.
	Field string
	// AnyField signs into the first empty signature field where Field names
	// none, and into a new one where the document has none.
	AnyField bool
	// NewField is the name of a new field; empty means Signature1 and so on.
	// With Field of the same name it is made where the document has none.
	NewField string

	// Name, Reason, Location and ContactInfo go into the signature dictionary.
	Name        string
	Reason      string
	Location    string
	ContactInfo string

	// Certify makes a certification signature that permits what DocMDP
	// permits: 1 no changes, 2 form filling and signing, 3 annotations too.
	// Zero makes an approval signature.
	Certify int
	// Lock names the fields that may not change any more; nil locks none but
	// those that the signed field's own Lock entry names.
	Lock *Lock

	// Appearance shows the signature on a page; nil makes it invisible.
	Appearance *Appearance

	// Examination of this very document by [Examine], which then is not made again.
	Examination *Examination
	// AsIs refuses a document without signatures that readers can take in two ways,
	// or that is damaged, with *ades.MalformedError. Else it is written anew, and
	// the copy is signed: see [Anew].
	AsIs bool
	// Spool makes room for such a copy; nil keeps it in memory.
	Spool func() Spool

	// ContentStamper time-stamps what is signed before it is signed; nil: nobody
	// does.
	ContentStamper ades.Stamper

	// Stamped reserves room for a time-stamp in the signature: Complete at level
	// T and above.
	Stamped bool
	// Reserve is the room for the signature in bytes; zero means an estimate
	// from certificates and algorithm.
	Reserve int
}

// Spool is where a document is kept that was written anew.
type Spool interface {
	io.Writer
	// Source is what was written.
	Source() ades.Source
}

// LockAction says how the fields of a Lock are meant.
type LockAction string

// The actions of a field lock (ISO 32000-2, table 236).
const (
	LockAll     LockAction = "All"
	LockInclude LockAction = "Include" // those named
	LockExclude LockAction = "Exclude" // all but those named
)

// Lock is a field lock: FieldMDP.
type Lock struct {
	Action LockAction // empty means LockInclude
	Fields []string   // full names; a name stands for what is below it, too
}

// ErrForbidden says that the document does not permit to be signed, or not in
// the way that was asked for.
var ErrForbidden = errors.New("the document does not permit this signature")

// NoRoomError says that the finished signature is larger than the room that
// was reserved for it: prepare again with Options.Reserve set to Need.
type NoRoomError struct {
	Have, Need int
}

// spare is how much longer the same signature may be the next time: ECDSA values
// vary by a few bytes, and a time-stamp holds one too.
const spare = 64

func (e *NoRoomError) Error() string {
	return fmt.Sprintf("pades: a signature that needs %d bytes does not fit into the %d reserved", e.Need, e.Have)
}

// settings are all that a signature is made with.
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
