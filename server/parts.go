package server

import (
	"log/slog"
	"net/http"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/publication"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// Parts are the services inside a server, for tests that look behind its API. Their packages
// are internal, so only this module can use them.
type Parts struct {
	DB           *store.DB
	Master       *master.Key
	Blobs        blob.Store
	Jobs         *job.Queue
	Accounts     *account.Service
	Billing      *billing.Service
	Publications *publication.Service
	Guard        *fetch.Guard
	Authority    *authority.Authority
	Verifier     *rogito.Verifier
	Keys         *keys.Store
	Token        keys.Token
	Audit        *audit.Log
	Checkpointer *audit.Checkpointer
	Callbacks    *callback.Sender
	Identify     *identify.Methods
	Enroll       *enroll.Service
	Signing      *signing.Service
	Members      *member.Service
	People       *people.Service
}

// Parts of this server.
func (s *Server) Parts() Parts {
	w := &s.sig
	return Parts{
		DB: s.db, Master: s.master, Blobs: s.blobs, Jobs: s.jobs, Accounts: s.accounts, Billing: s.billing, Publications: s.publications,
		Guard: w.guard, Authority: w.authority, Verifier: w.verifier, Keys: w.keys, Token: w.token,
		Audit: w.audit, Checkpointer: s.checkpointer(), Callbacks: w.callbacks, Identify: w.identify,
		Enroll: w.enroll, Signing: w.signing, Members: w.members, People: w.people,
	}
}

// Handler answers as a server does that listens.
func (s *Server) Handler() http.Handler { return api.Peer(s.newAPI().Handler()) }

// LogTo has a server that was opened write its log elsewhere, before its Handler is made.
func (s *Server) LogTo(log *slog.Logger) { s.log = log }
