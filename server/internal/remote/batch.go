package remote

import (
	"context"
	"crypto"
	"errors"
	"sync/atomic"
)

// Form is how a service wants digests: some add the DigestInfo of PKCS #1
// themselves, some sign what they are given. Which, the first value shows; it is
// remembered for the service.
type Form struct{ info, known atomic.Bool }

// Of is a digest as the service wants it.
func (f *Form) Of(h crypto.Hash, digest []byte) ([]byte, error) {
	if !f.info.Load() {
		return digest, nil
	}
	return DigestInfo(h, digest)
}

// Other looks at the first value that a service gave for a digest, and says
// whether it wants digests in another form than they were sent in.
func (f *Form) Other(pub crypto.PublicKey, digest, v []byte) bool {
	if f.known.Load() || !SignedBare(pub, digest, v) {
		return false
	}
	f.info.Store(true)
	f.known.Store(true)
	return true
}

// Checked is what a value is worth; one that is good shows the form too.
func (f *Form) Checked(pub crypto.PublicKey, r Request, digest, v []byte) Value {
	if v = Verified(pub, r.Hash, r.PSS, digest, v); v == nil {
		return Value{Made: true, Err: Errorf(Refused, nil, "a signature value of the provider does not verify with the certificate")}
	}
	f.known.Store(true)
	return Value{Value: v, Made: true}
}

// maxSilent is how many digests in a row are sent, each in a call of its own, to a
// service that does not answer.
const maxSilent = 3

// EachAlone has digests signed in a call each, and holds every value against the
// key. One that is refused does not keep the others from being sent, unless the
// refusal is about who asks.
func EachAlone(ctx context.Context, pub crypto.PublicKey, r Request, form *Form, sign func(ctx context.Context, sent []byte) ([]byte, error)) ([]Value, error) {
	all := make([]Value, len(r.Digests))
	if err := r.Before(ctx); err != nil {
		return nil, err
	}
	silent := 0
	var end error
	for i := 0; i < len(all); i++ {
		if end != nil {
			all[i].Err = end
			continue
		}
		sent, err := form.Of(r.Hash, r.Digests[i])
		if err != nil {
			return nil, err
		}
		v, err := sign(ctx, sent)
		if i == 0 && err == nil && form.Other(pub, r.Digests[i], v) {
			if err := r.Before(ctx); err != nil {
				return nil, err
			}
			i--
			continue
		}
		if all[i].Err = err; err == nil {
			all[i] = form.Checked(pub, r, r.Digests[i], v)
			silent = 0
			continue
		}
		var said *Error
		switch {
		case !errors.As(err, &said):
			return nil, err
		case said.Kind == Unknown || said.Kind == Unreached:
			if silent++; silent >= maxSilent {
				end = Errorf(Unreached, nil, "not sent: the provider did not answer for the documents before")
			}
		case said.Kind != Refused:
			end = err
		default:
			silent = 0
		}
	}
	return all, nil
}
