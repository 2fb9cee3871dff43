package billing

import "context"

// Settle writes down what was spent on lookups, gives back what is leased, and says how many leased are remembered.
func (s *Service) Settle(ctx context.Context) (leased int, err error) {
	err = s.meter.flush(ctx, true)
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	return len(s.meter.leased), err
}
