package callback

import (
	"net/url"
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// A receiver that takes its time must not keep the others waiting: of the
// workers of a process it has a few, and so has an account with many such
// receivers. Deliveries beyond that step aside for a while.
const (
	perHost    = 8
	perAccount = 32

	asideFirst = time.Second
	asideMost  = time.Minute
)

// crowd counts the attempts under way, by host and by account.
type crowd struct {
	mu      sync.Mutex
	waiting map[string]*throng
}

type throng struct {
	busy   int
	turned int // away, since nobody was there
}

func hostKey(d *Delivery) string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "host:"
	}
	return "host:" + u.Host
}

// enter counts an attempt in until leave is called, or says how long the
// delivery is to stand aside: the longer, the more do so.
func (c *crowd) enter(d *Delivery) (leave func(), aside error) {
	host, account := hostKey(d), "account:"+d.Account
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := max(c.full(host, perHost), c.full(account, perAccount)); wait > 0 {
		return nil, river.JobSnooze(wait)
	}
	for _, key := range []string{host, account} {
		c.get(key).busy++
	}
	return func() { c.leave(host, account) }, nil
}

func (c *crowd) get(key string) *throng {
	if c.waiting == nil {
		c.waiting = map[string]*throng{}
	}
	t := c.waiting[key]
	if t == nil {
		t = &throng{}
		c.waiting[key] = t
	}
	return t
}

func (c *crowd) full(key string, limit int) time.Duration {
	t := c.waiting[key]
	if t == nil || t.busy < limit {
		return 0
	}
	t.turned++
	return min(asideFirst+time.Duration(t.turned/limit)*asideFirst/4, asideMost)
}

func (c *crowd) leave(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		t := c.waiting[key]
		if t.busy--; t.busy == 0 {
			delete(c.waiting, key)
		}
	}
}
