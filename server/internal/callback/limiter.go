package callback

import (
	"net/url"
	"sync"
	"time"
)

// Bounds on the deliveries under way in one process, so that a slow receiver, or
// an account with many of them, cannot take all workers. A delivery over the
// bound is put back into the queue for a while.
const (
	perHost    = 8
	perAccount = 32

	snoozeFirst = time.Second
	snoozeMost  = time.Minute
)

// limiter counts the attempts under way, by host and by account.
type limiter struct {
	mu      sync.Mutex
	waiting map[string]*slot
}

type slot struct {
	busy    int
	refused int // since the last one was under way
}

func hostKey(d *Delivery) string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "host:"
	}
	return "host:" + u.Host
}

// enter counts an attempt until leave is called. Over the bound it says how long the
// delivery has to wait: the more were put back, the longer.
func (c *limiter) enter(d *Delivery) (leave func(), wait time.Duration) {
	host, account := hostKey(d), "account:"+d.Account
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := max(c.full(host, perHost), c.full(account, perAccount)); wait > 0 {
		return nil, wait
	}
	for _, key := range []string{host, account} {
		c.get(key).busy++
	}
	return func() { c.leave(host, account) }, 0
}

func (c *limiter) get(key string) *slot {
	if c.waiting == nil {
		c.waiting = map[string]*slot{}
	}
	t := c.waiting[key]
	if t == nil {
		t = &slot{}
		c.waiting[key] = t
	}
	return t
}

func (c *limiter) full(key string, limit int) time.Duration {
	t := c.waiting[key]
	if t == nil || t.busy < limit {
		return 0
	}
	t.refused++
	return min(snoozeFirst+time.Duration(t.refused/limit)*snoozeFirst/4, snoozeMost)
}

func (c *limiter) leave(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		t := c.waiting[key]
		if t.busy--; t.busy == 0 {
			delete(c.waiting, key)
		}
	}
}
