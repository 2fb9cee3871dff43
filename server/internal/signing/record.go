package signing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Record is one signature request and what became of it.
type Record struct {
	ID, AccountID        string
	TokenID, RequestID   string
	Address              string // the caller's
	CertificateType      string
	CertificateID        string
	State                State
	Type                 string // cades, …; empty until known
	Options              Options
	Title, Description   string
	ErrorNumber          fault.Code
	ErrorMessage         string
	Achieved             string  // level reached
	Signer               *Signer // of a signed one
	Inputs               []*File
	Validated, Signed    *File
	Approval             string // "", WAITING, APPROVED, REFUSED
	ApprovedBy           string // the token that did
	ApprovalUntil        time.Time
	CreatedAt, UpdatedAt time.Time

	callback   *callback.Target
	approved   []byte // sealed proof of the approval
	secret     []byte // sealed Secrets
	chargeID   string
	filesUntil time.Time
	image      *File
	stored     bool
	leaseBy    string // of a record that is being signed when it is stored
	leaseUntil time.Time
}

// Kind is that of the certificate which a record is signed with.
func (r *Record) Kind() keys.Kind {
	return keys.Kind(strings.TrimPrefix(r.CertificateType, keys.Kind("").CertificateType()))
}

// Signer is whose certificate signed, and what is known of it.
type Signer struct {
	Provider      string  `json:"provider" doc:"that issued the certificate, by its name on this server; a remote key is there"`
	TrustProvider *string `json:"trustServiceProvider" doc:"as a European trusted list names it"`
	QC            string  `json:"qcComplianceStatus" doc:"VALID, NOT_VALID or UNKNOWN: whether the certificate is qualified, by certificate and trusted list"`
	SSCD          string  `json:"qcSSCDStatus" doc:"likewise: whether its key is in a qualified device"`
}

// Roles of a file.
const (
	roleInput     = "input"
	roleValidated = "validated"
	roleSigned    = "signed"
	roleImage     = "image"
)

// File is a document of a record.
type File struct {
	ID         string
	Role       string
	Position   int
	SourceType string
	Label      string // the caller's name for it
	MimeType   string
	Extension  string
	Size       int64
	MD5        string
	SHA256     string
	Name       string
	CreatedAt  time.Time

	blob      string
	source    []byte // sealed fetch.Request of a remote one not fetched yet
	validated bool   // an input that is the document to sign too, as it is
	deleted   bool
}

// Deleted says that its time is over.
func (f *File) Deleted() bool { return f.deleted }

// Secrets wait with a record until it is signed, sealed under the master key.
type Secrets struct {
	Password           string `json:"password"`
	OTP                string `json:"otp,omitempty"` // for the provider of a remote key
	EncryptionPassword string `json:"encryptionPassword,omitempty"`
	TimestampPassword  string `json:"timestampPassword,omitempty"`
	Bound              string `json:"bound"`            // digest of what they were given for
	Level              int    `json:"level"`            // of security, that the request was judged by
	Credential         string `json:"credential"`       // version of password and device that the request was judged by
	Client             string `json:"client,omitempty"` // fingerprint of the client's certificate, where the level asks for one
}

const (
	secretPurpose   = "signature-secret"
	callbackPurpose = "signature-callback"
	sourcePurpose   = "signature-source"
	approvalPurpose = "signature-approval"
)

func (s *Service) seal(purpose, owner string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.master.SealFor(purpose, owner, b)
}

func (s *Service) unseal(purpose, owner string, sealed []byte, v any) error {
	if len(sealed) == 0 {
		return nil
	}
	b, err := s.master.UnsealFor(purpose, owner, sealed)
	if err != nil {
		return fmt.Errorf("signing: unseal: %w", err)
	}
	return json.Unmarshal(b, v)
}

const columns = `id, account_id, token_id, request_id, caller_address, certificate_type, certificate_id, state, signature_type, options, title, description,
	error_number, error_message, achieved_level, signer, secret, callback, charge_id, approval, approved_by, approval_proof, approval_until, files_until, created_at, updated_at`

func (s *Service) scan(row store.Row) (*Record, error) { return s.scanWith(row) }

// scanWith reads a row of columns, and more behind them. One whose callback was
// not sealed for it comes with the error.
func (s *Service) scanWith(row store.Row, more ...any) (*Record, error) {
	r := &Record{stored: true}
	var options, signer string
	var target []byte
	var approval, files, created, updated int64
	err := row.Scan(append([]any{
		&r.ID, &r.AccountID, &r.TokenID, &r.RequestID, &r.Address, &r.CertificateType, &r.CertificateID, &r.State, &r.Type, &options, &r.Title, &r.Description,
		&r.ErrorNumber, &r.ErrorMessage, &r.Achieved, &signer, &r.secret, &target, &r.chargeID, &r.Approval, &r.ApprovedBy, &r.approved, &approval, &files, &created, &updated,
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("signing: read record: %w", err)
	}
	r.ApprovalUntil, r.filesUntil = store.Time(approval), store.Time(max(files, -files)) // below zero once they are gone
	r.CreatedAt, r.UpdatedAt = store.Time(created), store.Time(updated)
	if r.Options, err = readOptions(options); err != nil {
		return nil, fmt.Errorf("signing: options: %w", err)
	}
	if r.Signer, err = readSigner(signer); err != nil {
		return nil, fmt.Errorf("signing: signer: %w", err)
	}
	return r, s.unseal(callbackPurpose, r.owner(), target, &r.callback)
}

// Find returns a record of an account with its files, or fault 140.
func (s *Service) Find(ctx context.Context, account, id string) (*Record, error) {
	return s.find(ctx, `where id = $1 and account_id = $2 and `+only(`deleted_at = 0`), id, account)
}

func (s *Service) byID(ctx context.Context, id string) (*Record, error) {
	return s.find(ctx, `where id = $1 and `+only(`deleted_at = 0`), id)
}

func (s *Service) find(ctx context.Context, where string, args ...any) (*Record, error) {
	r, err := s.scan(s.db.Read().QueryRow(ctx, `select `+columns+` from signatures `+where, args...))
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no such signature")
	}
	if err != nil {
		return nil, err
	}
	return r, s.loadFiles(ctx, r)
}

func (s *Service) loadFiles(ctx context.Context, r *Record) error {
	return each(ctx, s.db.Read(), func(row store.Row) error {
		_, f, err := scanFile(row)
		r.place(f)
		return err
	}, selectFile+`where signature_id = $1 order by role, position`, r.ID)
}

func (s *Service) insertRecord(ctx context.Context, tx *store.Tx, r *Record) error {
	options, err := storedOptions(&r.Options)
	if err != nil {
		return err
	}
	var target []byte
	if r.callback != nil {
		if target, err = s.seal(callbackPurpose, r.owner(), r.callback); err != nil {
			return err
		}
	}
	// A call that signs at once has begun the work; what it leaves behind when its process
	// dies comes first.
	starts, turn, weight := 1, `cast($26 as bigint)`, 0
	if r.leaseBy == "" && !r.State.Final() {
		starts, turn, weight = 0, job.Turn(table, ready, "$2", "$26"), r.weight()
	}
	err = tx.Later(ctx, `insert into signatures (id, account_id, token_id, request_id, caller_address, certificate_type, certificate_id, state, signature_type,
			options, title, description, error_number, error_message, secret, callback, charge_id, approval, approval_until, files_until, lease_by, lease_until, starts, created_at, updated_at, turn)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, `+turn+`)`,
		r.ID, r.AccountID, r.TokenID, r.RequestID, r.Address, r.CertificateType, r.CertificateID, string(r.State), r.Type,
		options, r.Title, r.Description, r.ErrorNumber, r.ErrorMessage, r.secret, target, r.chargeID, r.Approval,
		store.Millis(r.ApprovalUntil), store.Millis(r.filesUntil), r.leaseBy, store.Millis(r.leaseUntil), starts, store.Millis(r.CreatedAt), store.Millis(r.UpdatedAt), weight)
	if err != nil {
		return fmt.Errorf("signing: store record: %w", err)
	}
	return s.insertFiles(ctx, tx, r.ID, r.rows()...)
}

func (r *Record) files() []*File {
	all := append([]*File{}, r.Inputs...)
	for _, f := range []*File{r.Validated, r.Signed, r.image} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// Filter narrows a list; empty fields do not.
type Filter struct {
	State           State
	CertificateType string
	Type            string
	After           string // only what comes behind it in the list
	Skip, Limit     int
}

func (f Filter) page() store.Page { return store.Page{After: f.After, Skip: f.Skip, Limit: f.Limit} }

// What a record may say of its format and its certificate.
var (
	recordTypes      = append([]string{""}, slices.Sorted(maps.Keys(libraryFormats))...)
	certificateTypes = []string{"EU-QES_automatic", "EU-QES_otp", "EU-QES_eseal"}
)

// List returns records of an account, newest first, without their files.
func (s *Service) List(ctx context.Context, account string, f Filter) ([]*Record, error) {
	query, args := f.page().IDs(`signatures where account_id = $1 and deleted_at = 0`, []any{account},
		store.Facet{Column: "certificate_type", Is: f.CertificateType, Words: certificateTypes},
		store.Facet{Column: "signature_type", Is: f.Type, Words: recordTypes},
		store.Facet{Column: "state", Is: string(f.State), Words: stateWords()})
	return s.listed(ctx, query, args...)
}

// listed reads the records whose ids a query gives, newest first.
func (s *Service) listed(ctx context.Context, query string, args ...any) ([]*Record, error) {
	rows, err := s.db.Read().Query(ctx, query, args...)
	ids, err := store.All("signing: list", rows, err, store.Column[any])
	if err != nil || len(ids) == 0 {
		return []*Record{}, err
	}
	rows, err = s.db.Read().Query(ctx, `select `+columns+` from signatures where id`+store.In(len(ids))+` and `+only(`deleted_at = 0`)+` order by id desc`, ids...)
	return store.All("signing: list", rows, err, s.scan)
}

// Search finds the record with an id, or those with a piece of text in their title
// or in the names of their documents, the newest first. It looks into so many
// records behind f.After: into 1.3 million it took 4 s of processor to find
// nothing. further is where to go on, empty at the end.
func (s *Service) Search(ctx context.Context, account, text string, f Filter, most int) (found []*Record, further string, err error) {
	narrow := ` from signatures where account_id = $1 and deleted_at = 0 and ($2 = '' or state = $2) and ($3 = '' or certificate_type = $3) and ($4 = '' or signature_type = $4)`
	args := []any{account, string(f.State), f.CertificateType, f.Type, text}
	rows, err := s.db.Read().Query(ctx, `select `+columns+narrow+` and id = $5`, args...)
	if found, err = store.All("signing: search", rows, err, s.scan); err != nil || len(found) > 0 {
		return found, "", err
	}
	last, lastArgs := store.Page{After: f.After, Skip: most - 1, Limit: 1}.Of(account)
	err = s.db.Read().QueryRow(ctx, `select id from signatures where account_id = $1 and deleted_at = 0`+last, lastArgs...).Scan(&further)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return nil, "", fmt.Errorf("signing: search: %w", err)
	}
	one := f.page()
	one.Limit++ // is there more?
	tail, args := one.Of(append(args[:4], like(text), further)...)
	rows, err = s.db.Read().Query(ctx, `select `+columns+narrow+` and id >= $6
		and (lower(title) like $5 escape '!' or exists (select 1 from signature_files f where f.signature_id = signatures.id and lower(f.label) like $5 escape '!'))`+tail, args...)
	if found, err = store.All("signing: search", rows, err, s.scan); len(found) > f.Limit {
		found, further = found[:f.Limit], found[f.Limit-1].ID
	}
	return found, further, err
}

// like is a pattern of SQL for texts that hold a piece.
func like(piece string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(piece)) + "%"
}
