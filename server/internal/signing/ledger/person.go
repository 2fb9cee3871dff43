package ledger

import (
	"time"
)

// PersonState is how far a person who is asked to sign has come.
type PersonState string

// The states of a person, as the wire spells them.
const (
	PersonNew           PersonState = "NEW"
	PersonNotified      PersonState = "NOTIFIED"
	PersonViewed        PersonState = "VIEWED"
	PersonAuthenticated PersonState = "AUTHENTICATED"
	PersonSigned        PersonState = "SIGNED"
	PersonDeclined      PersonState = "DECLINED"
	PersonExpired       PersonState = "EXPIRED"
)

// Final says that nothing follows.
func (s PersonState) Final() bool {
	return s == PersonSigned || s == PersonDeclined || s == PersonExpired
}

// What a person is asked for.
const (
	RoleSigner   = "signer"
	RoleApprover = "approver" // agrees, and signs nothing
	RoleViewer   = "viewer"   // gets a copy
)

// Channels that codes and messages go by.
const (
	ByEmail = "email"
	BySMS   = "sms"
)

// Place is where a signature goes: as it was asked for, and, once the document was
// seen, where that is.
type Place struct {
	Page   int     `json:"page,omitempty"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width,omitempty"`
	Height float64 `json:"height,omitempty"`
	Name   string  `json:"name,omitempty"`   // of a field that the document has
	Anchor string  `json:"anchor,omitempty"` // a text of the document
}

// Person is asked to sign a record. All of it but its place is sealed
// in its row.
type Person struct {
	ID       string `json:"id"` // a UUID
	Position int    `json:"position"`
	Version  int64  `json:"version"` // of the row

	State     PersonState `json:"state"`
	UpdatedAt time.Time   `json:"updatedAt"`
	Secret    string      `json:"secret,omitempty"` // of the link

	// As they were asked for.
	Name           string   `json:"name"`
	Surname        string   `json:"surname"`
	Email          string   `json:"email,omitempty"`
	Mobile         string   `json:"mobile,omitempty"`
	Authentication []string `json:"authentication,omitempty"`
	Identification []string `json:"identification,omitempty"`
	Message        string   `json:"message,omitempty"`
	Language       string   `json:"language"` // it, en, browser
	Order          int      `json:"order"`
	Role           string   `json:"role"`
	Reference      string   `json:"reference,omitempty"`
	Username       string   `json:"certificateUsername,omitempty"` // of a certificate of their own
	Template       string   `json:"place,omitempty"`               // their place in a template
	Signatures     []Place  `json:"signatures"`

	// What became of it.
	Places   [][]Place        `json:"places,omitempty"`  // of each document, where their fields go
	Problem  string           `json:"problem,omitempty"` // why the last act came to nothing
	Trouble  int              `json:"trouble,omitempty"` // its number
	Asked    string           `json:"asked,omitempty"`   // address that a code was last asked for from
	AskedAt  time.Time        `json:"askedAt,omitzero"`
	Sure     string           `json:"sure,omitempty"` // address that a code was last given from, or the last click made
	SureAt   time.Time        `json:"sureAt,omitzero"`
	Invited  time.Time        `json:"invited,omitzero"`
	Reminded time.Time        `json:"reminded,omitzero"`
	Spoken   string           `json:"spoken,omitempty"` // the language of the page they saw
	Shown    []Shown          `json:"shown,omitempty"`  // of each document
	Codes    map[string]*Code `json:"codes,omitempty"`  // by channel
	Wrong    int              `json:"wrong,omitempty"`  // codes in a row
	Locked   time.Time        `json:"locked,omitzero"`  // until then
	Proof    *PersonProof     `json:"proof,omitempty"`
	Act      *PersonAct       `json:"act,omitempty"`
	Reason   string           `json:"reason,omitempty"` // for declining
	SignedAt time.Time        `json:"signedAt,omitzero"`
	Seq      int              `json:"seq,omitempty"`  // of the act among those of the record, from 1
	Made     []MadeFile       `json:"made,omitempty"` // by the act

	sealed []byte // as the row has it
}

// Shown is a document as a person has seen it.
type Shown struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Last   bool   `json:"last,omitempty"` // the last page was asked for
}

// Code is a one-time code that was sent, and what became of it.
type Code struct {
	Hash    string      `json:"hash,omitempty"` // keyed; empty once it was used
	Until   time.Time   `json:"until,omitzero"`
	Sent    []time.Time `json:"sent,omitempty"` // within the last hour
	Proven  string      `json:"proven,omitempty"`
	At      time.Time   `json:"at,omitzero"` // when it was given
	From    string      `json:"from,omitempty"`
	Browser []byte      `json:"browser,omitempty"` // hash of its secret
}

// PersonProof is an identification that counts.
type PersonProof struct {
	Method  string            `json:"method"`
	Issuer  string            `json:"issuer,omitempty"`
	Level   string            `json:"level,omitempty"`
	At      time.Time         `json:"at"`
	Subject []byte            `json:"subject"`         // what was proven, as JSON
	Files   map[string]string `json:"files,omitempty"` // traits of the evidence, by name
	Request string            `json:"request,omitempty"`
	Browser []byte            `json:"browser"`
}

// PersonAct is the last click: what is to be signed, and nothing else is.
type PersonAct struct {
	At    time.Time `json:"at"`
	From  string    `json:"from"` // address
	Typed string    `json:"typed,omitempty"`
	Drawn []byte    `json:"drawn,omitempty"` // a PNG
	Shown []Shown   `json:"shown"`           // what was seen before
	// Of a certificate of their own. The password is gone once the act is made.
	Certificate string `json:"certificate,omitempty"`
	Password    string `json:"password,omitempty"`
	OTP         string `json:"otp,omitempty"`
	Version     string `json:"credential,omitempty"`
}

// MadeFile is a document as an act left it.
type MadeFile struct {
	Index  int    `json:"index"`
	SHA256 string `json:"sha256"`
	Traits string `json:"traits"` // see File.Traits
}
