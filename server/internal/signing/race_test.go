package signing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// raced is an installation with two servers: keys are used by one while the
// other forbids it. On SQLite the other is what a command beside the server is.
// What happens is put in order by one counter, not by clocks.
type raced struct {
	t       *testing.T
	account string
	server  *server.Server
	here    *signing.Service // of server, where keys are used; its hook watches
	there   struct {
		*server.Server
		enroll  *enroll.Service
		signing *signing.Service
	}
	certs map[keys.Kind]*racedCert

	order    atomic.Int64
	lastUse  atomic.Int64 // when the last use of a key was over
	uses     atomic.Int64
	intended atomic.Pointer[func(record string)]
}

// racedCert is a certificate that signs, and what it is brought back to.
type racedCert struct {
	id, serial, username, password, secret string
	sealed                                 []byte
}

// cheap keys open at once: the password is not what is tried here.
func cheapKeys(s *server.Server) *keys.Store {
	return keys.NewStore(s.Parts().DB, keys.NewVault(s.Parts().Master, keys.VaultConfig{Cost: keys.Cost{Time: 1, Memory: 64}}), s.Parts().Master, keys.Config{Log: s.Parts().Audit})
}

func newRaced(t *testing.T, database string) *raced {
	s := standing(t, database)
	ctx := context.Background()
	x := &raced{t: t, certs: map[keys.Kind]*racedCert{}}
	here := s.OpenServer()
	x.there.Server = s.OpenServer()
	x.server, x.account = here, sandboxAccount(here, t)
	parts := func(s *server.Server) (*enroll.Service, signing.Deps) {
		w, k := s.Parts(), cheapKeys(s)
		e := enroll.New(enroll.Parts{
			DB: s.Parts().DB, Master: s.Parts().Master, Blobs: s.Parts().Blobs, Keys: k, Authority: w.Authority, Audit: w.Audit, Callbacks: w.Callbacks, Biller: s.Parts().Billing,
		}, enroll.Config{Sandbox: true})
		return e, signing.Deps{
			DB: s.Parts().DB, Master: s.Parts().Master, Blobs: s.Parts().Blobs, Keys: k, Enroll: e, Audit: w.Audit, Callbacks: w.Callbacks, Biller: s.Parts().Billing, Tokens: s.Parts().Accounts, Guard: w.Guard, Jobs: s.Parts().Jobs,
		}
	}
	e, deps := parts(here)
	x.here = signing.New(deps, signing.Config{Hook: x.watch})
	x.there.enroll, deps = parts(x.there.Server)
	x.there.signing = signing.New(deps, signing.Config{})
	for kind, level := range map[keys.Kind]int{keys.Automatic: 1, keys.OTP: 4, keys.ESeal: 0} {
		order := enroll.Order{Kind: kind, Owner: "Elsa Prova", Level: level}
		if kind == keys.ESeal { // stands for the one that asks for an approval
			order.Kind, order.Level = keys.OTP, 5
		}
		cred := enroll.Credentials{Username: keys.NewUsername(order.Kind), Password: "a password"}
		if order.Kind == keys.OTP {
			cred.TOTPSecret = keys.NewTOTPSecret()
		}
		c, err := e.Ready(ctx, x.account, order, cred)
		if err != nil {
			t.Fatal(err)
		}
		rc := &racedCert{id: c.ID, serial: c.Serial, username: cred.Username, password: cred.Password, secret: cred.TOTPSecret}
		if err := here.Parts().DB.Read().QueryRow(ctx, `select sealed from credentials where id = $1`, c.ID).Scan(&rc.sealed); err != nil {
			t.Fatal(err)
		}
		x.certs[kind] = rc
	}
	return x
}

// watch notes uses of keys.
func (x *raced) watch(point, record string) {
	switch point {
	case "intended":
		if f := x.intended.Load(); f != nil {
			(*f)(record)
		}
	case "using":
		x.uses.Add(1)
	case "used":
		x.lastUse.Store(x.order.Add(1))
	}
}

func (x *raced) exec(query string, args ...any) {
	x.t.Helper()
	err := x.there.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

// credential changes one, as the other server does it, with the word of it in the
// log.
func (x *raced) credential(change func(tx *store.Tx, k *keys.Store) error) {
	x.t.Helper()
	if err := x.there.Parts().DB.Write(context.Background(), func(tx *store.Tx) error { return change(tx, cheapKeys(x.there.Server)) }); err != nil {
		x.t.Fatal(err)
	}
}

// token makes a token of the account.
func (x *raced) token() (id string) {
	x.t.Helper()
	err := x.there.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
		t, err := x.there.Parts().Accounts.CreateToken(context.Background(), tx, &account.Caller{AccountID: x.account}, account.NewToken{Name: "race", Scopes: []string{account.AllScopes}})
		if err == nil {
			id = t.ID
		}
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return id
}

// round is one race.
type round struct {
	cert     *racedCert
	token    string
	approver string
	record   string // of asynchronous work, before the race begins
}

// way of signing: what is done before the race, and in it.
type way struct {
	name    string
	cert    keys.Kind
	docs    int
	async   bool
	approve bool // in the race, not before
	options request.Options
}

var ways = []way{
	{name: "single", cert: keys.Automatic, docs: 1},
	{name: "batch", cert: keys.Automatic, docs: 3, options: request.Options{Batch: true}},
	{name: "asynchronous", cert: keys.Automatic, docs: 1, async: true, options: request.Options{AsyncSignature: true}},
	{name: "asynchronous batch", cert: keys.Automatic, docs: 3, async: true, options: request.Options{Batch: true, AsyncSignature: true}},
	{name: "otp", cert: keys.OTP, docs: 1},
	{name: "approved", cert: keys.ESeal, docs: 1, async: true},
	{name: "approving", cert: keys.ESeal, docs: 1, async: true, approve: true},
	{name: "approved batch", cert: keys.ESeal, docs: 3, async: true, options: request.Options{Batch: true}},
}

// change is what the other server does; it returns errNotDone where it was too
// late to change anything.
type change struct {
	name string
	ways func(way) bool
	do   func(x *raced, r *round) error
	seen string // query that finds something once the change has committed; $1 is the record, $2 the certificate
	undo func(x *raced, r *round)
}

var errNotDone = errors.New("too late")

func anyWay(way) bool { return true }

func approvedWay(w way) bool { return w.cert == keys.ESeal }

func asyncWay(w way) bool { return w.async }

var changes = []change{
	{
		name: "revoke", ways: anyWay, seen: `select 1 from certificates where id = $2 and state = 'REVOKED' and $1 <> ''`,
		do: func(x *raced, r *round) error {
			_, err := x.there.enroll.Revoke(context.Background(), x.account, r.cert.id)
			return err
		},
		undo: func(x *raced, r *round) {
			x.exec(`update certificates set state = 'DONE' where id = $1`, r.cert.id)
			x.exec(`update credentials set sealed = $1 where id = $2`, r.cert.sealed, r.cert.id)
			x.credential(func(tx *store.Tx, k *keys.Store) error { return k.Hold(context.Background(), tx, r.cert.id, false) })
			x.exec(`update authority_issued set revoked_at = 0, reason = 0 where serial = $1`, r.cert.serial)
		},
	},
	{
		name: "suspend", ways: anyWay, seen: `select 1 from certificates where id = $2 and state = 'SUSPENDED' and $1 <> ''`,
		do: func(x *raced, r *round) error {
			_, err := x.there.enroll.Suspend(context.Background(), x.account, r.cert.id)
			return err
		},
		undo: func(x *raced, r *round) {
			if _, err := x.there.enroll.Resume(context.Background(), x.account, r.cert.id); err != nil {
				x.t.Fatal(err)
			}
		},
	},
	{
		name: "password", ways: anyWay, seen: `select 1 from credentials where id = $2 and length(sealed) > 0 and totp_step >= 0 and $1 <> '' and sealed <> $3`,
		do: func(x *raced, r *round) error {
			return x.there.enroll.ChangePassword(context.Background(), x.account, r.cert.id, r.cert.password, "another password")
		},
		undo: func(x *raced, r *round) {
			x.exec(`update credentials set sealed = $1 where id = $2`, r.cert.sealed, r.cert.id)
			x.credential(func(tx *store.Tx, k *keys.Store) error { return k.Hold(context.Background(), tx, r.cert.id, false) })
		},
	},
	{
		name: "token", ways: anyWay, seen: `select 1 from certificates where id = $2 and not exists (select 1 from tokens t join signatures s on t.id = s.token_id where s.id = $1)`,
		do: func(x *raced, r *round) error {
			return x.there.Parts().Accounts.DeleteToken(context.Background(), &account.Caller{AccountID: x.account}, r.token)
		},
	},
	{
		name: "approver's token", ways: approvedWay, seen: `select 1 from certificates where id = $2 and not exists (select 1 from tokens t join signatures s on t.id = s.approved_by where s.id = $1)`,
		do: func(x *raced, r *round) error {
			return x.there.Parts().Accounts.DeleteToken(context.Background(), &account.Caller{AccountID: x.account}, r.approver)
		},
	},
	{
		name: "withdraw", ways: approvedWay, seen: `select 1 from signatures where id = $1 and approval = 'REFUSED' and $2 <> ''`,
		do: func(x *raced, r *round) error {
			_, err := x.there.signing.Refuse(context.Background(), request.Caller{AccountID: x.account, TokenID: r.approver}, r.record)
			if errors.Is(err, fault.WrongState) {
				return errNotDone
			}
			return err
		},
	},
	{
		name: "delete", ways: asyncWay, seen: `select 1 where not exists (select 1 from signatures where id = $1) and $2 <> ''`,
		do: func(x *raced, r *round) error {
			return x.there.signing.Delete(context.Background(), x.account, r.record)
		},
	},
}

// prepare brings a round to where its race begins.
func (x *raced) prepare(w way) *round {
	x.t.Helper()
	r := &round{cert: x.certs[w.cert], token: x.token()}
	x.exec(`delete from credential_locks`) // rounds with an old password count as failures
	if r.cert.secret != "" {
		r.cert.secret = keys.NewTOTPSecret() // with codes that are not used yet
		x.credential(func(tx *store.Tx, k *keys.Store) error {
			return k.Enrol(context.Background(), tx, r.cert.id, r.cert.secret)
		})
	}
	if !w.async {
		return r
	}
	got, err := x.submit(w, r)
	if err != nil || got.State.Final() {
		x.t.Fatalf("%s: %v %v", w.name, got, err)
	}
	r.record = got.ID
	if got.Approval != "" {
		r.approver = x.token()
		if !w.approve {
			x.approve(r)
		}
	}
	return r
}

// approve has another token approve, unless that is not wanted any more.
func (x *raced) approve(r *round) {
	_, err := x.there.signing.Approve(context.Background(), request.Caller{AccountID: x.account, TokenID: r.approver}, r.record)
	// Whose token is deleted is of no family that could be told apart: SecurityLevel.
	if err != nil && !errors.Is(err, fault.WrongState) && !errors.Is(err, fault.NotFound) && !errors.Is(err, fault.SecurityLevel) {
		x.t.Error(err)
	}
}

func (x *raced) submit(w way, r *round) (*ledger.Record, error) {
	ctx := account.WithCaller(context.Background(), &account.Caller{AccountID: x.account, TokenID: r.token, Sandbox: true})
	req := &request.Request{Kind: keys.Automatic, Username: r.cert.username, Password: r.cert.password, Options: w.options}
	if r.cert.secret != "" {
		req.Kind, req.OTP = keys.OTP, codeOf(x.t, r.cert.secret, 0)
	}
	for range w.docs {
		req.Inputs = append(req.Inputs, request.Input{From: "base64", Source: ades.Source(bytes.NewReader(sitetest.SampleTXT))})
	}
	return x.here.Submit(ctx, req, request.Caller{AccountID: x.account, TokenID: r.token})
}

// sign does what of signing belongs to the race.
func (x *raced) sign(w way, r *round) error {
	if w.approve {
		x.approve(r)
	}
	if w.async {
		return work(x.server, x.here, job.Config{})
	}
	got, err := x.submit(w, r)
	var f *fault.Error
	if errors.As(err, &f) {
		return nil // refused before there was a record
	}
	if err == nil && !got.State.Final() {
		err = fmt.Errorf("the record is %s", got.State)
	}
	return err
}

// run has one round raced, the change some time after signing began, or before
// where the delay is negative. It returns how often the key was used, and whether
// the change came to pass.
func (x *raced) run(w way, c *change, delay time.Duration) (uses int64, done bool) {
	x.t.Helper()
	r := x.prepare(w)
	x.lastUse.Store(0)
	before := x.uses.Load()
	var serr, err error
	var acknowledged int64
	first := func() { serr = x.sign(w, r) }
	second := func() {
		err = c.do(x, r)
		acknowledged = x.order.Add(1)
	}
	if delay < 0 {
		first, second, delay = second, first, -delay
	}
	var both sync.WaitGroup
	both.Go(first)
	time.Sleep(delay)
	second()
	both.Wait()
	if serr != nil {
		x.t.Errorf("%s against %s: signing: %v", c.name, w.name, serr)
	}
	if done = !errors.Is(err, errNotDone); done && err != nil {
		x.t.Errorf("%s against %s: %v", c.name, w.name, err)
	}
	if last := x.lastUse.Load(); done && last > acknowledged {
		x.t.Errorf("%s against %s: a key was used %d steps after the change was acknowledged", c.name, w.name, last-acknowledged)
	}
	if c.undo != nil {
		c.undo(x, r)
	}
	return x.uses.Load() - before, done
}

// No key is used after a change that forbids it was acknowledged: whatever the
// change, however the signature was asked for, whichever server does which. A
// soak is a thousand rounds of each change, over all ways to sign.
func TestNoUseAfterChange(t *testing.T) {
	await.All(t)
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		x := newRaced(t, database)
		// How long signing takes: the change comes at any time of it.
		lasts := map[string]time.Duration{}
		for _, w := range ways {
			var took []time.Duration
			for range 5 {
				r := x.prepare(w)
				begin := time.Now()
				if err := x.sign(w, r); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			lasts[w.name] = took[2]
		}
		for _, c := range changes {
			against := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return !c.ways(w) })
			rounds := 10
			if soaking() {
				rounds = 1000
			}
			for _, w := range against {
				var whole, part, none, late int
				each := (rounds + len(against) - 1) / len(against)
				for range each {
					switch uses, done := x.run(w, &c, rand.N(lasts[w.name]*3/2)-lasts[w.name]/2); {
					case !done:
						late++
					case uses == 0:
						none++
					case uses < int64(w.docs):
						part++
					default:
						whole++
					}
				}
				t.Logf("%-16s against %-18s %d rounds: the key was used before the change in %d, for a part in %d, not at all in %d; the change was too late in %d", c.name, w.name, each, whole, part, none, late)
			}
		}
		if n := countRows(x.there.Server, t, `select count(*) from signing_intents where outcome = ''`); n != 0 {
			t.Errorf("%d intents are not settled", n)
		}
		// The rounds take revocations back in the database, which is found.
		if res, err := x.there.VerifyAudit(context.Background()); err != nil || res.Bad != nil && !strings.Contains(fmt.Sprint(res.Bad), ": after REVOKED its events say ") {
			t.Errorf("audit: %v %v", err, res)
		}
	})
}

// A change that comes between the permit and the use of a key is not
// acknowledged before that use is over, and stops the next.
func TestChangeWaitsForPermittedUse(t *testing.T) {
	await.All(t)
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		x := newRaced(t, database)
		for _, w := range ways {
			for _, c := range changes {
				if !c.ways(w) {
					continue
				}
				r := x.prepare(w)
				before := x.uses.Load()
				var acknowledged atomic.Int64
				changed := make(chan error, 1)
				hook := func(record string) {
					x.intended.Store(nil)
					if r.record == "" {
						r.record = record
					}
					go func() {
						err := c.do(x, r)
						acknowledged.Store(x.order.Add(1))
						changed <- err
					}()
					args := []any{r.record, r.cert.id}
					if c.name == "password" {
						args = append(args, r.cert.sealed)
					}
					await.Until(t, c.name+" against "+w.name+": the change comes about", func() bool {
						var n int
						return x.there.Parts().DB.Read().QueryRow(context.Background(), c.seen, args...).Scan(&n) == nil
					})
					await.Never(t, 5*time.Millisecond, c.name+" against "+w.name+": acknowledged before the permitted use", func() bool { return acknowledged.Load() != 0 })
				}
				x.intended.Store(&hook)
				if err := x.sign(w, r); err != nil {
					t.Errorf("%s against %s: signing: %v", c.name, w.name, err)
				}
				if err := <-changed; err != nil {
					t.Errorf("%s against %s: %v", c.name, w.name, err)
				}
				if x.lastUse.Load() > acknowledged.Load() {
					t.Errorf("%s against %s: a key was used after the change was acknowledged", c.name, w.name)
				}
				if n := x.uses.Load() - before; n != 1 {
					t.Errorf("%s against %s: the key was used %d times, want the permitted use only", c.name, w.name, n)
				}
				if c.undo != nil {
					c.undo(x, r)
				}
			}
		}
	})
}
