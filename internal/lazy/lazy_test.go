package lazy

import (
	"context"
	"errors"
	"testing"
	"time"
)

type key struct{}

// It is what a context of the standard library is, whether anybody waits or not: it ends with what it is ended
// with, and keeps that.
func TestContext(t *testing.T) {
	t.Parallel()
	ours := errors.New("ours")
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for name, c := range map[string]struct {
		until time.Time
		end   func(c *Context, cancel context.CancelFunc)
		want  error
	}{
		"going on":                  {time.Time{}, func(*Context, context.CancelFunc) {}, nil},
		"ended":                     {time.Time{}, func(c *Context, _ context.CancelFunc) { c.End(ours) }, ours},
		"ended twice":               {time.Time{}, func(c *Context, _ context.CancelFunc) { c.End(ours); c.End(context.Canceled) }, ours},
		"outer ended":               {time.Time{}, func(_ *Context, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"outer ended, and then own": {time.Time{}, func(c *Context, cancel context.CancelFunc) { cancel(); c.End(ours) }, context.Canceled},

		"in time":                       {later, func(*Context, context.CancelFunc) {}, nil},
		"in time, ended":                {later, func(c *Context, _ context.CancelFunc) { c.End(ours) }, ours},
		"in time, outer ended":          {later, func(_ *Context, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"too late":                      {past, func(*Context, context.CancelFunc) {}, context.DeadlineExceeded},
		"too late, and ended":           {past, func(c *Context, _ context.CancelFunc) { c.End(ours) }, context.DeadlineExceeded},
		"too late, and the outer ended": {past, func(c *Context, cancel context.CancelFunc) { _ = c.Err(); cancel() }, context.DeadlineExceeded},
	} {
		for _, waits := range []bool{false, true} {
			outer, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "held"))
			ctx := &Context{Context: outer, Until: c.until}
			child, leave := context.Context(ctx), func() {}
			if waits {
				child, leave = context.WithCancel(ctx)
			}
			c.end(ctx, cancel)
			if err := ctx.Err(); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s, waited for %t: %v", name, waits, err)
			}
			if c.want != nil {
				<-ctx.Done()
				<-child.Done()
			} else {
				select {
				case <-ctx.Done():
					t.Errorf("%s, waited for %t: it is done", name, waits)
				default:
				}
			}
			if err := ctx.Err(); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s, waited for %t: in the end %v", name, waits, err)
			}
			if ctx.Value(key{}) != "held" {
				t.Errorf("%s, waited for %t: the value is lost", name, waits)
			}
			if end, ok := ctx.Deadline(); !end.Equal(c.until) || ok == c.until.IsZero() {
				t.Errorf("%s, waited for %t: it ends at %v", name, waits, end)
			}
			cancel()
			<-ctx.Done()
			leave()
		}
	}
}

// The earlier of two ends counts.
func TestDeadline(t *testing.T) {
	t.Parallel()
	now := time.Now()
	outer, cancel := context.WithDeadline(t.Context(), now.Add(time.Hour))
	defer cancel()
	for until, want := range map[time.Time]time.Time{
		{}:                     now.Add(time.Hour),
		now.Add(time.Minute):   now.Add(time.Minute),
		now.Add(2 * time.Hour): now.Add(time.Hour),
	} {
		ctx := &Context{Context: outer, Until: until}
		if end, ok := ctx.Deadline(); !ok || !end.Equal(want) {
			t.Errorf("until %v: ends at %v", until, end)
		}
	}
}
