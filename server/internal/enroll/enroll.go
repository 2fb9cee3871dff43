// Package enroll sells certificates and seals: from the order over the
// identification of the holder to the issued certificate, and its life after
// that. States change only by compare-and-set, along the table in state.go.
package enroll

import (
	"context"
	"log/slog"
	"time"

	"rogito.dev/rogito/internal/memo"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/store"
)

// Biller takes the price of a certificate and gives it back.
type Biller interface {
	// Charge takes the price of a scope in the record's transaction; fault 611
	// when there is not enough. The id names the charge.
	Charge(ctx context.Context, tx *store.Tx, scope, record string) (id string, err error)
	Refund(ctx context.Context, tx *store.Tx, id string) error
}

// Config of a Service.
type Config struct {
	PublicURL string
	Sandbox   bool
	// Providers maps names and aliases to "local", "import" or one of RemoteKinds.
	// Empty means local, provider and namirial, all of them the embedded authority.
	Providers map[string]string
	Remote    map[string]remote.Provider // of RemoteKinds
	// Chain puts the certificates that came with one in order and gets those that
	// are missing.
	Chain func(ctx context.Context, leaf []byte, others [][]byte) ([][]byte, error)
	// Revoked says whether a certificate is revoked or suspended, by the revocation data available
	// now; empty if none says so. If nil, revocation is not checked.
	Revoked func(ctx context.Context, leaf []byte, chain [][]byte) (string, error)
	Levels  Levels
	Token   keys.Token // where new keys are made; nil: the encrypted key store
	// HandedIn, where set, runs in the transaction in which an order's evidence begins to
	// wait for a review.
	HandedIn func(context.Context, *store.Tx, *Certificate) error
	// Tell queues a message to the holder when the transaction commits; Send sends one.
	// Nil: no messages.
	Tell     func(context.Context, *store.Tx, job.Item) error
	Send     func(context.Context, News) error
	Operator string // whose name messages bear
	Now      func() time.Time
	Log      *slog.Logger
	// Evidence of identifications is kept so long after the end of a certificate,
	// and after an order was cancelled; zero means 20 years and 30 days.
	KeepEvidence, KeepCancelled time.Duration
}

// Service is the whole of it.
type Service struct {
	db        *store.DB
	master    keys.Sealer
	blobs     blob.Store
	keys      *keys.Store
	authority *authority.Authority
	audit     *audit.Log
	callbacks *callback.Sender
	biller    Biller
	identify  *identify.Methods
	config    Config
	issued    memo.Memo[string, *Certificate] // those that sign are few, and met again with every signature
	// Others are identified elsewhere without an order; may be nil.
	Others Others
	// Render turns a certificate into what callbacks carry.
	Render func(*Certificate) any
}

// Parts are what a Service works with.
type Parts struct {
	DB        *store.DB
	Master    keys.Sealer
	Blobs     blob.Store
	Keys      *keys.Store
	Authority *authority.Authority
	Audit     *audit.Log
	Callbacks *callback.Sender
	Biller    Biller
	Identify  *identify.Methods
}

// New returns a service.
func New(p Parts, c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if len(c.Providers) == 0 {
		c.Providers = map[string]string{"local": "local"}
	}
	if c.KeepEvidence == 0 {
		c.KeepEvidence = 20 * 365 * 24 * time.Hour
	}
	if c.KeepCancelled == 0 {
		c.KeepCancelled = 30 * 24 * time.Hour
	}
	if c.Levels == nil {
		c.Levels = DefaultLevels()
	}
	return &Service{
		db: p.DB, master: p.Master, blobs: p.Blobs, keys: p.Keys, authority: p.Authority, audit: p.Audit,
		callbacks: p.Callbacks, biller: p.Biller, identify: p.Identify, config: c,
		Render: func(c *Certificate) any { return c },
	}
}

// Levels in force.
func (s *Service) Levels() Levels { return s.config.Levels }

// provider is the kind of provider behind a name. The aliases mean the embedded authority.
func (s *Service) provider(name string) (kind string, ok bool) {
	if kind, ok := s.config.Providers[name]; ok {
		return kind, true
	}
	if name == "provider" || name == "namirial" || name == "local" {
		return "local", true
	}
	return "", false
}
