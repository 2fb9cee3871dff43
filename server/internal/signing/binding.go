package signing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// A password, a one-time password or an approval is given for what was asked for
// and nothing else: for these documents, with these options, this picture, this
// certificate. A digest of all that is sealed with the password when a request
// is judged, and again when what it names was fetched. A record that waited is
// signed only if its rows still have that digest.

// terms is the digest of what a caller asked for. It never changes.
func (r *Record) terms() string {
	return digestOf(
		r.ID, r.AccountID, r.TokenID, r.RequestID, r.Address, r.CertificateType, r.CertificateID, &r.Options, r.Title, r.Description, r.callback,
		store.Millis(r.CreatedAt), store.Millis(r.ApprovalUntil), store.Millis(r.filesUntil),
	)
}

// bound is the digest of the terms and of the files as they are now, the picture
// among them.
func (r *Record) bound() string {
	all := []any{r.terms()}
	for _, f := range r.files() {
		source := sha256.Sum256(f.source) // where a remote one is to be fetched from
		all = append(all, f.traits(), f.blob, hexOf(source[:]))
	}
	return digestOf(all...)
}

// traits are what is known of a file, but for where it is kept.
func (f *File) traits() []any {
	return []any{f.ID, f.Role, f.Position, f.SourceType, f.Label, f.MimeType, f.Extension, f.Size, f.MD5, f.SHA256, f.Name, store.Millis(f.CreatedAt)}
}

// digestOf is the SHA-256 of values, in hex. JSON keeps them apart.
func digestOf(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("signing: digest: %v", err)) // texts, numbers and options
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// bind seals the secrets of a record with the digest of what they are for.
func (x *run) bind() (err error) {
	x.secrets.Bound = x.record.bound()
	x.record.secret, err = x.seal(secretPurpose, x.record.owner(), x.secrets)
	return err
}

// owner is what the sealed values of a record are sealed for, its documents too.
func (r *Record) owner() string { return "signature " + r.AccountID + " " + r.ID }

// openSecrets opens the secrets of a record that waited, and refuses one that is
// not what they were given for.
func (s *Service) openSecrets(r *Record) (*Secrets, error) {
	secrets := &Secrets{}
	if err := s.unseal(secretPurpose, r.owner(), r.secret, secrets); err != nil {
		return nil, err
	}
	if secrets.Bound != r.bound() {
		return nil, &refusal{number: fault.SigningFailed, text: "the documents or the options are not those that the request was made with"}
	}
	return secrets, nil
}

var errOtherDocument = errors.New("signing: the stored document is not the one of the record")

// holds compares a stored document with what its record says of it.
func (f *File) holds(b *blob.Reader) error {
	if f.SHA256 != "" && f.SHA256 != hexOf(b.SHA256[:]) {
		return errors.Join(errOtherDocument, b.Close())
	}
	return nil
}
