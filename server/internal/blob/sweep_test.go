package blob_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/blob"
)

// A blob without references is removed once it is a day old, and nothing else is; if there are too
// many for an accident, nothing is removed.
func TestSweep(t *testing.T) {
	eachBlobs(t, func(t *testing.T, s blob.Store) {
		ctx := t.Context()
		put := func(text string) string {
			t.Helper()
			b, err := s.Put(ctx, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			return b.ID
		}
		there := func() (all []string) {
			t.Helper()
			if err := s.List(ctx, time.Now().Add(time.Hour), func(id string) error { all = append(all, id); return nil }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		kept := []string{put("small"), put(strings.Repeat("large ", 100_000))}
		put("left behind")
		put(strings.Repeat("left behind ", 100_000))
		holds := func(_ context.Context, ids []string) (held []string, _ error) {
			for _, id := range kept {
				if base, _, _ := strings.Cut(id, "."); slices.Contains(ids, base) {
					held = append(held, base)
				}
			}
			return held, nil
		}
		if found, err := blob.Sweep(ctx, s, time.Now(), holds); err != nil || found.Seen != 0 || len(there()) != 4 {
			t.Fatalf("young ones: %+v, %v, %d left", found, err, len(there()))
		}
		tomorrow := time.Now().Add(25 * time.Hour)
		found, err := blob.Sweep(ctx, s, tomorrow, holds)
		if left := there(); err != nil || found != (blob.Swept{Seen: 4, Orphans: 2, Removed: 2}) || len(left) != 2 || !slices.Contains(left, kept[0]) || !slices.Contains(left, kept[1]) {
			t.Fatalf("%+v, %v, left %v of %v", found, err, left, kept)
		}
		for range 101 {
			put("of another installation")
		}
		if found, err := blob.Sweep(ctx, s, tomorrow, holds); err == nil || found.Removed != 0 || len(there()) != 103 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
