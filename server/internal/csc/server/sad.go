package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// Authorisation is what a SAD authorises. It is sealed: the rows beside it say
// only which of the hashes were used.
type Authorisation struct {
	Grant       *signing.Grant `json:"grant"`
	Hashes      [][]byte       `json:"hashes"`
	Signatures  int            `json:"signatures"` // in all: further hashes come with Extend
	Description string         `json:"description,omitempty"`
	Until       int64          `json:"until,omitempty"` // no SAD of it is good for longer; zero: each for SADLife
}

// Authorise makes the SAD of a bearer.
func (s *Service) Authorise(ctx context.Context, b *Bearer, a *Authorisation) (string, error) {
	secret := newSecret("sad_")
	err := s.db.Write(ctx, func(tx *store.Tx) error { return s.insertSAD(ctx, tx, secret, b, a) })
	return secret, err
}

func (s *Service) insertSAD(ctx context.Context, tx *store.Tx, secret string, b *Bearer, a *Authorisation) error {
	d := &sad{id: store.NewID(), account: b.Account, token: b.Token, client: b.Client, certificate: a.Grant.Certificate, expires: s.expiry(a)}
	sealed, err := s.seal(secret, d.owner(), a)
	if err != nil {
		return err
	}
	if err := s.sweep(ctx, tx, "csc_sads", keptFor); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into csc_sads (id, hash, account_id, token_id, client_id, certificate_id, sealed, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		d.id, s.hash(secret), d.account, d.token, d.client, d.certificate, sealed, d.expires)
	if err != nil {
		return fmt.Errorf("csc: store SAD: %w", err)
	}
	if err := insertHashes(ctx, tx, d.id, 0, len(a.Hashes)); err != nil {
		return err
	}
	return s.note(ctx, tx, b, a, a.Hashes, "use of the key authorised")
}

func (s *Service) expiry(a *Authorisation) int64 {
	at := store.Millis(s.config.Now().Add(SADLife))
	if a.Until != 0 {
		at = min(at, a.Until)
	}
	return at
}

// authorised is the log's entry for an authorisation.
type authorised struct {
	Token      string   `json:"token"`
	Client     string   `json:"client,omitempty"`
	Signatures int      `json:"signatures"`
	Hashes     []string `json:"hashes"`
}

func (s *Service) note(ctx context.Context, tx *store.Tx, b *Bearer, a *Authorisation, hashes [][]byte, text string) error {
	d := authorised{Token: b.Token, Client: b.Client, Signatures: a.Signatures}
	for _, h := range hashes {
		d.Hashes = append(d.Hashes, hex.EncodeToString(h))
	}
	return s.audit.Append(ctx, tx, audit.Event{Account: b.Account, Record: a.Grant.Certificate, Kind: "csc-authorised", Log: text, Detail: d})
}

func insertHashes(ctx context.Context, tx *store.Tx, sad string, from, to int) error {
	for i := from; i < to; i++ {
		if err := tx.Later(ctx, `insert into csc_hashes (sad_id, position) values ($1, $2)`, sad, i); err != nil {
			return fmt.Errorf("csc: store hash: %w", err)
		}
	}
	return nil
}

// sad is a row of csc_sads with its authorisation.
type sad struct {
	id, account, token, client, certificate string
	expires                                 int64
	Authorisation
}

// owner is what a SAD is sealed for: all that its row says.
func (d *sad) owner() string {
	return fmt.Sprintf("%s %q %q %q %q %d", d.id, d.account, d.token, d.client, d.certificate, d.expires)
}

// open judges a SAD: its bearer, its certificate and its time.
func (s *Service) open(ctx context.Context, tx *store.Tx, b *Bearer, certificate, secret string) (*sad, error) {
	var d sad
	var sealed []byte
	var rows int
	// The row is held from here on, so that two servers do not wait for one another's
	// hashes.
	if _, err := tx.Exec(ctx, `update csc_sads set expires_at = expires_at where hash = $1`, s.hash(secret)); err != nil {
		return nil, fmt.Errorf("csc: hold SAD: %w", err)
	}
	err := tx.QueryRow(ctx, `select s.id, s.account_id, s.token_id, s.client_id, s.certificate_id, s.sealed, s.expires_at, (select count(*) from csc_hashes h where h.sad_id = s.id)
		from csc_sads s join tokens t on t.id = s.token_id where s.hash = $1`, s.hash(secret)).
		Scan(&d.id, &d.account, &d.token, &d.client, &d.certificate, &sealed, &d.expires, &rows)
	if errors.Is(err, store.ErrNoRows) {
		return nil, badSAD()
	}
	if err != nil {
		return nil, fmt.Errorf("csc: read SAD: %w", err)
	}
	// A SAD of the OAuth flow is good beside any token that the same client has
	// for the same certificate; every other one only with the token that asked.
	asked := b.Token == d.token || d.client != "" && d.client == b.Client && d.certificate == b.Certificate
	switch {
	case d.account != b.Account || !asked || d.certificate != certificate:
		return nil, badSAD()
	case d.expires <= store.Millis(s.config.Now()):
		return nil, Invalid("SAD expired")
	}
	if err := s.unseal(secret, d.owner(), sealed, &d.Authorisation); err != nil {
		return nil, err
	}
	if d.Grant.Certificate != certificate || rows != len(d.Hashes) { // rows were changed
		return nil, badSAD()
	}
	return &d, nil
}

// Extend adds hashes to an authorisation that has signatures left. The new SAD
// takes the place of the old one.
func (s *Service) Extend(ctx context.Context, b *Bearer, certificate, secret string, hashes [][]byte) (string, error) {
	next := newSecret("sad_")
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		d, err := s.open(ctx, tx, b, certificate, secret)
		if err != nil {
			return err
		}
		before := len(d.Hashes)
		d.Hashes = append(d.Hashes, hashes...)
		if len(d.Hashes) > d.Signatures {
			return Invalid("The SAD authorises %d signatures, and %d hashes are authorised already", d.Signatures, before)
		}
		d.expires = s.expiry(&d.Authorisation)
		sealed, err := s.seal(next, d.owner(), &d.Authorisation)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `update csc_sads set hash = $1, sealed = $2, expires_at = $3 where id = $4 and hash = $5`,
			s.hash(next), sealed, d.expires, d.id, s.hash(secret))
		if err != nil {
			return fmt.Errorf("csc: extend SAD: %w", err)
		}
		if n == 0 {
			return badSAD()
		}
		if err := insertHashes(ctx, tx, d.id, before, len(d.Hashes)); err != nil {
			return err
		}
		return s.note(ctx, tx, b, &d.Authorisation, hashes, "use of the key authorised for further hashes")
	})
	return next, err
}

// States of a hash; none while it is free.
const (
	stateReserved = "RESERVED"
	stateWaiting  = "WAITING" // for an approval
	stateUsed     = "USED"
)

// Reservation is the right to sign each of some hashes once.
type Reservation struct {
	Authorisation
	Hashes       []Reserved
	sad, account string
}

// Reserved is one hash of a reservation. One that waited for an approval has its
// record already.
type Reserved struct {
	Hash     []byte
	Record   string
	position int
}

// NotAuthorized is what is said of a hash that was not.
const NotAuthorized = "Hash is not authorized by the SAD"

// Wanted says whether an authorised hash is the one that is to be signed.
type Wanted func(authorised []byte) bool

// Exactly wants one hash.
func Exactly(h []byte) Wanted {
	return func(authorised []byte) bool { return bytes.Equal(authorised, h) }
}

// Reserve takes hashes out of an authorisation, all of them or none.
func (s *Service) Reserve(ctx context.Context, b *Bearer, certificate, secret string, wanted []Wanted) (*Reservation, error) {
	var r *Reservation
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		d, err := s.open(ctx, tx, b, certificate, secret)
		if err != nil {
			return err
		}
		r = &Reservation{Authorisation: d.Authorisation, sad: d.id, account: d.account}
		taken := map[int]bool{}
		for _, w := range wanted {
			one, err := s.reserve(ctx, tx, d, w, taken)
			if err != nil {
				return err
			}
			r.Hashes = append(r.Hashes, one)
		}
		return nil
	})
	return r, err
}

// reserve finds a hash that is free, or one whose record waited for an approval.
func (s *Service) reserve(ctx context.Context, tx *store.Tx, d *sad, wanted Wanted, taken map[int]bool) (Reserved, error) {
	known := false
	for i, authorised := range d.Hashes {
		if taken[i] || !wanted(authorised) {
			continue
		}
		known = true
		n, err := tx.Exec(ctx, `update csc_hashes set state = $3 where sad_id = $1 and position = $2 and state = '' and record_id = ''`, d.id, i, stateReserved)
		if err != nil {
			return Reserved{}, fmt.Errorf("csc: reserve hash: %w", err)
		}
		one := Reserved{Hash: authorised, position: i}
		if n == 0 {
			err = tx.QueryRow(ctx, `select record_id from csc_hashes where sad_id = $1 and position = $2 and state = $3`, d.id, i, stateWaiting).Scan(&one.Record)
			if errors.Is(err, store.ErrNoRows) {
				continue
			}
			if err != nil {
				return Reserved{}, fmt.Errorf("csc: read hash: %w", err)
			}
		}
		// Whatever the row says, which may have been put back.
		switch was, err := s.became(ctx, tx, d.id, i); {
		case err != nil:
			return Reserved{}, err
		case was.Used || was.Record != one.Record:
			continue
		}
		taken[i] = true
		return one, nil
	}
	if known {
		return Reserved{}, errUsed()
	}
	return Reserved{}, Invalid(NotAuthorized)
}

// Outcome of a reserved hash. Without a record nothing was signed, and the hash
// is free again.
type Outcome struct {
	Record  string
	Waiting bool
}

// Settle writes down what became of the hashes of a reservation. A value is
// given out only after that, and only once.
func (s *Service) Settle(ctx context.Context, r *Reservation, outcomes []Outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for i, o := range outcomes {
			state, from := stateUsed, stateReserved
			switch {
			case o.Waiting:
				state = stateWaiting
			case o.Record == "":
				state = ""
			}
			if r.Hashes[i].Record != "" {
				from = stateWaiting
			}
			n, err := tx.Exec(ctx, `update csc_hashes set state = $1, record_id = $2 where sad_id = $3 and position = $4 and state = $5`,
				state, o.Record, r.sad, r.Hashes[i].position, from)
			if err != nil {
				return fmt.Errorf("csc: settle hash: %w", err)
			}
			if n == 0 {
				return errUsed()
			}
			if o.Record == "" {
				continue
			}
			if was, err := s.became(ctx, tx, r.sad, r.Hashes[i].position); err != nil || was.Used {
				return errors.Join(err, errUsed())
			}
			err = s.audit.Append(ctx, tx, audit.Event{
				Account: r.account, Record: hashRecord(r.sad, r.Hashes[i].position), Kind: kindHash, Log: "authorised hash", Detail: became{o.Record, !o.Waiting},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func errUsed() error {
	return Invalid("Hash was signed already, or is being signed: the SAD authorises it once")
}

// became is the log's entry for an authorised hash: its record, which may wait for an approval.
type became struct {
	Record string `json:"record"`
	Used   bool   `json:"used"`
}

const kindHash = "csc-hash"

func hashRecord(sad string, position int) string { return fmt.Sprintf("%s-%d", sad, position) }

func (s *Service) became(ctx context.Context, q store.Querier, sad string, position int) (last became, err error) {
	events, err := s.audit.Told(ctx, q, hashRecord(sad, position), `kind = '`+kindHash+`'`)
	if err != nil || len(events) == 0 {
		return last, err
	}
	_, detail := events[len(events)-1].Text()
	return last, json.Unmarshal(detail, &last)
}
