package blob

import (
	"testing"

	"rogito.dev/rogito/server/internal/store"
)

// However many blobs are put, few keys are derived: one for each purpose.
func TestFewPurposes(t *testing.T) {
	purposes := map[string]bool{}
	for range 50 {
		purposes[blobPurpose(store.NewID())] = true
	}
	if len(purposes) > 2 {
		t.Errorf("%d keys for 50 blobs", len(purposes))
	}
}
