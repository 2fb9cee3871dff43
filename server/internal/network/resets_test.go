package network

import "testing"

// A connection that many share may have requests taken back, as long as others
// are waited for.
func TestSomeResets(t *testing.T) {
	c := &resets{}
	for i := range 10 * maxResets {
		if c.tooMany(i%2 == 0) {
			t.Fatalf("closed after %d", i)
		}
	}
	closed := 0
	for range 2 * maxResets {
		if c.tooMany(true) {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
}
