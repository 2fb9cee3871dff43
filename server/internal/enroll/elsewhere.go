package enroll

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
)

// Identification elsewhere takes three steps, each on any server. Begin keeps a
// request. Answer takes it once, has the method judge what came, and keeps what
// is believed. Return hands that to the browser that began: an answer is posted
// by whatever browser was at the provider's, and a victim may have been
// lured there by the one who began.

// request is what is kept of one, sealed for its row.
type request struct {
	ID    string // SAML ID, state
	State []byte // the method's
	// Browser that began: its hash. Of a card none is needed, since the browser
	// that shows it is the one that is sent back.
	Browser []byte
	Until   int64 // no answer counts afterwards
}

// heldAnswer is an answer that waits, sealed together with the token that fetches it: write
// access to the database is not enough to have it fetched by another token.
type heldAnswer struct {
	identify.Answer
	Token string // its digest
}

const (
	requestPurpose = "identification-request"
	answerPurpose  = "identification-answer"

	// refusalsEnd an order, so that tries are limited.
	refusalsEnd = 5
	// openRequests of one order are kept, the newest.
	openRequests = 20
	// returnTime is how long an answer waits for the browser that began.
	returnTime = 10 * time.Minute
)

// digestOf names a request or an answer in the database, where nothing can be
// made of it.
func digestOf(kind, id string) string {
	h := sha256.Sum256([]byte(kind + "\x00" + id))
	return hex.EncodeToString(h[:])
}

// Providers are those that a method can ask now; nil for methods without providers.
func (s *Service) Providers(ctx context.Context, method string) []identify.Provider {
	if m := s.identify.Method(method); m != nil {
		return m.Providers(ctx)
	}
	return nil
}

// Begin makes a request to a provider, for the browser that asks.
func (s *Service) Begin(ctx context.Context, c *Certificate, method, provider string, b Browser) (*identify.Departure, error) {
	d, keep, err := s.depart(ctx, c.ID, certificateApplicant{s, c}, method, provider, b)
	if err != nil {
		return nil, err
	}
	return d, s.write(ctx, c, func(tx *store.Tx) error {
		if c.State == Ordered {
			// It may have been begun a moment ago; whether it still may be is asked when
			// the answer comes.
			if err := s.step(ctx, tx, c, Registering, "identification by "+method+" begun"); err != nil && !errors.Is(err, fault.WrongState) {
				return err
			}
		}
		return keep(ctx, tx)
	})
}

// depart makes a request to a provider, for the browser that asks, and returns what stores it: of
// an order or of a person without one.
func (s *Service) depart(ctx context.Context, id string, who Applicant, method, provider string, b Browser) (*identify.Departure, func(context.Context, *store.Tx) error, error) {
	m := s.method(method)
	if m == nil {
		return nil, nil, fault.New(fault.NoIdentification, "identification by %s is not configured on this server", method)
	}
	if err := who.Allows(method); err != nil {
		return nil, nil, err
	}
	d, err := m.Start(ctx, provider)
	if err != nil {
		return nil, nil, AsFault(err)
	}
	keep, err := s.requestOf(id, method, d, b)
	return d, keep, err
}

// requestOf returns what stores a request.
func (s *Service) requestOf(id, method string, d *identify.Departure, b Browser) (func(context.Context, *store.Tx) error, error) {
	row := digestOf(method, d.Request)
	r := request{ID: d.Request, State: d.State, Until: store.Millis(d.Until)}
	if b != "" {
		r.Browser = b.Hash()
	}
	sealed, err := s.seal(requestPurpose, id+"/"+row, r)
	return func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `insert into identification_requests (id, certificate_id, method, sealed, until) values ($1, $2, $3, $4, $5)`,
			row, id, method, sealed, store.Millis(d.Until)); err != nil {
			return fmt.Errorf("enroll: keep request: %w", err)
		}
		_, err := tx.Exec(ctx, `delete from identification_requests where certificate_id = $1 and id not in
			(select id from identification_requests where certificate_id = $1 order by until desc limit $2)`, id, openRequests)
		return err
	}, err
}

// openRequest opens what was kept of a request: it is always there, and says until
// when an answer counts.
func (s *Service) openRequest(id, row string, sealed []byte, until int64, r *request) error {
	err := s.open(requestPurpose, id+"/"+row, sealed, r)
	if err == nil && (r.ID == "" || r.Until != until) {
		err = errors.New("enroll: what was kept of a request was changed")
	}
	return err
}

// Refused is an identification that did not succeed.
type Refused struct {
	Certificate *Certificate // nil where no order is known
	Ended       bool         // it was one too many: the order is cancelled
	Err         error        // a fault; of 313 the cause is an *identify.Refusal
}

func (r *Refused) Error() string { return r.Err.Error() }
func (r *Refused) Unwrap() error { return r.Err }

// AsFault gives a refusal its code. Anything else stays what it is.
func AsFault(err error) error {
	var r *identify.Refusal
	var f *fault.Error
	if errors.As(err, &r) && !errors.As(err, &f) {
		return fault.New(fault.IdentityRefused, "%s", r.English).Because(r)
	}
	return err
}

var (
	unsolicited = &identify.Refusal{
		Reason: "unsolicited", English: "No identification that was begun here waits for this answer. Begin again from the page of your order.",
		Italian: "Nessuna identificazione iniziata qui attende questa risposta. Ricomincia dalla pagina del tuo ordine.",
	}
	replayed = &identify.Refusal{
		Reason: "replay", English: "This answer was received already: each counts once. Begin again from the page of your order.",
		Italian: "Questa risposta è già stata ricevuta: ognuna vale una volta sola. Ricomincia dalla pagina del tuo ordine.",
	}
	stale = &identify.Refusal{
		Reason: "stale", English: "The answer came too late. Begin again from the page of your order.",
		Italian: "La risposta è arrivata troppo tardi. Ricomincia dalla pagina del tuo ordine.",
	}
	otherBrowser = &identify.Refusal{
		Reason: "browser", English: "The identification was begun in another browser. It counts only there: open the link of your own order, and begin and end in the same browser.",
		Italian: "L'identificazione è stata iniziata in un altro browser e vale solo lì: apri il collegamento del tuo ordine, e inizia e finisci nello stesso browser.",
	}
)

// Answer judges what came back from a provider. One that is believed waits for
// the browser that began: at this address with that token.
func (s *Service) Answer(ctx context.Context, method string, values url.Values) (address, token string, err error) {
	m := s.method(method)
	if m == nil {
		return "", "", fault.New(fault.NoIdentification, "identification by %s is not configured on this server", method)
	}
	asked, err := m.Request(values)
	if err != nil {
		return "", "", &Refused{Err: AsFault(err)}
	}
	row := digestOf(method, asked)
	var order string
	var sealed []byte
	var until int64
	err = s.db.Read().QueryRow(ctx, `select certificate_id, sealed, until from identification_requests where id = $1 and method = $2`, row, method).Scan(&order, &sealed, &until)
	if errors.Is(err, store.ErrNoRows) {
		return "", "", &Refused{Err: AsFault(unsolicited)}
	}
	if err != nil {
		return "", "", err
	}
	who, err := s.applicant(ctx, order)
	if err != nil {
		return "", "", err
	}
	var r request
	if err := s.openRequest(order, row, sealed, until, &r); err != nil {
		return "", "", err
	}
	first := false
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update identification_requests set answered_at = $1 where id = $2 and answered_at = 0 and token = ''`, store.Millis(s.config.Now()), row)
		first = n == 1
		return err
	})
	switch {
	case err != nil:
		return "", "", err
	case !first:
		return "", "", who.Refuse(ctx, method, replayed)
	case s.config.Now().After(store.Time(until)):
		return "", "", who.Refuse(ctx, method, stale)
	}
	if err := who.Allows(method); err != nil {
		return "", "", who.Refused(err)
	}
	a, err := m.Finish(ctx, r.State, values)
	if err != nil {
		return "", "", who.Refuse(ctx, method, err)
	}
	a.Proof.Method, a.Proof.Request = method, r.ID
	proof := a.Proof
	if proof.Nameless() {
		proof = proof.WithNames(who.Order()) // they are looked at later; the rest must fit now
	}
	if _, err := who.Order().Settle(proof); err != nil && method != byProvider {
		return "", "", who.Refuse(ctx, method, err)
	}
	token, err = s.keepAnswer(ctx, who.Account(), order, row, a)
	if errors.Is(err, error(replayed)) {
		return "", "", who.Refuse(ctx, method, replayed)
	}
	return who.Address(), token, err
}

// Kinds of events of what is good once.
const (
	kindAnswer    = "identification-answer"
	kindStatement = "identification-statement"
)

// keepAnswer stores an accepted answer, and uses up its id.
func (s *Service) keepAnswer(ctx context.Context, account, id, row string, a *identify.Answer) (string, error) {
	token := rand.Text()
	digest := digestOf("token", token)
	sealed, err := s.seal(answerPurpose, id+"/"+row, heldAnswer{*a, digest})
	if err != nil {
		return "", err
	}
	return token, s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into identification_answers (id, until) values ($1, $2)`, digestOf(a.Proof.Method, a.ID), max(store.Millis(a.Until), store.Millis(s.config.Now())))
		if store.IsConflict(err) {
			return replayed
		}
		if err != nil {
			return fmt.Errorf("enroll: take answer: %w", err)
		}
		// Whatever rows were taken away or put back.
		err = s.audit.Once(ctx, tx, audit.Event{Account: account, Record: digestOf(a.Proof.Method, a.ID), Kind: kindAnswer, Log: "an answer of an identity provider was taken"})
		if errors.Is(err, audit.ErrTwice) {
			return replayed
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update identification_requests set token = $1, answer = $2 where id = $3`, digest, sealed, row)
		return err
	})
}

// Return takes the answer that a token is for, if the browser is the one that
// began: it shows the secret that was tied to the request. From now on b is tied
// to the order.
func (s *Service) Return(ctx context.Context, order, token string, shown Browsers, b Browser) (*Certificate, error) {
	c, err := s.ByID(ctx, order)
	if err != nil {
		return nil, err
	}
	r, err := s.ReturnOther(ctx, order, certificateApplicant{s, c}, token, shown)
	if err != nil {
		return nil, err
	}
	method, a, take := r.Method, r.Answer, r.Take
	if method == byProvider {
		return s.loggedIn(ctx, c, a.Files[0].Content, b, take)
	}
	return s.accepted(ctx, c, method, a, b, take)
}

// Returned is an answer that came back in the browser that began. Take, in the
// transaction that stores what comes of it, makes sure that it is taken once.
type Returned struct {
	Method string
	Answer *identify.Answer
	Take   func(*store.Tx) error
}

// ReturnOther is Return for a person without an order.
func (s *Service) ReturnOther(ctx context.Context, order string, who Applicant, token string, shown Browsers) (*Returned, error) {
	var row, method string
	var sealed, answer []byte
	var answered, until int64
	err := s.db.Read().QueryRow(ctx, `select id, method, sealed, answer, answered_at, until from identification_requests where token = $1 and certificate_id = $2 and answer is not null`,
		digestOf("token", token), order).Scan(&row, &method, &sealed, &answer, &answered, &until)
	if errors.Is(err, store.ErrNoRows) {
		return nil, &Refused{Err: AsFault(replayed)}
	}
	if err != nil {
		return nil, err
	}
	var r request
	var a heldAnswer
	if err := errors.Join(s.openRequest(order, row, sealed, until, &r), s.open(answerPurpose, order+"/"+row, answer, &a)); err != nil {
		return nil, err
	}
	take := func(tx *store.Tx) error {
		return tx.Expect(ctx, 1, replayed, `update identification_requests set token = '', answer = null where id = $1 and answer is not null`, row)
	}
	var refusal error
	switch {
	case a.Token != digestOf("token", token):
		refusal = replayed
	case r.Browser != nil && !shown.Has(r.Browser):
		refusal = otherBrowser
	case s.config.Now().After(store.Time(answered).Add(returnTime)):
		refusal = stale
	}
	if refusal != nil {
		if err := s.db.Write(ctx, take); err != nil && !errors.Is(err, error(replayed)) {
			return nil, err
		}
		return nil, who.Refuse(ctx, method, refusal)
	}
	if err := who.Allows(method); err != nil {
		return nil, who.Refused(err)
	}
	return &Returned{method, &a.Answer, take}, nil
}

// accepted takes an answer for an order.
func (s *Service) accepted(ctx context.Context, c *Certificate, method string, a *identify.Answer, b Browser, take func(*store.Tx) error) (_ *Certificate, err error) {
	proof, looked := a.Proof, approved
	if proof.Nameless() {
		if c.State == Done && c.Certified != nil && c.Certified.FiscalCode != "" {
			proof = proof.WithNames(c.identifyOrder()) // the certificate names the person of that tax code
		} else {
			looked = pending
		}
	}
	e := evidence{method: method, state: looked, browser: b.Hash(), detail: detail{Proof: proof, Files: map[string]string{}}}
	for _, f := range a.Files {
		kept, err := s.blobs.Put(ctx, bytes.NewReader(f.Content))
		if err != nil {
			s.drop(ctx, e)
			return nil, fmt.Errorf("enroll: keep evidence: %w", err)
		}
		e.detail.Files[kept.ID] = f.Name
	}
	kept := false
	var done *Certificate
	if looked == pending {
		done, err = s.handIn(ctx, c, e, "a card without names was shown", func(tx *store.Tx) error {
			tx.OnCommit(func() { kept = true })
			return take(tx)
		})
	} else {
		done, err = s.identified(ctx, c, proof, b.Hash(), "identified by "+method, func(tx *store.Tx) error {
			tx.OnCommit(func() { kept = true })
			return errors.Join(take(tx), s.keepEvidence(ctx, tx, c, e))
		})
	}
	if !kept {
		s.drop(ctx, e)
	}
	if errors.Is(err, error(replayed)) {
		return nil, &Refused{Certificate: c, Err: AsFault(replayed)}
	}
	return done, err
}

// refuse writes down that an identification was refused, and ends the order at
// the fifth. An accident of ours or of a provider's is none.
func (s *Service) refuse(ctx context.Context, c *Certificate, method string, why error) error {
	why = AsFault(why)
	out := &Refused{Certificate: c, Err: why}
	var f *fault.Error
	if !errors.As(why, &f) || f.Code != fault.IdentityRefused && f.Code != fault.NotTheApplicant && f.Code != fault.BadField {
		return out
	}
	reason := ""
	var r *identify.Refusal
	var d *identify.Difference
	switch {
	case errors.As(why, &r):
		reason = r.Reason
	case errors.As(why, &d):
		reason = d.Attribute
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := s.noteMethod(ctx, tx, c, "certificate-refused", method, reason); err != nil {
			return err
		}
		var n int
		var state State
		if err := tx.QueryRow(ctx, `update certificates set refusals = refusals + 1 where id = $1 returning refusals, state`, c.ID).Scan(&n, &state); err != nil {
			return fmt.Errorf("enroll: count refusals: %w", err)
		}
		if n < refusalsEnd || state != Ordered && state != Registering {
			return nil
		}
		out.Ended = true
		return s.cancel(ctx, tx, c, fmt.Sprintf("%d identifications were refused", n), false)
	})
	if err != nil {
		return err
	}
	return out
}

// noteMethod logs the outcome of an identification, without any data of the person.
func (s *Service) noteMethod(ctx context.Context, tx *store.Tx, c *Certificate, kind, method, reason string) error {
	text := "identified by " + method
	if kind == "certificate-refused" {
		text = "identification by " + method + " refused"
	}
	return s.note(ctx, tx, c, kind, text, map[string]any{"method": method, "reason": reason})
}

// forgetRequests drops requests and answers that can no longer be used.
func (s *Service) forgetRequests(ctx context.Context) error {
	now := s.config.Now()
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `delete from identification_requests where until < $1`, store.Millis(now.Add(-time.Hour))); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from identification_answers where until < $1`, store.Millis(now.Add(-time.Hour)))
		return err
	})
}
