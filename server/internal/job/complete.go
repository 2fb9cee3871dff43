package job

import (
	"context"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"rogito.dev/rogito/server/internal/store"
)

// Complete marks a job as done in the transaction that ends its record's work.
// It is no proof of having been the only one: see the package comment.
func Complete[T river.JobArgs](ctx context.Context, tx *store.Tx, j *river.Job[T]) error {
	var err error
	if tx.Pgx() != nil {
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx.Pgx(), j)
	} else {
		_, err = river.JobCompleteTx[*riversqlite.Driver](ctx, tx.SQL(), j)
	}
	return err
}
