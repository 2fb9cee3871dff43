package identify

import (
	"context"
	"net/url"
	"time"

	"rogito.dev/rogito/server/internal/sentence"
)

// Method identifies a person who is sent elsewhere and comes back with an
// answer: SPID, CIE, CNS. It keeps nothing between the two: what Start hands
// out as State comes back to Finish, from a store that all servers share, and
// that store takes each request and each answer once.
type Method interface {
	// Name as orders have it: spid, cie, cns.
	Name() string
	// Providers are those who can be asked now. None: the method is not offered.
	Providers(ctx context.Context) []Provider
	// Start makes a request to a provider.
	Start(ctx context.Context, provider string) (*Departure, error)
	// Request names the request that an answer claims to belong to, by which
	// its State is found. Nothing else of the answer is believed yet.
	Request(answer url.Values) (string, error)
	// Finish judges an answer to the request that State is of.
	Finish(ctx context.Context, state []byte, answer url.Values) (*Answer, error)
	// Check walks what the method depends on, for doctor and `identify test`.
	Check(ctx context.Context) []Finding
}

// Provider is a service that identifies people.
type Provider struct {
	ID   string // the entity
	Name string // for people
}

// Departure is how a person leaves for a provider.
type Departure struct {
	Request string            // id of the request: SAML ID, state
	URL     string            // where to
	Form    map[string]string // posted there; nil: a redirect
	State   []byte            // for Finish
	Until   time.Time         // when an answer comes too late
}

// Answer is what a provider said, once it is believed.
type Answer struct {
	Proof *Proof
	ID    string    // of the assertion or token, with its issuer: taken once
	Until time.Time // as long as ID would be believed again
	Files []File    // as received, kept as evidence
}

// File is a piece of evidence.
type File struct {
	Name    string
	Content []byte
}

// Refusal is an answer that is not believed, or one that says no. Both
// sentences say what happened and what the person can do; neither has a value
// of the answer in it.
type Refusal struct {
	Reason           string // a short word for logs and audit: "replay", "audience", "nr25"
	English, Italian string
}

func (r *Refusal) Error() string { return r.English }

// Finding is one line of a check.
type Finding struct {
	Name   string // what was looked at
	Detail sentence.Sentence
	OK     bool
}
