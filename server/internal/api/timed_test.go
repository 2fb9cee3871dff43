package api

import (
	"context"
	"errors"
	"testing"
	"time"
)

type timedKey struct{}

// timed is what context.WithTimeout is, whether anybody waits or not.
func TestTimed(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		for name, c := range map[string]struct {
			limit time.Duration
			end   func(cancel context.CancelFunc, ctx *timed)
			want  error
		}{
			"running":         {time.Hour, func(context.CancelFunc, *timed) {}, nil},
			"over":            {time.Hour, func(_ context.CancelFunc, ctx *timed) { ctx.leave() }, context.Canceled},
			"the parent ends": {time.Hour, func(cancel context.CancelFunc, _ *timed) { cancel() }, context.Canceled},
			"too late":        {-time.Second, func(context.CancelFunc, *timed) {}, context.DeadlineExceeded},
		} {
			parent, cancel := context.WithCancel(context.WithValue(t.Context(), timedKey{}, "held"))
			ctx := withTimeout(parent, time.Now(), c.limit)
			stop := func() {}
			var child context.Context
			if waits {
				child, stop = context.WithCancel(ctx)
			}
			c.end(cancel, ctx)
			if err := ctx.Err(); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s, waited for %t: %v", name, waits, err)
			}
			if waits && c.want != nil {
				<-child.Done()
			}
			select {
			case <-ctx.Done():
				if c.want == nil {
					t.Errorf("%s, waited for %t: it is done", name, waits)
				}
			default:
				if c.want != nil {
					t.Errorf("%s, waited for %t: it is not done", name, waits)
				}
			}
			if ctx.Value(timedKey{}) != "held" {
				t.Errorf("%s: the value is lost", name)
			}
			if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Hour {
				t.Errorf("%s: it ends at %v", name, end)
			}
			stop()
			cancel()
		}
	}
}
