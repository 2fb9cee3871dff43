// Package billing takes the price of what accounts have made: out of the free
// quota, subscriptions and wallets, within the limits of tokens and accounts; and
// counts what they use.
//
// A charge is written in the transaction of what it pays for ([Service.Charge]);
// lookups, which leave no record, are counted in memory out of credit reserved
// beforehand ([Service.SpendLookups]).
package billing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// Service charges what accounts use.
type Service struct {
	accounts *account.Service
	db       *store.DB
	prices   Prices
	log      *slog.Logger
	usage    usage
	meter    meter
	quit     chan struct{}
	end      sync.Once
	done     sync.WaitGroup
}

// New returns the service; Close writes down what it has counted.
func New(db *store.DB, accounts *account.Service, prices Prices, log *slog.Logger) *Service {
	s := &Service{accounts: accounts, db: db, prices: prices, log: log, quit: make(chan struct{})}
	s.meter.init(s)
	s.done.Add(1)
	go s.flushing()
	return s
}

// CreateAccount makes an account with its wallet.
func (s *Service) CreateAccount(ctx context.Context, n account.NewAccount, credit money.Micro) (c *account.Credentials, err error) {
	err = s.db.Write(ctx, func(tx *store.Tx) (err error) {
		if c, err = s.accounts.Create(ctx, tx, n); err != nil {
			return err
		}
		at := c.Account.CreatedAt.UnixMilli()
		if _, err = tx.Exec(ctx, `insert into wallets (account_id, credit, created_at, updated_at) values ($1, 0, $2, $2)`, c.Account.ID, at); err != nil || credit <= 0 {
			return err
		}
		return s.credit(ctx, tx, c.Account.ID, credit, "test money")
	})
	return c, err
}

// Close writes what is counted and gives back what is reserved.
func (s *Service) Close() {
	s.end.Do(func() { close(s.quit) })
	s.done.Wait()
}

// flushEvery is how often counts are written: a crash loses no more.
const flushEvery = 800 * time.Millisecond

func (s *Service) flushing() {
	defer s.done.Done()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-s.quit:
			last = true
		}
		ctx, cancel := context.WithTimeout(disk.Reclaiming(context.Background()), 10*time.Second)
		if err := errors.Join(s.meter.flush(ctx, last), s.usage.flush(ctx, s)); err != nil {
			s.log.Error("write what was counted", "error", err)
		}
		cancel()
	}
}
