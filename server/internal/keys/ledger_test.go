package keys

import (
	"encoding/json"
	"testing"

	"rogito.dev/rogito/server/internal/audit"
)

// A use of a key is held against what the log said before it.
func TestUsed(t *testing.T) {
	event := func(seq int64, v any) *audit.Entry {
		detail, err := json.Marshal(map[string]any{"log": "x", "detail": v})
		if err != nil {
			t.Fatal(err)
		}
		return &audit.Entry{Seq: seq, Payload: detail}
	}
	log := []*audit.Entry{
		event(10, Standing{Credential: "a"}), event(20, Standing{Credential: "b"}), event(30, Standing{Credential: "b", Held: true}),
		event(40, Standing{Credential: "b"}), event(50, Standing{Credential: "c", Held: true}),
	}
	for _, c := range []struct {
		seq     int64
		version string
		good    bool
	}{
		{5, "a", false},
		{15, "a", true},
		{15, "b", false},
		{25, "b", true},
		{25, "a", false},
		{35, "b", false},
		{45, "b", true},
		{45, "", true}, // its text is gone
		{35, "", false},
		{55, "c", false},
		{55, "b", false},
		{-1, "c", false}, // it waits for its place, behind all others
	} {
		if got := Used(event(c.seq, nil), c.version, log); (got == "") != c.good {
			t.Errorf("%d with %q: %q", c.seq, c.version, got)
		}
	}
}
