package lazy

import (
	"context"
	"errors"
	"testing"
)

type key struct{}

// It ends with what it is ended with, for those who ask and for those who wait, and keeps what it ended with.
func TestContext(t *testing.T) {
	t.Parallel()
	ours := errors.New("ours")
	for name, c := range map[string]struct {
		end  func(l *Context, cancel context.CancelFunc)
		want error
	}{
		"going on":                  {func(*Context, context.CancelFunc) {}, nil},
		"ended":                     {func(l *Context, _ context.CancelFunc) { l.End(ours) }, ours},
		"ended twice":               {func(l *Context, _ context.CancelFunc) { l.End(ours); l.End(context.Canceled) }, ours},
		"outer ended":               {func(_ *Context, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"outer ended, and then own": {func(l *Context, cancel context.CancelFunc) { cancel(); l.End(ours) }, context.Canceled},
	} {
		for _, waits := range []bool{false, true} {
			outer, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "held"))
			l := &Context{Context: outer, Wait: context.WithCancel}
			child, leave := context.Context(l), func() {}
			if waits {
				child, leave = context.WithCancel(l)
			}
			c.end(l, cancel)
			if !errors.Is(l.Err(), c.want) || c.want == nil && l.Err() != nil {
				t.Errorf("%s, waited for %t: %v", name, waits, l.Err())
			}
			if c.want != nil {
				<-l.Done()
				<-child.Done()
			}
			if l.Value(key{}) != "held" {
				t.Errorf("%s, waited for %t: the value is lost", name, waits)
			}
			cancel()
			<-l.Done()
			leave()
		}
	}
}
