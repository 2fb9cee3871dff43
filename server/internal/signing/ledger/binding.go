package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"rogito.dev/rogito/internal/fetch"
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
		r.ID, r.AccountID, r.TokenID, r.RequestID, r.Address, r.CertificateType, r.CertificateID, &r.Options, r.Title, r.Description, r.Callback,
		store.Millis(r.CreatedAt), store.Millis(r.ApprovalUntil), store.Millis(r.FilesUntil),
	)
}

// bound is the digest of the terms and of the files as they are now, the picture
// among them.
func (r *Record) bound() string {
	all := []any{r.terms()}
	for _, f := range r.files() {
		source := sha256.Sum256(f.Source) // where a remote one is to be fetched from
		all = append(all, f.traits(), f.Blob, hexOf(source[:]))
	}
	return digestOf(all...)
}

// traits are what is known of a file, but for where it is kept.
func (f *File) traits() []any {
	return []any{f.ID, f.Role, f.Position, f.SourceType, f.Label, f.MediaType, f.Extension, f.Size, f.MD5, f.SHA256, f.Name, store.Millis(f.CreatedAt)}
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

// Bind seals the secrets of a record with the digest of what they are for.
func (s *Ledger) Bind(r *Record, secrets *Secrets) (err error) {
	secrets.Bound = r.bound()
	r.Secret, err = s.seal(secretPurpose, r.Owner(), secrets)
	return err
}

// Owner is what the sealed values of a record are sealed for, its documents too.
func (r *Record) Owner() string { return "signature " + r.AccountID + " " + r.ID }

// OpenSecrets opens the secrets of a record that waited, and refuses one that is
// not what they were given for.
func (s *Ledger) OpenSecrets(r *Record) (*Secrets, error) {
	secrets := &Secrets{}
	if err := s.unseal(secretPurpose, r.Owner(), r.Secret, secrets); err != nil {
		return nil, err
	}
	if secrets.Bound != r.bound() {
		return nil, &Refusal{Number: fault.SigningFailed, Text: "the documents or the options are not those that the request was made with"}
	}
	return secrets, nil
}

var keepSecret = `update signatures set secret = $1 where id = $2 and ` + only(`lease_by = $3 and `+isWaiting)

// Keep stores the secrets of a record that waits, with the values that were made for it.
func (s *Ledger) Keep(ctx context.Context, tx *store.Tx, r *Record, secrets *Secrets, lease string) error {
	sealed, err := s.seal(secretPurpose, r.Owner(), secrets)
	if err != nil {
		return err
	}
	return tx.Later(ctx, keepSecret, sealed, r.ID, lease)
}

var errOtherDocument = errors.New("signing: the stored document is not the one of the record")

// Holds compares a stored document with its record.
func (f *File) Holds(b *blob.Reader) error {
	if f.SHA256 != "" && f.SHA256 != hexOf(b.SHA256[:]) {
		return errors.Join(errOtherDocument, b.Close())
	}
	return nil
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// SealSource keeps where a document is to be fetched from: addresses and headers
// may hold secrets.
func (s *Ledger) SealSource(r *Record, f *File, from fetch.Request) (err error) {
	f.Source, err = s.seal(sourcePurpose, r.Owner()+" "+f.ID, from)
	return err
}

// OpenSource is what sealSource kept.
func (s *Ledger) OpenSource(r *Record, f *File, from *fetch.Request) error {
	return s.unseal(sourcePurpose, r.Owner()+" "+f.ID, f.Source, from)
}
