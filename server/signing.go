package server

import (
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/api/signatures"
	"rogito.dev/rogito/server/internal/api/verification"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/callback"
	cschttp "rogito.dev/rogito/server/internal/csc/http"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
	"rogito.dev/rogito/tsp"
)

// signingParts is what signs and verifies: the authority, the keys, the records.
type signingParts struct {
	guard     *fetch.Guard
	authority *authority.Authority
	trust     *trust.Store
	verifier  *rogito.Verifier
	lists     *tsl.Set
	keys      *keys.Store
	audit     *audit.Log
	callbacks *callback.Sender
	identify  *identify.Methods
	enroll    *enroll.Service
	signing   *signing.Service
	records   *signatures.Signatures
	members   *member.Service
	people    *people.Service
	csc       *cscserver.Service
	token     keys.Token
	providers remoteProviders
}

// openSigning opens what signs and verifies, and connects its parts.
func (s *Server) openSigning(ctx context.Context) (err error) {
	w := &s.sig
	c := fetch.Config{AllowPrivate: s.cfg.Network.AllowPrivate}
	if s.sandboxed {
		c.Teach = "start the server with"
	}
	if w.guard, err = fetch.New(c); err != nil {
		return err
	}
	// What a start writes is little, and without it nothing could be read from an
	// installation whose disk is full.
	w.authority, err = authority.Open(disk.Reclaiming(ctx), s.db, s.master, authority.Config{PublicURL: s.cfg.PublicURL, StatusURL: s.cfg.StatusURL, Sandbox: s.sandboxed})
	if err != nil {
		return err
	}
	s.cfg.PublicURL = w.authority.PublicURL()
	for _, base := range s.bases() {
		w.guard.Answer(base, w.authority.Handler(), "/pki", "/tsa")
	}
	if err := s.openTrust(); err != nil {
		return err
	}
	w.audit = audit.New(s.db, s.master, nil)
	s.accounts.Log = w.audit
	if err := s.openKeys(); err != nil {
		return err
	}
	w.authority.Ledger = enroll.Ledger(w.audit)
	if err := s.beginAudit(disk.Reclaiming(ctx)); err != nil {
		return err
	}
	w.callbacks = callback.New(s.db, s.master, w.guard)
	w.callbacks.Log = w.audit
	w.callbacks.Sent, w.callbacks.Settled, w.callbacks.Jobs = s.callbackSent, s.metrics.CalledBack, s.jobs
	w.callbacks.Record = s.calledBack
	return s.openRecords()
}

// calledBack is the record that a callback tells of.
func (s *Server) calledBack(ctx context.Context, d *callback.Delivery) (any, error) {
	if d.Scope == enroll.CallbackScope {
		return s.sig.enroll.Told(ctx, d.Record, enroll.State(d.State))
	}
	return s.sig.signing.Told(ctx, d.Record, ledger.State(d.State), d.ReachedAt)
}

// bases are the addresses that mean this server.
func (s *Server) bases() []*url.URL {
	all := s.sig.authority.Bases()
	if u, err := url.Parse(s.cfg.PublicURL); err == nil && u.Host != "" {
		all = append(all, u)
	}
	return all
}

// openTrust builds the trust store and the verifier, which the LT levels use too.
func (s *Server) openTrust() error {
	w := &s.sig
	w.trust = &trust.Store{Cache: &trust.Cache{Dir: filepath.Join(s.cfg.Data, "trust", "crl")}}
	if !s.cfg.Network.Offline {
		w.trust.Client = w.guard.Client(10 * time.Second)
	} else {
		w.trust.Client, w.trust.Offline = w.guard.OwnOnly(10*time.Second), true
	}
	if err := w.trust.AddAnchor(w.authority.Root().Raw); err != nil {
		return err
	}
	for _, file := range s.cfg.Trust.Anchors {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("trust.anchors: %w", err)
		}
		if err := w.trust.AddAnchors(b); err != nil {
			return fmt.Errorf("trust.anchors: %s: %w", file, err)
		}
	}
	w.verifier = &rogito.Verifier{Trust: w.trust, Memory: s.cfg.Limits.Memory}
	return s.openLists()
}

func (s *Server) openKeys() error {
	w, p := &s.sig, s.cfg.Signing.PKCS11
	if p.Module != "" {
		pin := ""
		if p.PINFile != "" {
			b, err := os.ReadFile(p.PINFile)
			if err != nil {
				return fmt.Errorf("signing.pkcs11.pin_file: %w", err)
			}
			pin = string(b)
		}
		token, err := keys.OpenToken(keys.TokenConfig{Library: p.Module, Label: p.Token, PIN: strings.TrimRight(pin, "\r\n"), Sessions: p.Sessions})
		if err != nil {
			return err
		}
		w.token = token
		s.onClose(func() { _ = token.Close() })
	}
	vault := keys.NewVault(s.master, keys.VaultConfig{Token: w.token, Hold: s.cfg.Signing.Hold, Dropped: func() { s.dropped.Store(true) }})
	w.keys = keys.NewStore(s.db, vault, s.master, keys.Config{
		LockAfter: s.cfg.Signing.LockFailures, LockFor: s.cfg.Signing.LockTime, Locked: s.noteLock, Log: w.audit,
	})
	return nil
}

// noteLock writes down that a certificate was locked after wrong passwords.
func (s *Server) noteLock(ctx context.Context, tx *store.Tx, account, certificate string, public bool) error {
	e := audit.Event{Account: account, Record: certificate, Kind: "certificate-locked", Log: "locked after wrong passwords or one-time passwords"}
	switch {
	case certificate == "":
		e.Log = "a certificate that does not exist was guessed at too often"
	case public:
		e.Log = "locked on the page of consent, after wrong passwords or one-time passwords there"
	}
	return s.sig.audit.Append(ctx, tx, e)
}

func (s *Server) openRecords() error {
	w := &s.sig
	levels, err := enroll.Redefine(s.cfg.Signing.Levels)
	if err != nil {
		return err
	}
	if w.identify, err = s.identifications(); err != nil {
		return err
	}
	kinds := map[string]string{}
	for name, p := range s.cfg.Signing.Providers {
		kinds[name] = p.Kind
	}
	providers, err := s.cfg.providers(func(name string) remote.Observe { return s.metrics.Provider(name) })
	if err != nil {
		return err
	}
	w.providers = providers
	messenger, err := s.openMessenger()
	if err != nil {
		return err
	}
	w.enroll = enroll.New(enroll.Parts{
		DB: s.db, Master: s.master, Blobs: s.blobs, Keys: w.keys, Authority: w.authority, Audit: w.audit, Callbacks: w.callbacks,
		Biller: s.billing, Identify: w.identify,
	}, enroll.Config{
		PublicURL: s.cfg.PublicURL, Sandbox: s.sandboxed, Providers: kinds, Remote: providers, Chain: s.chain, Revoked: s.revoked, Levels: levels, Token: w.token, Log: s.log,
		KeepEvidence: s.cfg.Retention.Evidence, KeepCancelled: s.cfg.Retention.Files,
		HandedIn: s.reviewWaits, Tell: s.holderNews(messenger), Send: messenger.SendNews, Operator: cmp.Or(s.cfg.Operator.Name, "Rogito"),
	})
	w.signing = signing.New(signing.Deps{
		DB: s.db, Master: s.master, Blobs: s.blobs, Keys: w.keys, Enroll: w.enroll, Audit: w.audit, Callbacks: w.callbacks, Biller: s.billing, Tokens: s.accounts, Guard: w.guard, Jobs: s.jobs,
	}, signing.Config{
		Limits:    request.Limits{Documents: s.cfg.Limits.Documents, Document: s.cfg.Limits.Document},
		Memory:    s.cfg.Limits.Memory,
		AllowSHA1: s.cfg.Signing.AllowSHA1, KeepFiles: s.cfg.Retention.Files, KeepRecords: s.cfg.Retention.Records,
		SpoolDir: s.spool, PublicURL: s.cfg.PublicURL, Check: s.cfg.PublicURL + "/check", Stamper: s.stamper(s.cfg.Signing.TimestampURL), Gatherer: s.gatherer(), Sandbox: s.sandboxed, Log: s.log,
		Providers: providers, Revoked: s.revoked, Signer: s.signer, Lease: s.cfg.Jobs.Lease, Hook: faultHook(), Ended: s.ended, Waits: s.approvalWaits, Able: s.able,
		OwnStamp: func(_ tsp.Server, took time.Duration, err error) { s.metrics.Stamped(callersAuthority, took, err) },
	})
	w.members = member.New(member.Parts{
		DB: s.db, Master: s.master, Accounts: s.accounts, Keys: w.keys, Log: w.audit, Jobs: s.jobs, Mail: messenger.mail, URL: s.invitedTo,
	})
	w.people = people.New(people.Parts{
		DB: s.db, Master: s.master, Blobs: s.blobs, Keys: w.keys, Enroll: w.enroll, Authority: w.authority, Audit: w.audit, Signing: w.signing, Jobs: s.jobs, Messenger: messenger, Drawer: s.drawer,
	}, people.Config{Operator: s.cfg.Operator.Name, Expires: s.cfg.SES.Expires, Seal: s.cfg.SES.Certificate, SealPassword: s.cfg.SES.Password, Log: s.log})
	w.csc = cscserver.New(cscserver.Deps{DB: s.db, Master: s.master, Accounts: s.accounts, Keys: w.keys, Signing: w.signing, Audit: w.audit}, cscserver.Config{})
	return nil
}

// maxSignDoc bounds the documents of one signDoc in bytes: its answer holds them
// all.
const maxSignDoc = 64 << 20

// stampsPerMinute is how many time-stamps one address gets at /tsa. In production the default
// is none: an open stamper would sign for the whole internet.
func (s *Server) stampsPerMinute() int {
	if n := s.cfg.Signing.TSAPerMinute; n != 0 || !s.sandboxed {
		return n
	}
	return sandboxStamps
}

const sandboxStamps = 600

// gatherer collects what the LT levels carry, and warns of documents that grow
// much by it.
func (s *Server) gatherer() *trust.Gatherer {
	return &trust.Gatherer{Store: s.sig.trust, Large: func(ctx context.Context, _ string, size int64) {
		s.log.WarnContext(ctx, "a revocation list makes the signed document grow", "bytes", size)
	}}
}

// registerSigning adds the operations of signatures and certificates.
func (s *Server) registerSigning(a *api.API) {
	w := &s.sig
	records := &signatures.Signatures{Service: w.signing, Completion: s.completion()}
	w.records = records
	certificates := &signatures.Certificates{Service: w.enroll, Guard: w.guard}
	host := ""
	if u, err := url.Parse(s.cfg.PublicURL); err == nil {
		host = u.Hostname()
	}
	signatures.RegisterSignatures(a, records)
	signatures.RegisterPeople(a, &signatures.People{Signatures: records, Service: w.people})
	verification.RegisterVerify(a, s.verification())
	signatures.RegisterApprovals(a, records)
	signatures.RegisterCertificates(a, certificates)
	signatures.RegisterClientCertificates(a, certificates)
	signatures.RegisterCallbacks(a, &signatures.Callbacks{Sender: w.callbacks, Domain: host})
	cschttp.Register(a, &cschttp.Service{
		Auth: w.csc, Signing: w.signing, Certificates: w.enroll, Stamper: s.stamper(s.cfg.Signing.TimestampURL), PublicURL: s.cfg.PublicURL,
		Name: s.cfg.CSC.Name, Region: s.cfg.CSC.Region, MaxDocuments: min(s.cfg.Limits.Document, maxSignDoc),
	})
	api.MountPKI(a, w.authority.Handler(), s.stampsPerMinute())
	s.mountPages(a)
}

// Pauses between the rounds of work that comes back by itself.
const (
	sweepEvery  = 10 * time.Second
	expireEvery = 10 * time.Minute
	retainEvery = time.Hour
)

// startSigning registers the jobs of signatures and certificates, and starts what
// runs in the background.
func (s *Server) startSigning(ctx context.Context) {
	w := &s.sig
	s.jobs.Add(w.signing.Source(s.jobs.Workers()))
	s.jobs.Add(w.callbacks.Source())
	w.members.Register()
	w.people.Register()
	s.jobs.Register(enroll.IssueKind, job.Kind{Work: func(ctx context.Context, i job.Item) error {
		_, err := w.enroll.Issue(ctx, i.ID)
		return err
	}})
	s.jobs.Register(enroll.NewsKind, job.Kind{Attempts: mail.Attempts, Work: w.enroll.SendNews})
	again := func(work func(context.Context) error, timeout time.Duration, frees bool) job.Kind {
		return job.Kind{Timeout: timeout, Frees: frees, Work: func(ctx context.Context, _ job.Item) error { return work(ctx) }}
	}
	s.jobs.Every(sweepEvery, "sweep-signatures", again(w.signing.Sweep, 0, false))
	s.jobs.Every(retainEvery, "retain-signatures", again(w.signing.Retain, 50*time.Minute, true)) // for a backlog
	s.jobs.Every(expireEvery, "expire-certificates", again(w.enroll.Tidy, 0, false))
	s.jobs.Every(time.Hour, "forget-keys", again(s.forgetKeys, 0, true))
	s.jobs.Every(24*time.Hour, "sweep-blobs", again(s.sweepBlobs, 6*time.Hour, true)) // for some ten million
	if to := s.exports(); to != nil {
		s.jobs.Every(s.cfg.Audit.ExportEvery, "export-audit", again(func(ctx context.Context) error { return s.exportTo(ctx, to) }, 14*time.Minute, false))
	}
	ctx = context.WithoutCancel(ctx)
	s.background(ctx, func(ctx context.Context) { s.sig.lists.Run(ctx, refreshLists) })
	s.background(ctx, func(ctx context.Context) { s.checkpointer().Run(ctx) })
}

// rootPEM is the certificate that a sandbox's clients trust.
func (s *Server) rootPEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.sig.authority.Root().Raw}))
}
