package doctor

import (
	"context"
	"time"
)

// soonEnding is how long before its end the doctor speaks of a certificate.
const soonEnding = 30 * 24 * time.Hour

// examineCertificates looks at the embedded authority, whose keys were opened
// to get here, and at the certificates it issued.
func (s *Installation) examineCertificates(ctx context.Context) Finding {
	now := time.Now()
	for _, c := range s.Authority.Members() {
		switch {
		case now.Before(c.NotBefore):
			return bad(do("set the clock"), "%s is not valid before %s", c.Subject.CommonName, c.NotBefore.UTC().Format(time.RFC3339))
		case now.Add(soonEnding).After(c.NotAfter):
			return warn(do("restart the server: it renews the certificates of its authority"), "%s ends on %s", c.Subject.CommonName, c.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	good, ending, err := s.Authority.Ending(ctx, now.Add(soonEnding))
	switch {
	case err != nil:
		return bad(do("look at the database"), "cannot be counted: %v", err)
	case ending > 0:
		return warn(do("have their holders buy new ones; rogito cert list shows them"), "%d of %d end within 30 days", ending, good)
	}
	return fine("%d issued by %s", good, s.Authority.Root().Subject.CommonName)
}
