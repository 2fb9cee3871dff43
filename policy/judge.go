package policy

import (
	"sort"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// Judge draws conclusions from facts by a policy, as of a time. It depends on nothing else.
func Judge(facts *report.Facts, p *Policy, at time.Time) *report.Conclusions {
	out := &report.Conclusions{Policy: p.Name, Operator: p.Operator, At: at}
	proven := map[int]time.Time{} // when the content of a layer is proven to have existed
	for i, layer := range facts.Layers {
		if layer.Broken != nil && layer.Document == nil {
			out.Messages = append(out.Messages, message("FC", *layer.Broken))
		}
		if layer.Document == nil {
			continue
		}
		j := &judge{facts: facts, policy: p, at: at, layer: i, poe: map[string]time.Time{}}
		if since := proven[enclosing(facts.Layers, i)]; !since.IsZero() {
			j.applyProof(layer.Document, since)
		}
		j.document(layer, out)
		proven[i] = j.contentProven(layer.Document, out)
	}
	coverage(facts, p, out)
	out.Indication = overall(out)
	out.Partial = out.Indication == report.TotalPassed && len(out.Uncovered) > 0
	if out.Partial {
		out.Indication = report.Indeterminate
	}
	out.TimestampsVerified = len(out.Signatures) == 0 && len(out.Timestamps) > 0 && out.Indication != report.TotalFailed
	for _, t := range out.Timestamps {
		out.TimestampsVerified = out.TimestampsVerified && t.Indication == report.Passed
	}
	for _, n := range facts.Notes {
		out.Messages = append(out.Messages, report.Message{Severity: report.SeverityInfo, Block: "gathering", Text: n.Text, Code: n.Code, Values: n.Values})
	}
	return out
}

// overall is the worst of all signatures; a document without signatures, or with an unreadable
// layer, is not passed.
func overall(c *report.Conclusions) report.Indication {
	worst := report.TotalPassed
	for _, m := range c.Messages {
		if m.Severity == report.SeverityError {
			worst = report.TotalFailed
		}
	}
	if len(c.Signatures) == 0 && worst == report.TotalPassed {
		return report.Indeterminate
	}
	if len(c.Signatures) > 0 { // the time-stamped files that contain signed documents
		for _, t := range c.Timestamps {
			switch {
			case t.Indication == report.Failed:
				worst = report.TotalFailed
			case t.Indication != report.Passed && worst == report.TotalPassed:
				worst = report.Indeterminate
			}
		}
	}
	return worse(c.Signatures, worst)
}

// enclosing is the index of the layer around another, or -1.
func enclosing(layers []*report.Layer, i int) int {
	for k := i - 1; k >= 0; k-- {
		if layers[k].Level < layers[i].Level {
			return k
		}
	}
	return -1
}

// contentProven returns since when the content of a layer is proven to have existed: by the
// time-stamps over it, or by those of a valid signature over it. (A token is over the value of a
// signature, and for another content anybody can make a key under which that value is right.) It is
// zero if nothing proves it, or if the layer holds several files.
func (j *judge) contentProven(d *ades.Document, out *report.Conclusions) (since time.Time) {
	if len(d.Content) != 1 || d.Fits() != ades.Yes {
		return since
	}
	older := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	if d.Format == ades.TST {
		for _, t := range d.Timestamps {
			if j.stamps[t].Indication == report.Passed {
				older(t.Time)
			}
		}
		return since
	}
	for _, c := range out.Signatures {
		if c.Layer == j.layer && c.Proven && c.Indication == report.TotalPassed && c.Signature.ContentIsWhole {
			older(c.BestTime)
		}
	}
	return since
}

// applyProof applies the proof of existence of the enclosing layer's content to everything in a
// document.
func (j *judge) applyProof(d *ades.Document, since time.Time) {
	if !since.Before(j.at) {
		return
	}
	prove := func(id string) { j.poe[id] = since }
	type span struct {
		first *byte
		n     int
	}
	seen := map[span]bool{} // signatures share evidence, which is hashed for its id
	evidence := func(list []ades.Evidence) {
		for _, e := range list {
			if len(e.Raw) == 0 || seen[span{&e.Raw[0], len(e.Raw)}] {
				continue
			}
			seen[span{&e.Raw[0], len(e.Raw)}] = true
			prove(e.ID())
		}
	}
	var signature func(s *ades.Signature)
	stamps := func(list []*ades.Timestamp) {
		for _, t := range list {
			prove(t.ID)
			if t.Signature != nil {
				signature(t.Signature)
			}
		}
	}
	signature = func(s *ades.Signature) {
		prove(s.ID)
		if s.SigningCertificate != nil {
			prove(ades.FactID(s.SigningCertificate))
		}
		evidence(s.Evidence)
		stamps(s.Timestamps)
		for _, c := range s.CounterSignatures {
			signature(c)
		}
	}
	evidence(d.Evidence)
	stamps(d.Timestamps)
	for _, s := range d.Signatures {
		signature(s)
	}
	j.proofs++
}

// worse returns the worst of a verdict and those of signatures and their counter-signatures: a bad
// signature added to good ones must lower the verdict.
func worse(list []*report.Conclusion, worst report.Indication) report.Indication {
	for _, s := range list {
		switch {
		case s.Indication == report.TotalFailed:
			worst = report.TotalFailed
		case s.Indication == report.Indeterminate && worst == report.TotalPassed:
			worst = report.Indeterminate
		}
		worst = worse(s.Counters, worst)
	}
	return worst
}

// judge is the state of judging one layer.
type judge struct {
	facts  *report.Facts
	policy *Policy
	at     time.Time
	layer  int
	// poe are the proofs of existence found so far, by the id of the object
	// (EN 319 102-1 clause 5.6.2.3).
	poe       map[string]time.Time
	container ades.Format
	stamps    map[*ades.Timestamp]*report.Conclusion
	latest    map[string]*ades.Timestamp // that passed and proves an object, by its id
	busy      map[string]bool            // certificates whose revocation is being judged
	// chains caches verdicts: thousands of signatures may be made with one certificate at one time.
	chains map[chainKey]chainVerdict
	proofs int // number of changes of poe
}

func (j *judge) document(l *report.Layer, out *report.Conclusions) {
	d := l.Document
	j.container = d.Format
	j.timestamps(d)
	for _, p := range d.Problems {
		out.Messages = append(out.Messages, message("FC", p))
	}
	covering := j.covering(d)
	for _, s := range d.Signatures {
		c := j.signature(s)
		c.Level = l.Levels[s.ID]
		j.levels(c, l)
		// Document time-stamps are reported with the signatures that they cover.
		c.Timestamps = append(c.Timestamps, covering[s.ID]...)
		out.Signatures = append(out.Signatures, c)
	}
	if len(d.Signatures) == 0 {
		for _, t := range d.Timestamps {
			j.alone(j.stamps[t])
			out.Timestamps = append(out.Timestamps, j.stamps[t])
		}
	}
}

func (j *judge) levels(c *report.Conclusion, l *report.Layer) {
	for _, n := range c.Counters {
		n.Level = l.Levels[n.ID]
		j.levels(n, l)
	}
}

// covering are the verdicts on the document time-stamps over each signature, by its id.
func (j *judge) covering(d *ades.Document) map[string][]*report.Conclusion {
	out := make(map[string][]*report.Conclusion, len(d.Signatures))
	for _, s := range d.Signatures {
		if s.PDF != nil {
			out[s.ID] = nil
		}
	}
	for _, t := range d.Timestamps {
		n := j.stamps[t]
		for _, id := range t.Covers {
			if list, is := out[id]; is && (len(list) == 0 || list[len(list)-1] != n) {
				out[id] = append(list, n)
			}
		}
	}
	return out
}

// timestamps judges every token, the latest first, so that each has the proofs of existence that
// later ones provide (clause 5.6.3.4).
func (j *judge) timestamps(d *ades.Document) {
	all := append([]*ades.Timestamp(nil), d.Timestamps...)
	for _, s := range d.Signatures {
		all = stampsOf(s, all)
	}
	sort.SliceStable(all, func(a, b int) bool { return all[a].Time.After(all[b].Time) })
	j.stamps, j.latest = make(map[*ades.Timestamp]*report.Conclusion, len(all)), map[string]*ades.Timestamp{}
	for _, t := range all {
		c := j.timestamp(t)
		j.stamps[t] = c
		if c.Indication != report.Passed || t.Kind == ades.ContentTimestamp {
			continue
		}
		for _, id := range t.Covers {
			if old, ok := j.poe[id]; !ok || t.Time.Before(old) {
				j.poe[id] = t.Time
				j.proofs++
			}
			if j.latest[id] == nil {
				j.latest[id] = t
			}
		}
	}
}

func stampsOf(s *ades.Signature, all []*ades.Timestamp) []*ades.Timestamp {
	all = append(all, s.Timestamps...)
	for _, c := range s.CounterSignatures {
		all = stampsOf(c, all)
	}
	return all
}

// best is the earliest proven time of an object, else the time of judgement.
func (j *judge) best(id string) (time.Time, bool) {
	if t, ok := j.poe[id]; ok && t.Before(j.at) {
		return t, true
	}
	return j.at, false
}

// verdict is the result of a building block.
type verdict struct {
	indication report.Indication
	sub        report.SubIndication
	messages   []report.Message
}

func (v *verdict) add(block string, k *finding.Kind, values ...any) {
	p := k.Problem("", values...)
	v.messages = append(v.messages, report.Message{
		Severity: report.Severity(k.Severity), Block: block, Text: p.Text, Code: p.Code, Values: p.Values,
	})
}

// message turns a problem found by a reader into a message of the report.
func message(block string, p ades.Problem) report.Message {
	m := report.Message{Severity: report.SeverityWarning, Block: block, Text: p.Text, Code: p.Code, Values: p.Values}
	if p.Fatal || p.Doubt {
		m.Severity = report.SeverityError
	}
	return m
}

func (v *verdict) passed() bool { return v.indication == report.Passed }

// lower applies a worse verdict; the first sub-indication of an indication is kept.
func (v *verdict) lower(ind report.Indication, sub report.SubIndication) {
	if v.indication == report.Passed || (v.indication == report.Indeterminate && ind == report.Failed) {
		v.indication, v.sub = ind, sub
	}
}

func (v *verdict) merge(o verdict) {
	v.messages = append(v.messages, o.messages...)
	if o.indication != report.Passed {
		v.lower(o.indication, o.sub)
	}
}

// total turns a block's indication into that of a whole signature.
func total(i report.Indication) report.Indication {
	switch i {
	case report.Passed:
		return report.TotalPassed
	case report.Failed:
		return report.TotalFailed
	}
	return report.Indeterminate
}
