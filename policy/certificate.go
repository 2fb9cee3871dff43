package policy

import (
	"time"

	"rogito.dev/rogito/report"
)

// Certificate judges one certificate of the facts on its own: paths, validity and revocation at a
// time, and whether it is qualified.
func Certificate(facts *report.Facts, p *Policy, id string, at time.Time) *report.Conclusion {
	j := &judge{facts: facts, policy: p, at: at, poe: map[string]time.Time{}}
	v := j.chain(id, asked{best: at, need: at, born: at})
	c := &report.Conclusion{ID: id, Indication: v.indication, SubIndication: v.sub, Messages: v.messages, BestTime: at}
	v.describe(j, c)
	j.qualify(c, v)
	return c
}
