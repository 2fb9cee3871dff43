// Package signing is the heart of the service: requests to sign become
// records, records become signed documents, and every step can be shown later.
//
// A record moves along the table in state.go, under a lease that one worker
// holds at a time. Synchronous and asynchronous calls take the same steps; only
// who waits differs:
//
//	authorize   may the caller have this key used (accept.go)
//	validate    is there something to sign (validate.go)
//	sign        by the front door of the library (sign.go)
//	begin       before each use of the key: record and intent are durable (begin.go)
//	end         DONE with the signed document, or ERROR (end.go)
//
// A worker acquires work in one way, by a claim of the queue (worker.go).
package signing

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/tsp"
)

// Biller takes the price of signatures and gives it back.
type Biller interface {
	// ChargeMany takes the price of n signatures in the record's transaction, from
	// the caller of the context; fault 611 when there is not enough. The id names
	// the charge.
	ChargeMany(ctx context.Context, tx *store.Tx, call, record string, n int) (id string, err error)
	ledger.Biller
	// Keep gives back what a charge took for more than n signatures.
	Keep(ctx context.Context, tx *store.Tx, id string, n int) error
	// Cover makes a charge pay for n signatures, and says how many it pays for.
	Cover(ctx context.Context, tx *store.Tx, call, id string, n int) (int, error)
}

// Tokens knows the tokens of accounts.
type Tokens interface {
	// HasToken makes the transaction fail where an account's token no longer exists.
	HasToken(ctx context.Context, tx *store.Tx, account, id string, otherwise error) error
	// Stands reports whether a token matches the log.
	Stands(ctx context.Context, account, id string) (bool, error)
	// Apart says whether two tokens of an account share no ancestor.
	Apart(ctx context.Context, account, former, id string) (bool, error)
}

// Config of a Service. Zero fields take the contract's defaults.
type Config struct {
	Limits       request.Limits
	Memory       int64 // that the work on one document may take; zero means rogito.DefaultMemory
	AllowSHA1    bool
	KeepFiles    time.Duration // zero means 30 days
	KeepRecords  time.Duration // zero means a year
	ApprovalTime time.Duration // zero means 24 hours
	Lease        time.Duration // zero means 15 seconds
	Fetch        fetch.Limits
	SpoolDir     string
	PublicURL    string
	Able         func(context.Context) error // what keeps us from storing what a key makes; nil: nothing
	Check        string                      // the address of /check, for the code in a visible signature
	Stamper      ades.Stamper                // configured or embedded time-stamp authority
	Gatherer     ades.Gatherer               // for LT and above
	Sandbox      bool
	Providers    map[string]remote.Provider // of remote keys
	// Revoked says whether a certificate is revoked or suspended, by the revocation data
	// available now; empty where nothing says so. Nil: it is not checked.
	Revoked func(ctx context.Context, leaf []byte, chain [][]byte) (string, error)
	// Signer says what is known of a certificate that signs.
	Signer func(context.Context, *enroll.Certificate) *ledger.Signer
	// Waits runs in the transaction in which a record begins to wait for an approval.
	Waits func(context.Context, *store.Tx, *ledger.Record) error
	// Ended, where set, is called for every record that ended here.
	Ended func(*ledger.Record)
	// OwnStamp, where set, is called after every request to a time-stamp authority that a
	// caller chose.
	OwnStamp func(tsp.Server, time.Duration, error)
	Now      func() time.Time
	Log      *slog.Logger
	// Hook, in tests, is called at named points of a run (before-sign, intended,
	// using, used, signed, stored) and may end the process there.
	Hook func(point, record string)
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.WithDefaults()
	if c.Memory <= 0 {
		c.Memory = rogito.DefaultMemory
	}
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.KeepFiles, 30*24*time.Hour)
	set(&c.KeepRecords, 365*24*time.Hour)
	set(&c.ApprovalTime, 24*time.Hour)
	set(&c.Lease, 15*time.Second)
	if c.Fetch.Bytes == 0 {
		c.Fetch.Bytes = c.Limits.Document
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Signer == nil {
		c.Signer = func(_ context.Context, c *enroll.Certificate) *ledger.Signer {
			return &ledger.Signer{Provider: c.Provider, QC: "UNKNOWN", SSCD: "UNKNOWN"}
		}
	}
	if c.Able == nil {
		c.Able = func(context.Context) error { return nil }
	}
	if c.Waits == nil {
		c.Waits = func(context.Context, *store.Tx, *ledger.Record) error { return nil }
	}
	if c.Ended == nil {
		c.Ended = func(*ledger.Record) {}
	}
	if c.Hook == nil {
		c.Hook = func(string, string) {}
	}
	return c
}

// Service takes requests in and works on records.
type Service struct {
	*ledger.Ledger
	// Requests reads the calls to sign.
	Requests request.Parser

	db         *store.DB
	blobs      blob.Store
	keys       *keys.Store
	enroll     *enroll.Service
	audit      *audit.Log
	callbacks  *callback.Sender
	biller     Biller
	tokens     Tokens
	guard      *fetch.Guard
	documents  documents.Config
	jobs       *job.Queue
	config     Config
	computing  chan struct{} // workers that use a key, one for each processor
	remembered memory
	background background
	// People works on what people sign.
	People People
	// Render turns a record into what callbacks carry.
	Render func(*ledger.Record) any
}

// Deps are what a Service works with.
type Deps struct {
	DB        *store.DB
	Master    keys.Sealer
	Blobs     blob.Store
	Keys      *keys.Store
	Enroll    *enroll.Service
	Audit     *audit.Log
	Callbacks *callback.Sender
	Biller    Biller
	Tokens    Tokens
	Guard     *fetch.Guard
	Jobs      *job.Queue // that renews leases; nil: another process's
}

// New returns a service.
func New(p Deps, c Config) *Service {
	c = c.withDefaults()
	s := &Service{
		Ledger: &ledger.Ledger{Config: ledger.Config{
			DB: p.DB, Master: p.Master, Blobs: p.Blobs, Audit: p.Audit, Callbacks: p.Callbacks, Biller: p.Biller, KeepRecords: c.KeepRecords, PublicURL: c.PublicURL, Now: c.Now, Log: c.Log,
		}},
		Requests: request.Parser{Limits: c.Limits, Guard: p.Guard, AllowSHA1: c.AllowSHA1},
		db:       p.DB, blobs: p.Blobs, keys: p.Keys, enroll: p.Enroll, audit: p.Audit,
		callbacks: p.Callbacks, biller: p.Biller, tokens: p.Tokens, guard: p.Guard, jobs: p.Jobs, config: c,
		computing: make(chan struct{}, runtime.GOMAXPROCS(0)), background: background{slots: make(chan struct{}, passedWorkers)},
		Render: func(r *ledger.Record) any { return r },
	}
	s.documents = documents.Config{
		Records: s.Ledger, Blobs: p.Blobs, Guard: p.Guard, Fetch: c.Fetch, Memory: c.Memory, SpoolDir: c.SpoolDir, Check: c.Check, Now: c.Now, IsStatement: p.Enroll.IsStatement,
	}
	return s
}
