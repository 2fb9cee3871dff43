package accounts

import (
	"encoding/json"
	"testing"
	"time"
)

// What writes its JSON itself writes what reflection does.
func TestWalletJSON(t *testing.T) {
	t.Parallel()
	type reflected wallet
	for credit, at := range map[euro]time.Time{
		0: time.UnixMilli(0), 1: time.UnixMilli(1_234_567_890_007), -2_500_000: time.UnixMilli(1_799_999_999_999), 1e12: time.UnixMilli(1_700_000_000_120),
	} {
		w := wallet{credit, isoTime(at), isoTime(at.Add(time.Millisecond))}
		want, err := json.Marshal(reflected(w))
		if err != nil || string(w.AppendJSON(nil)) != string(want) {
			t.Errorf("%s, not %s: %v", w.AppendJSON(nil), want, err)
		}
		if got, want := isoTime(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
