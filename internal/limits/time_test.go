package limits

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// spin uses the processor until the context ends.
func spin(ctx context.Context) (turns int) {
	for ctx.Err() == nil {
		for range 1 << 12 {
			turns++
		}
	}
	return turns
}

// Work that uses its time ends as by a deadline, and says so.
func TestTimeIsUsedUp(t *testing.T) {
	const most = 50 * time.Millisecond
	begun := time.Now()
	ctx, done := WithTime(context.Background(), most)
	spin(ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("ended with %v", ctx.Err())
	}
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	<-child.Done()
	if !errors.Is(child.Err(), context.DeadlineExceeded) {
		t.Errorf("what hangs on it ended with %v", child.Err())
	}
	if used := done(); used < most && time.Since(begun) < patience*most { // a machine may be that busy
		t.Errorf("ended after %v of %v", used, most)
	}
}

// What others use beside it does not count, nor does waiting.
func TestTimeOfOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell the time of a thread: the clock counts")
	}
	const most = 100 * time.Millisecond
	stop, halt := context.WithCancel(context.Background())
	defer halt()
	for range 2 * runtime.GOMAXPROCS(0) {
		go spin(stop)
	}
	ctx, done := WithTime(context.Background(), most)
	await.Never(t, patience/2*most, "ended by waiting", func() bool { return ctx.Err() != nil })
	if used := done(); used >= most {
		t.Errorf("%v of %v used by waiting", used, most)
	}
}

// A caller who goes away is told apart from time that is used up.
func TestTimeCancelled(t *testing.T) {
	outer, cancel := context.WithCancel(context.Background())
	ctx, done := WithTime(outer, time.Hour)
	defer done()
	cancel()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("ended with %v", ctx.Err())
	}
	late, done := WithTime(context.Background(), -time.Second)
	defer done()
	<-late.Done()
	if !errors.Is(late.Err(), context.DeadlineExceeded) {
		t.Errorf("without any time it ended with %v", late.Err())
	}
}
