package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/api/accounts"
	"rogito.dev/rogito/server/internal/api/quotations"
	"rogito.dev/rogito/server/internal/backup"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/identify/demo"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/logging"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/operator"
	"rogito.dev/rogito/server/internal/publication"
	"rogito.dev/rogito/server/internal/store"
)

// Server is the service, opened on one configuration. Commands
// use its methods; Run adds the listener.
type Server struct {
	operator.Commands

	cfg      Config
	log      *slog.Logger
	metrics  *monitor.Metrics
	inFlight func() int64 // requests that are being answered; nil where it does not serve
	health   *monitor.Health
	spool    string
	drawer   *draw.Drawer // of pages, for everybody who is shown one
	closers  []func()

	db          *store.DB
	master      *master.Key
	blobs       blob.Store
	idempotency *idempotency.Keys
	jobs        *job.Queue
	storing     []*monitor.Check // what must take what this server makes, beside the database
	accounts    *account.Service
	billing     *billing.Service
	sandboxed   bool // this is a sandbox, or will be one

	publications *publication.Service
	mail         *mail.Sender // nil: none is sent
	sig          signingParts
	demo         *demo.Providers // identify.demo; nil: none
	dropped      atomic.Bool     // a key or password has left its place in memory
}

// The results of commands.
type (
	NewAccount      = operator.NewAccount
	CertificateInfo = operator.CertificateInfo
	// RemoteKey names a key at a provider.
	RemoteKey = operator.RemoteKey
	// ReviewInfo is what an operator decides on.
	ReviewInfo = operator.ReviewInfo
)

// Open opens the service without serving. A running server on the same data is
// no obstacle.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.readSecrets(); err != nil {
		return nil, err
	}
	log, flush := logging.New(cfg.Log, os.Stderr)
	s, err := open(ctx, cfg, log, false)
	if err != nil {
		flush()
		return nil, err
	}
	s.closers = append([]func(){flush}, s.closers...) // closed last
	return s, nil
}

func open(ctx context.Context, cfg Config, log *slog.Logger, serving bool) (_ *Server, err error) {
	s := &Server{cfg: cfg, log: log, metrics: monitor.NewMetrics(version.Number), health: &monitor.Health{Log: log}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err = backup.CheckRestored(cfg.Data, cfg.masterKey()); err != nil {
		return nil, err
	}
	if s.db, err = store.Open(ctx, cfg.database(log)); err != nil {
		return nil, err
	}
	s.onClose(s.db.Close)
	if serving && cfg.Production {
		if err := initialised(ctx, s.db); err != nil {
			return nil, err
		}
	}
	if s.master, err = master.Open(ctx, s.db, cfg.masterKey()); err != nil {
		return nil, err
	}
	s.spool = Spool(cfg.Data)
	if err = os.MkdirAll(s.spool, 0o700); err != nil {
		return nil, err
	}
	if s.blobs, err = blob.Open(ctx, cfg.blobs(s.spool), s.master); err != nil {
		return nil, err
	}
	s.drawer = &draw.Drawer{Cache: filepath.Join(cfg.Data, "draw")}
	s.onClose(func() { _ = s.drawer.Close() })
	s.watchStorage()
	s.idempotency = idempotency.New(s.db, s.master)
	s.jobs = job.New(s.db, job.Config{Workers: cfg.Jobs.Workers, Lease: cfg.Jobs.Lease, Able: s.able, Log: log})
	if err := s.openAccounts(); err != nil {
		return nil, err
	}
	if err := s.openKind(ctx); err != nil {
		return nil, err
	}
	if err := s.openMail(); err != nil {
		return nil, err
	}
	if err := s.openSigning(ctx); err != nil {
		return nil, err
	}
	s.Commands = operator.New(s.db, s.accounts, s.billing, s.sig.keys, s.sig.enroll, s.sig.csc, s.sandboxed)
	if s.publications, err = s.openPublications(); err != nil {
		return nil, err
	}
	s.expect()
	s.watch()
	return s, nil
}

// Spool is the folder of a server's temporary files: large bodies, and objects being uploaded.
// Files are unlinked as soon as they are open, so one that still has a name was left by a
// killed process.
func Spool(data string) string { return filepath.Join(data, "spool") }

// sweepSpool removes what a server that was killed left behind.
func (s *Server) sweepSpool() {
	files, err := os.ReadDir(s.spool)
	for _, f := range files {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.spool, f.Name())))
	}
	if err != nil {
		s.log.Warn("temporary files of an earlier process", "error", err)
	}
}

func (c *Config) database(log *slog.Logger) store.Config {
	return store.Config{Database: c.Database, Data: c.Data, Reserve: c.Limits.Reserve, MaxConns: c.DatabaseConnections, Log: log}
}

func (c *Config) masterKey() master.Config {
	out := master.Config{Data: c.Data, File: c.MasterKeyFile, Hex: c.MasterKey, Command: c.Master.Command}
	if in := c.Master.PKCS11; in.Module != "" {
		out.Token = &master.Token{Module: in.Module, Label: in.Token, PINFile: in.PINFile, Key: cmp.Or(in.Key, "rogito")}
	}
	return out
}

func (c *Config) blobs(spool string) blob.Config {
	return blob.Config{
		Location: c.Blobs, Data: c.Data, AccessKey: c.S3.AccessKey, SecretKey: c.S3.SecretKey,
		Reserve: c.Limits.Reserve, Spool: spool,
	}
}

// acmeCache is where certificates that ACME obtained lie, with their keys.
func (c *Config) acmeCache() *network.ACMECache {
	return network.NewACMECache(filepath.Join(c.Data, "acme"))
}

func (c *Config) network() *network.Config {
	l := c.Limits
	return &network.Config{
		Listen: c.Listen, TLS: c.TLS, ACME: c.acmeCache(), Limits: network.Limits{Connections: l.Connections, PerAddress: l.PerAddress, Timeout: l.Timeout}, Proxies: c.proxies(),
	}
}

// onClose adds what Close runs, last added first.
func (s *Server) onClose(f func()) { s.closers = append(s.closers, f) }

// background runs work until the server closes or ctx ends, and has Close wait for it.
func (s *Server) background(ctx context.Context, work func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	s.onClose(func() { cancel(); <-done })
}

// Close closes everything that was opened, the last first.
func (s *Server) Close() {
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
	s.closers = nil
}

// start sets the work in the background going.
func (s *Server) start(ctx context.Context) error {
	s.background(ctx, func(ctx context.Context) { s.publications.Run(ctx) })
	s.startSigning(ctx)
	s.startMail()
	if err := s.jobs.Start(ctx); err != nil {
		return err
	}
	s.onClose(func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Limits.Drain)
		defer cancel()
		s.sig.signing.Drain(stop) // while the queue keeps its leases
		if err := s.jobs.Stop(stop); err != nil {
			s.log.Error("stop the jobs", "error", err)
		}
	})
	return nil
}

// register adds the operations of every area.
func (s *Server) register(a *api.API) {
	accounts.RegisterAccounts(a, &accounts.Accounts{Service: s.accounts, Billing: s.billing, DB: s.db})
	quotations.RegisterOMI(a, &quotations.OMI{Publications: s.publications, Meter: s.billing})
	s.registerSigning(a)
	s.setEndpoints(a)
}
