// Package await is for tests that wait until something is so. They ask again and
// again, with a limit that a busy machine does not reach, and never for a time
// alone.
package await

import (
	"flag"
	"iter"
	"os"
	"testing"
	"time"
)

// Everything says whether every test was asked for, as make test does, or some by their
// names.
func Everything() bool {
	return os.Getenv("ROGITO_TEST_ALL")+os.Getenv("ROGITO_TEST_SOAK") != "" || flag.Lookup("test.run").Value.String() != ""
}

// All skips a test that takes long, unless everything was asked for.
func All(t testing.TB) {
	t.Helper()
	if !Everything() {
		t.Skip("SKIPPED, NOT TESTED: it takes long; make test runs it, or ROGITO_TEST_ALL=1")
	}
}

const pause = 20 * time.Millisecond

// Limit is for who waits by [Within] for what must come: only a busy machine takes
// so long, and a test that passes never does.
const Limit = 3 * time.Minute

// Within yields at once and then after short pauses, for at most so long; who
// leaves the loop has what was waited for.
func Within(limit time.Duration) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		for end := time.Now().Add(limit); yield(struct{}{}) && time.Now().Before(end); {
			time.Sleep(pause)
		}
	}
}

// Count waits until a count is so high, and returns the last one: it is lower if it
// stood still for longer than patience.
func Count(want int, patience time.Duration, count func() int) (n int) {
	n = count()
	for last := time.Now(); n < want && time.Since(last) <= patience; {
		time.Sleep(pause)
		if now := count(); now != n {
			n, last = now, time.Now()
		}
	}
	return n
}

// Until waits until something is so, and ends the test where it is not within
// three minutes, which only a busy machine takes.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for range Within(Limit) {
		if is() {
			return
		}
	}
	t.Fatalf("not within three minutes: %s", what)
}

// Never asks for a while, and fails the test where something is so that must not
// be. On a busy machine it may see too little, and never too much.
func Never(t testing.TB, while time.Duration, what string, is func() bool) {
	t.Helper()
	for range Within(while) {
		if is() {
			t.Errorf("it should never be: %s", what)
			return
		}
	}
}
