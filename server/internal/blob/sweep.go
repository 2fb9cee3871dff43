package blob

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Holder returns those of some blobs, by the ids without places, that something
// refers to.
type Holder func(ctx context.Context, ids []string) ([]string, error)

// Swept is what a sweep found.
type Swept struct{ Seen, Orphans, Removed int }

// orphanAge is far longer than the time between storing a blob and the row that names it, which
// is within one request.
const orphanAge = 24 * time.Hour

// sweepBatch is how many blobs are asked for at once.
const sweepBatch = 400

// Sweep removes blobs that no row refers to: a process was killed between a put and its row, or
// between a row's end and the delete. If there are more than a hundred, and more than one in a
// hundred, it removes none: that is no accident but another installation using the same place,
// or a restored database.
func Sweep(ctx context.Context, s Store, now time.Time, holders ...Holder) (Swept, error) {
	var found Swept
	var orphans, batch []string
	look := func() error {
		lonely, err := unheld(ctx, batch, holders)
		orphans = append(orphans, lonely...)
		found.Seen, batch = found.Seen+len(batch), batch[:0]
		return err
	}
	err := s.List(ctx, now.Add(-orphanAge), func(id string) error {
		if batch = append(batch, id); len(batch) < sweepBatch {
			return nil
		}
		return look()
	})
	if err == nil {
		err = look()
	}
	if found.Orphans = len(orphans); err != nil {
		return found, fmt.Errorf("sweep blobs: %w", err)
	}
	if found.Orphans > 100 && found.Orphans > found.Seen/100 {
		return found, fmt.Errorf("sweep blobs: no record of this database refers to %d of %d blobs, which is too many to be accidents: none was removed", found.Orphans, found.Seen)
	}
	for part := range slices.Chunk(orphans, sweepBatch) {
		lonely, err := unheld(ctx, part, holders) // still
		if err != nil {
			return found, fmt.Errorf("sweep blobs: %w", err)
		}
		for _, id := range lonely {
			if err := s.Delete(ctx, id); err != nil {
				return found, fmt.Errorf("sweep blobs: %w", err)
			}
			found.Removed++
		}
	}
	return found, nil
}

// unheld are the blobs that no holder refers to.
func unheld(ctx context.Context, ids []string, holders []Holder) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	left := make(map[string]string, len(ids))
	bases := make([]string, 0, len(ids))
	for _, id := range ids {
		base, _, _, _ := splitID(id)
		left[base], bases = id, append(bases, base)
	}
	for _, held := range holders {
		found, err := held(ctx, bases)
		if err != nil {
			return nil, err
		}
		for _, base := range found {
			delete(left, base)
		}
	}
	lonely := make([]string, 0, len(left))
	for _, id := range left {
		lonely = append(lonely, id)
	}
	return lonely, nil
}
