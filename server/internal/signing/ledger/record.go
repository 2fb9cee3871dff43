package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Record is one signature request and what became of it.
type Record struct {
	ID, AccountID        string
	TokenID, RequestID   string
	Person               string // who asks; for the log, and not kept here
	Address              string // the caller's
	CertificateType      string
	CertificateID        string
	State                State
	Type                 request.SignatureType // empty until known
	Options              request.Options
	Title, Description   string
	ErrorNumber          fault.Code
	ErrorMessage         string
	Achieved             string           // level reached
	Results              []DocumentResult // of a batch that has ended, one for each input; lists leave them out
	Tally                Tally            // of them
	Signer               *Signer          // of a signed one
	Inputs               []*File
	Validated, Signed    *File
	Work                 []*File   // that people sign: each document as it is now, once it was signed or rewritten
	Evidence             []*File   // of who they are
	Persons              []*Person // who are asked to sign; none: a certificate signs
	Acts                 int       // of theirs that are to be made
	Approval             string    // "", WAITING, APPROVED, REFUSED
	ApprovedBy           string    // the token that did
	ApprovalUntil        time.Time
	CreatedAt, UpdatedAt time.Time

	Callback   *callback.Target
	approved   []byte // sealed proof of the approval
	Secret     []byte // sealed Secrets
	ChargeID   string
	FilesUntil time.Time
	Image      *File
	Stored     bool
	odd        bool   // it has files that no record has
	LeaseBy    string // of a record that is being signed when it is stored
	LeaseUntil time.Time
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
	RoleInput     = "input"
	RoleValidated = "validated"
	RoleSigned    = "signed"
	RoleImage     = "image"
	RoleWork      = "work"
	RoleEvidence  = "evidence"
)

// File is a document of a record.
type File struct {
	ID         string
	Role       string
	Position   int
	SourceType string
	Label      string // the caller's name for it
	MediaType  string
	Extension  string
	Size       int64
	MD5        string
	SHA256     string
	Name       string
	CreatedAt  time.Time

	Blob      string
	Source    []byte // sealed fetch.Request of a remote one not fetched yet
	validated bool   // an input that is the document to sign too, as it is
	deleted   bool
}

// Deleted says that its time is over.
func (f *File) Deleted() bool { return f.deleted }

// Secrets wait with a record until it is signed, sealed under the master key.
type Secrets struct {
	Password           string `json:"password"`
	OTP                string `json:"otp,omitempty"`       // for the provider of a remote key
	OTPDevice          int    `json:"otpDevice,omitempty"` // that it is from
	Passed             bool   `json:"passed,omitempty"`    // the key's own password is in memory, and nowhere else
	EncryptionPassword string `json:"encryptionPassword,omitempty"`
	TimestampPassword  string `json:"timestampPassword,omitempty"`
	Bound              string `json:"bound"`            // digest of what they were given for
	Level              int    `json:"level"`            // of security, that the request was judged by
	Credential         string `json:"credential"`       // version of password and device that the request was judged by
	Client             string `json:"client,omitempty"` // fingerprint of the client's certificate, where the level asks for one
	Kept               *Kept  `json:"kept,omitempty"`   // nil: no value was made that is not stored

	Anew []MadeFile `json:"anew,omitempty"` // of several that people sign: those that were rewritten
}

// Kept are the signature values of a record whose signed document could not be stored.
type Kept struct {
	Time   time.Time `json:"time"` // of the signature
	Values []Value   `json:"values"`
}

// Value is what a key made for a digest.
type Value struct {
	Intent string `json:"intent"` // id of the permit that the key was used under
	Digest []byte `json:"digest"`
	Value  []byte `json:"value"`
}

const (
	secretPurpose   = "signature-secret"
	callbackPurpose = "signature-callback"
	sourcePurpose   = "signature-source"
	approvalPurpose = "signature-approval"
)

const columns = `id, account_id, token_id, request_id, caller_address, certificate_type, certificate_id, state, signature_type, options, title, description,
	error_number, error_message, achieved_level, signer, results, secret, callback, charge_id, approval, approved_by, approval_proof, approval_until, files_until, acts, created_at, updated_at`

// shortColumns are those of a list: of a batch the tally alone, for its results may be long.
var shortColumns = strings.Replace(columns, "results", fmt.Sprintf("substr(results, 1, %d)", tallyLength), 1)

func (s *Ledger) scan(row store.Row) (*Record, error) { return s.scanWith(row) }

// scanWith reads a row of columns, and further ones after them. Where the callback was not
// sealed for this record, it returns the record with the error.
func (s *Ledger) scanWith(row store.Row, more ...any) (*Record, error) {
	r := &Record{Stored: true}
	var options, signer, results string
	var target []byte
	var approval, files, created, updated int64
	err := row.Scan(append([]any{
		&r.ID, &r.AccountID, &r.TokenID, &r.RequestID, &r.Address, &r.CertificateType, &r.CertificateID, &r.State, &r.Type, &options, &r.Title, &r.Description,
		&r.ErrorNumber, &r.ErrorMessage, &r.Achieved, &signer, &results, &r.Secret, &target, &r.ChargeID, &r.Approval, &r.ApprovedBy, &r.approved, &approval, &files, &r.Acts, &created, &updated,
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("signing: read record: %w", err)
	}
	r.ApprovalUntil, r.FilesUntil = store.Time(approval), store.Time(max(files, -files)) // below zero once they are gone
	r.CreatedAt, r.UpdatedAt = store.Time(created), store.Time(updated)
	if r.Options, err = readOptions(options); err != nil {
		return nil, fmt.Errorf("signing: options: %w", err)
	}
	if r.Signer, err = readSigner(signer); err != nil {
		return nil, fmt.Errorf("signing: signer: %w", err)
	}
	if r.Results, r.Tally, err = readResults(results); err != nil {
		return nil, fmt.Errorf("signing: results: %w", err)
	}
	return r, s.unseal(callbackPurpose, r.Owner(), target, &r.Callback)
}

// Find returns a record of an account with its files, or fault 140.
func (s *Ledger) Find(ctx context.Context, account, id string) (*Record, error) {
	return s.find(ctx, `where id = $1 and account_id = $2`, id, account)
}

func (s *Ledger) ByID(ctx context.Context, id string) (*Record, error) {
	return s.find(ctx, `where id = $1`, id)
}

func (s *Ledger) find(ctx context.Context, where string, args ...any) (*Record, error) {
	var r *Record
	err := each(ctx, s.DB.Read(), func(row store.Row) error {
		f := &fileRow{}
		again, err := s.scanWith(row, f.fields()...)
		if err != nil {
			return err
		}
		if r == nil {
			r = again
		}
		r.place(f.file())
		return nil
	}, `select r.*, f.`+strings.ReplaceAll(fileColumns, ", ", ", f.")+`, f.deleted_at from (select `+columns+` from signatures `+where+`) r
		join signature_files f on f.signature_id = r.id order by f.role, f.position`, args...)
	if err == nil && r == nil { // every record has an input
		err = fault.New(fault.NotFound, "no such signature")
	}
	if err == nil && r.ByPeople() {
		r.Persons, err = s.persons(ctx, s.DB.Read(), r)
	}
	return r, err
}

func (s *Ledger) Insert(ctx context.Context, tx *store.Tx, r *Record) error {
	options, err := storedOptions(&r.Options)
	if err != nil {
		return err
	}
	results, err := storedResults(r.Results)
	if err != nil {
		return err
	}
	var target []byte
	if r.Callback != nil {
		if target, err = s.seal(callbackPurpose, r.Owner(), r.Callback); err != nil {
			return err
		}
	}
	// A call that signs at once has begun the work; if its process dies, the record comes
	// first.
	starts, turn, weight := 1, `cast($26 as bigint)`, 0
	if r.LeaseBy == "" && !r.State.Final() {
		starts, turn, weight = 0, job.Turn(Table, Ready, "$2", "$26"), r.weight()
	}
	err = tx.Later(ctx, `insert into signatures (id, account_id, token_id, request_id, caller_address, certificate_type, certificate_id, state, signature_type,
			options, title, description, error_number, error_message, secret, callback, charge_id, approval, approval_until, files_until, lease_by, lease_until, starts, created_at, updated_at, results, turn)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $27, `+turn+`)`,
		r.ID, r.AccountID, r.TokenID, r.RequestID, r.Address, r.CertificateType, r.CertificateID, string(r.State), string(r.Type),
		options, r.Title, r.Description, r.ErrorNumber, r.ErrorMessage, r.Secret, target, r.ChargeID, r.Approval,
		store.Millis(r.ApprovalUntil), store.Millis(r.FilesUntil), r.LeaseBy, store.Millis(r.LeaseUntil), starts, store.Millis(r.CreatedAt), store.Millis(r.UpdatedAt), weight, results)
	if err != nil {
		return fmt.Errorf("signing: store record: %w", err)
	}
	if err := s.insertPersons(ctx, tx, r); err != nil {
		return err
	}
	return s.InsertFiles(ctx, tx, r.ID, r.rows()...)
}

func (r *Record) files() []*File {
	all := append([]*File{}, r.Inputs...)
	for _, f := range []*File{r.Validated, r.Signed, r.Image} {
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

	// What only a search looks at.
	Text        string    // a piece of the title or of a document's name; or the id
	Certificate string    // id of the one that signs
	People      bool      // people sign
	Partly      bool      // a batch of which some documents were not signed
	From, Until time.Time // when it was asked for; Until is not in it
}

// Searches says that a filter asks for more than a list can find by its indices.
func (f Filter) Searches() bool {
	return f.Text != "" || f.Certificate != "" || f.People || f.Partly || !f.From.IsZero() || !f.Until.IsZero()
}

func (f Filter) page() store.Page { return store.Page{After: f.After, Skip: f.Skip, Limit: f.Limit} }

// What a record may say of its format and its certificate.
var (
	recordTypes      = append([]string{""}, request.Formats()...)
	certificateTypes = []string{"EU-QES_automatic", "EU-QES_otp", "EU-QES_eseal", request.SES, request.AES}
)

// List returns records of an account, newest first, without their files.
func (s *Ledger) List(ctx context.Context, account string, f Filter) ([]*Record, error) {
	query, args := f.page().IDs(`signatures where account_id = $1`, []any{account},
		store.Facet{Column: "certificate_type", Is: f.CertificateType, Words: certificateTypes},
		store.Facet{Column: "signature_type", Is: f.Type, Words: recordTypes},
		store.Facet{Column: "state", Is: string(f.State), Words: stateWords()})
	return s.listed(ctx, query, args...)
}

// listed reads the records whose ids a query gives, newest first.
func (s *Ledger) listed(ctx context.Context, query string, args ...any) ([]*Record, error) {
	rows, err := s.DB.Read().Query(ctx, query, args...)
	ids, err := store.All("signing: list", rows, err, store.Column[any])
	if err != nil || len(ids) == 0 {
		return []*Record{}, err
	}
	rows, err = s.DB.Read().Query(ctx, `select `+shortColumns+` from signatures where id`+store.In(len(ids))+` order by id desc`, ids...)
	return store.All("signing: list", rows, err, s.scan)
}

// Search finds the records that match a filter, newest first; where the text is an id, that
// record alone. It examines at most so many records after f.After: into 1.3 million it took 4 s
// of processor to find nothing. further is where to continue, empty at the end.
func (s *Ledger) Search(ctx context.Context, account string, f Filter, most int) (found []*Record, further string, err error) {
	narrow := ` from signatures where account_id = $1 and ($2 = '' or state = $2) and ($3 = '' or certificate_type = $3) and ($4 = '' or signature_type = $4) and ($5 = '' or certificate_id = $5)`
	if f.People {
		narrow += ` and certificate_type in ('` + request.SES + `', '` + request.AES + `')`
	}
	if f.Partly {
		narrow += ` and results <> '' and substr(results, 1, 5) <> substr(results, 7, 5) and state = '` + string(Done) + `'`
	}
	args := []any{account, string(f.State), f.CertificateType, f.Type, f.Certificate}
	if store.IsID(f.Text) {
		rows, err := s.DB.Read().Query(ctx, `select `+shortColumns+narrow+` and id = $6`, append(args, f.Text)...)
		if found, err = store.All("signing: search", rows, err, s.scan); err != nil || len(found) > 0 {
			return found, "", err
		}
	}
	// Ids are in the order of time: the days are a part of the list.
	if until := store.IDAt(f.Until); until != "" && (f.After == "" || until < f.After) {
		f.After = until
	}
	last, lastArgs := store.Page{After: f.After, Skip: most - 1, Limit: 1}.Of(account)
	err = s.DB.Read().QueryRow(ctx, `select id from signatures where account_id = $1`+last, lastArgs...).Scan(&further)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return nil, "", fmt.Errorf("signing: search: %w", err)
	}
	lowest := further
	if from := store.IDAt(f.From); from > lowest {
		lowest, further = from, ""
	}
	one := f.page()
	one.Limit++ // is there more?
	tail, args := one.Of(append(args, like(f.Text), lowest)...)
	rows, err := s.DB.Read().Query(ctx, `select `+shortColumns+narrow+` and id >= $7
		and (lower(title) like $6 escape '!' or exists (select 1 from signature_files f where f.signature_id = signatures.id and lower(f.label) like $6 escape '!'))`+tail, args...)
	if found, err = store.All("signing: search", rows, err, s.scan); len(found) > f.Limit {
		found, further = found[:f.Limit], found[f.Limit-1].ID
	}
	return found, further, err
}

// NamePersons reads who is asked to sign a record of a list.
func (s *Ledger) NamePersons(ctx context.Context, r *Record) (err error) {
	r.Persons, err = s.persons(ctx, s.DB.Read(), r)
	return err
}

// like is a pattern of SQL for texts that hold a piece.
func like(piece string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(piece)) + "%"
}

// WrittenAnew says whether what was signed is a copy of a PDF that could be read in
// more than one way.
func (r *Record) WrittenAnew() bool {
	return r.Type == request.PAdES && len(r.Inputs) == 1 && !r.ByPeople() && !r.Options.EncryptAny && r.Validated != nil && r.Validated.SHA256 != r.Inputs[0].SHA256
}

// Asked is the format that the caller named; empty where none was.
func (r *Record) Asked() request.SignatureType { return r.Options.Asked }

// Fault is why a record ended in error.
func (r *Record) Fault() *fault.Error { return &fault.Error{Code: r.ErrorNumber, Text: r.ErrorMessage} }

// Waits says that a record is signed only once another token has approved it.
func (r *Record) Waits() bool { return r.Approval == ApprovalWaiting && !r.State.Final() }
