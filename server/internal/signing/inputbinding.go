package signing

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
)

// A password or a one-time password is given for these documents and no
// others: what they were when it was judged is sealed with it, and a record
// that waited is signed only if it still holds them.

// inputDigest names the documents of a record: how many, and the digest of each
// that was there when the request was judged.
func inputDigest(r *Record) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n", r.ID, len(r.Inputs))
	for _, f := range r.Inputs {
		if f.SourceType == fromRemote {
			fmt.Fprintln(h, fromRemote) // its digest is known only once it is fetched
			continue
		}
		fmt.Fprintln(h, f.SourceType, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// checkInputs refuses a record whose documents are not those it was made with.
func (x *run) checkInputs() error {
	if x.secrets.Inputs != inputDigest(x.record) {
		return &refusal{number: fault.SigningFailed, text: "the documents are not those that the request was made with"}
	}
	return nil
}

var errOtherDocument = errors.New("signing: the stored document is not the one of the record")

// holds compares a stored document with what its record says of it.
func (f *File) holds(b *blob.Reader) error {
	if f.SHA256 != "" && f.SHA256 != hexOf(b.SHA256[:]) {
		return errors.Join(errOtherDocument, b.Close())
	}
	return nil
}
