package api

import (
	"net/netip"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/peer"
)

// PerMinute counts what each address has had, minute by minute: for pages that
// anybody may open. The zero value is ready.
type PerMinute struct {
	mu    sync.Mutex
	since time.Time
	had   map[netip.Addr]int
}

// Take counts one; it returns how long to wait where the address had as many as
// it may. 0 is no limit.
func (l *PerMinute) Take(remote string, most int, now time.Time) time.Duration {
	addr, err := netip.ParseAddrPort(remote)
	if most <= 0 || err != nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Minute || l.had == nil {
		l.since, l.had = now, map[netip.Addr]int{}
	}
	from := peer.Network(addr.Addr())
	if l.had[from] >= most {
		return max(time.Second, l.since.Add(time.Minute).Sub(now))
	}
	l.had[from]++
	return 0
}
