package billing

import "context"

// Settle stores what was spent on lookups, ends all leases, and returns how many quotas are still
// in memory.
func (s *Service) Settle(ctx context.Context) (leased int, err error) {
	err = s.meter.flush(ctx, true)
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return len(s.meter.leased), err
}
