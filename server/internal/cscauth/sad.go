package cscauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// authorisation is what a SAD stands for. It is sealed: the rows beside it say
// only which of the hashes were used.
type authorisation struct {
	Grant  *signing.Grant `json:"grant"`
	Hashes [][]byte       `json:"hashes"`
}

// States of a hash; none while it is free.
const (
	stateReserved = "RESERVED"
	stateWaiting  = "WAITING" // for an approval
	stateUsed     = "USED"
)

// Authorise makes the SAD of a bearer for some hashes, and for so many
// signatures in all: further hashes come with Extend.
func (s *Service) Authorise(ctx context.Context, b *Bearer, g *signing.Grant, hashes [][]byte, signatures int) (string, error) {
	secret := newSecret("sad_")
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		return s.insertSAD(ctx, tx, secret, b, authorisation{g, hashes}, signatures)
	})
	return secret, err
}

func (s *Service) insertSAD(ctx context.Context, tx *store.Tx, secret string, b *Bearer, a authorisation, signatures int) error {
	id := store.NewID()
	sealed, err := s.seal(secret, id, a)
	if err != nil {
		return err
	}
	if err := s.sweep(ctx, tx, "csc_sads"); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `insert into csc_sads (id, hash, account_id, token_id, client_id, certificate_id, signatures, sealed, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		id, s.hash(secret), b.Account, b.Token, b.Client, a.Grant.Certificate, signatures, sealed, store.Millis(s.config.Now().Add(SADLife)))
	if err != nil {
		return fmt.Errorf("cscauth: store SAD: %w", err)
	}
	return insertHashes(ctx, tx, id, 0, len(a.Hashes))
}

func insertHashes(ctx context.Context, tx *store.Tx, sad string, from, to int) error {
	for i := from; i < to; i++ {
		if err := tx.Later(ctx, `insert into csc_hashes (sad_id, position) values ($1, $2)`, sad, i); err != nil {
			return fmt.Errorf("cscauth: store hash: %w", err)
		}
	}
	return nil
}

// sad is a row of csc_sads with what it stands for.
type sad struct {
	id         string
	signatures int
	authorisation
}

// open judges a SAD: its bearer, its certificate and its time.
func (s *Service) open(ctx context.Context, q store.Querier, b *Bearer, certificate, secret string) (*sad, error) {
	var d sad
	var account, token, client, credential string
	var sealed []byte
	var expires int64
	err := q.QueryRow(ctx, `select id, account_id, token_id, client_id, certificate_id, signatures, sealed, expires_at from csc_sads where hash = $1`, s.hash(secret)).
		Scan(&d.id, &account, &token, &client, &credential, &d.signatures, &sealed, &expires)
	if errors.Is(err, store.ErrNoRows) {
		return nil, Invalid("Invalid parameter SAD")
	}
	if err != nil {
		return nil, fmt.Errorf("cscauth: read SAD: %w", err)
	}
	// A SAD of the OAuth flow is good beside any token that the same client has
	// for the same certificate; every other one only with the token that asked.
	asked := b.Token == token || client != "" && client == b.Client && credential == b.Certificate
	switch {
	case account != b.Account || !asked || credential != certificate:
		return nil, Invalid("Invalid parameter SAD")
	case expires <= store.Millis(s.config.Now()):
		return nil, Invalid("SAD expired")
	}
	return &d, s.unseal(secret, d.id, sealed, &d.authorisation)
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
		if len(d.Hashes) > d.signatures {
			return Invalid("The SAD authorises %d signatures, and %d hashes are authorised already", d.signatures, before)
		}
		sealed, err := s.seal(next, d.id, d.authorisation)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `update csc_sads set hash = $1, sealed = $2, expires_at = $3 where id = $4 and hash = $5`,
			s.hash(next), sealed, store.Millis(s.config.Now().Add(SADLife)), d.id, s.hash(secret))
		if err != nil {
			return fmt.Errorf("cscauth: extend SAD: %w", err)
		}
		if n == 0 {
			return Invalid("Invalid parameter SAD")
		}
		return insertHashes(ctx, tx, d.id, before, len(d.Hashes))
	})
	return next, err
}

// Reservation is the right to sign each of some hashes once.
type Reservation struct {
	Grant  *signing.Grant
	Hashes []Reserved
	sad    string
}

// Reserved is one hash of a reservation. One that waited for an approval has its
// record already.
type Reserved struct {
	Hash     []byte
	Record   string
	position int
}

// Reserve takes hashes out of an authorisation, all of them or none.
func (s *Service) Reserve(ctx context.Context, b *Bearer, certificate, secret string, hashes [][]byte) (*Reservation, error) {
	var r *Reservation
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		d, err := s.open(ctx, tx, b, certificate, secret)
		if err != nil {
			return err
		}
		r = &Reservation{Grant: d.Grant, sad: d.id}
		taken := map[int]bool{}
		for _, h := range hashes {
			one, err := s.reserve(ctx, tx, d, h, taken)
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
func (s *Service) reserve(ctx context.Context, tx *store.Tx, d *sad, h []byte, taken map[int]bool) (Reserved, error) {
	known := false
	for i, authorised := range d.Hashes {
		if taken[i] || !bytes.Equal(authorised, h) {
			continue
		}
		known = true
		n, err := tx.Exec(ctx, `update csc_hashes set state = 'RESERVED' where sad_id = $1 and position = $2 and state = ''`, d.id, i)
		if err != nil {
			return Reserved{}, fmt.Errorf("cscauth: reserve hash: %w", err)
		}
		one := Reserved{Hash: h, position: i}
		if n == 0 {
			err = tx.QueryRow(ctx, `select record_id from csc_hashes where sad_id = $1 and position = $2 and state = 'WAITING'`, d.id, i).Scan(&one.Record)
			if errors.Is(err, store.ErrNoRows) {
				continue
			}
			if err != nil {
				return Reserved{}, fmt.Errorf("cscauth: read hash: %w", err)
			}
		}
		taken[i] = true
		return one, nil
	}
	if known {
		return Reserved{}, Invalid("Hash was signed already, or is being signed: the SAD authorises it once")
	}
	return Reserved{}, Invalid("Hash is not authorized by the SAD")
}

// Outcome of a reserved hash.
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
			if o.Waiting {
				state = stateWaiting
			}
			if r.Hashes[i].Record != "" {
				from = stateWaiting
			}
			n, err := tx.Exec(ctx, `update csc_hashes set state = $1, record_id = $2 where sad_id = $3 and position = $4 and state = $5`,
				state, o.Record, r.sad, r.Hashes[i].position, from)
			if err != nil {
				return fmt.Errorf("cscauth: settle hash: %w", err)
			}
			if n == 0 {
				return Invalid("Hash was signed already, or is being signed: the SAD authorises it once")
			}
		}
		return nil
	})
}
