// Package api is the HTTP face of the service: one envelope, one table of
// errors, and the OpenAPI 3.1 document generated from the types that serve.
//
// A handler is a function from an input to a [Reply] or an error; it never
// writes a response. It is added with [Register]; one that reads its query itself,
// with [RegisterRaw]. Everything that answers in another way (pages, protocols of
// others) is an http.Handler added with [API.Mount].
//
// The operations are in the packages below this one, one for each area of the
// service, each with a function that registers them; the server calls those.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/peer"
	"rogito.dev/rogito/server/internal/upload"
)

// Gate says who calls. What it refuses with is a *fault.Error (125, 127, 128,
// 130).
type Gate interface {
	// Authenticate reads the Authorization header; r.RemoteAddr holds the
	// client's address, not a trusted proxy's. HTTP Basic is looked at only
	// where the operation says so.
	Authenticate(ctx context.Context, r *http.Request, basic bool) (*account.Caller, error)
	// Allows reports whether the caller has the scope for a method and the first
	// segment of a path.
	Allows(c *account.Caller, method, host, segment string) bool
}

// Options are what an API is made of. The zero value serves public operations.
type Options struct {
	Version     string // of the document; "dev" when empty
	PublicURL   string // where clients reach the server
	Log         *slog.Logger
	Gate        Gate
	Idempotency *idempotency.Keys
	SpoolDir    string        // for large bodies; the system's when empty
	Limits      upload.Limits // of bodies
	MaxInFlight int           // requests answered at once; 1024
	Timeout     time.Duration // of one operation; 2 minutes
	Patience    time.Duration // for a client to send or take one piece; 20 seconds
	Proxies     peer.Proxies  // whose word on the client's address is believed
	Observe     func(Observation)
	// Words are what examples in the document leave open, by name (as
	// AutomaticUsername), as they are now; nil outside a sandbox.
	Words func() map[string]string
}

// API routes requests to operations and describes them.
type API struct {
	opts   Options
	router chi.Router
	never  []string // methods and patterns that are 405
	doc    *huma.OpenAPI
	ops    []Op
	log    *slog.Logger

	words  map[string]bool // that routes are made of
	places chan struct{}   // one is in it for each request that is being answered
	crowd  crowd

	describe sync.Once
	spec     description
	docs     docIndex
}

// New returns an API without operations.
func New(opts Options) *API {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = 1024
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Minute
	}
	if opts.Patience <= 0 {
		opts.Patience = 20 * time.Second
	}
	if opts.Version == "" {
		opts.Version = "dev"
	}
	if opts.Limits.Body <= 0 {
		opts.Limits.Body = 256 << 20
	}
	a := &API{
		opts:   opts,
		router: chi.NewRouter(),
		log:    opts.Log,
		words:  map[string]bool{},
		places: make(chan struct{}, opts.MaxInFlight),
	}
	a.doc = newDocument(opts)
	a.router.NotFound(a.NotFound)
	a.router.MethodNotAllowed(a.methodNotAllowed)
	a.registerDocs()
	return a
}

// Handler serves everything that was registered.
func (a *API) Handler() http.Handler { return a.observe(a.router) }

// Log is where the operations write to.
func (a *API) Log() *slog.Logger { return a.log }

// Mount adds a handler that is no operation of the API: pages, /pki, /tsa. It
// is public, and its answers are its own. It is for reading, unless methods
// are named.
func (a *API) Mount(pattern string, h http.Handler, methods ...string) {
	if len(methods) == 0 {
		methods = []string{http.MethodGet, http.MethodHead}
	}
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := callFrom(r.Context()); c != nil {
			c.route = pattern
		}
		h.ServeHTTP(w, r)
	})
	a.Know(pattern)
	for _, m := range methods {
		a.router.Method(m, pattern, routed)
	}
}
