package jades

import (
	"crypto"
	"errors"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/tsp"
)

// timestampKinds by the names of the components.
var timestampKinds = map[string]ades.TimestampKind{
	"sigTst":  ades.SignatureTimestamp,
	"sigRTst": ades.SigAndRefs,
	"rfsTst":  ades.RefsOnly,
	"arcTst":  ades.ArchiveTimestamp,
}

// references are the components of the older levels, which sigRTst and rfsTst are over.
var references = map[string]bool{"xRefs": true, "rRefs": true, "axRefs": true, "arRefs": true}

// timestamps reads every time-stamp, those in the protected header first.
func (s *sigReader) timestamps() {
	covers := carried.BySignatureTimestamp(s.sig)
	if v := s.head.Get("adoTst"); v != nil {
		for _, ts := range s.container(v, ades.ContentTimestamp, 0, s.where("protected/adoTst"), nil) {
			covers = append(covers, carried.InTimestamp(ts)...)
		}
	}
	seen := covers // what an archive time-stamp would cover at this point
	for _, e := range s.sig.Evidence {
		if e.Origin == originHeader && s.head.Get("x5c") != nil { // the protected header is under it
			seen = append(seen, e.ID())
		}
	}
	for i, c := range s.etsi {
		kind, ok := timestampKinds[c.name]
		if !ok {
			seen = append(seen, s.componentCovers(c)...)
			continue
		}
		over := covers
		switch kind {
		case ades.RefsOnly:
			over = nil // the signature is not under it
		case ades.ArchiveTimestamp:
			over = seen
		}
		var more []string
		for _, ts := range s.container(c.value, kind, i, c.path, over) {
			more = append(more, carried.InTimestamp(ts)...)
		}
		seen = append(seen, more...)
	}
}

// componentCovers lists the facts in a component other than a time-stamp.
func (s *sigReader) componentCovers(c *component) []string {
	var covers []string
	for _, e := range c.evidence() {
		covers = append(covers, e.ID())
	}
	for _, counter := range s.sig.CounterSignatures {
		if counter.Path == c.path+"/cSig" {
			covers = append(covers, counter.ID)
		}
	}
	return covers
}

// container reads the tokens of a tstContainer (TS 119 182-1, 5.4.3).
func (s *sigReader) container(v *jsontree.Value, kind ades.TimestampKind, at int, path string, covers []string) []*ades.Timestamp {
	list := v.Get("tstTokens")
	if !list.Is(jsontree.Array) || len(list.Items) == 0 {
		s.sig.Problems = append(s.sig.Problems, finding.StampWithoutToken.Problem(path))
		return nil
	}
	var found []*ades.Timestamp
	for _, item := range list.Items {
		if len(s.sig.Timestamps) >= limits.JWSTimestamps {
			s.sig.Problems = append(s.sig.Problems, finding.StampsBeyondLimit.Problem(path))
			break
		}
		ts, err := s.token(v, item, kind, at, path)
		if err != nil {
			s.sig.Problems = append(s.sig.Problems, finding.StampUnreadable.Problem(path, err))
			continue
		}
		ts.Kind, ts.Path, ts.Covers = kind, path, append([]string(nil), covers...)
		found = append(found, ts)
		s.sig.Timestamps = append(s.sig.Timestamps, ts)
	}
	return found
}

func (s *sigReader) token(v, item *jsontree.Value, kind ades.TimestampKind, at int, path string) (*ades.Timestamp, error) {
	raw, ok := pkiObject(item)
	if !ok {
		return nil, errors.New("no base64")
	}
	var trouble error
	imprint := func(h crypto.Hash) ([]byte, error) {
		if !h.Available() {
			return nil, nil
		}
		w := h.New()
		if trouble = s.stamped(&meteredWriter{w: w, s: s}, kind, v, at); trouble != nil {
			return nil, nil // the time-stamped data is not available
		}
		return w.Sum(nil), nil
	}
	ts, err := tsp.Read(raw, imprint, carried.Raw(s.certs)...)
	if err != nil {
		return nil, err
	}
	if trouble != nil {
		ts.Problems = append(ts.Problems, finding.StampImprintUnknown.Problem(path, trouble))
	}
	return ts, nil
}

// Reasons why it is unknown what a time-stamp is over.
var (
	errContentMissing = errors.New("the signed content is not at hand")
	errCanonical      = errors.New("components in clear have no one canonical form")
	errVariant        = errors.New("a variant that is not known")
)

// stamped writes the input of a time-stamp; at is the index in etsiU before which components are
// included.
func (s *sigReader) stamped(w *meteredWriter, kind ades.TimestampKind, v *jsontree.Value, at int) error {
	// timeStamped of V1.1.1 and V1.2.1 selects a variant that covers less.
	if over, ok := v.Get("timeStamped").Text(); v.Get("timeStamped") != nil && (!ok || over != "all") {
		return errVariant
	}
	switch kind {
	case ades.ContentTimestamp:
		return s.writeOctets(w)
	case ades.SignatureTimestamp:
		_, err := w.Write(s.jws.signature)
		return err
	}
	if s.clear {
		return errCanonical
	}
	var parts [][]byte
	if kind == ades.ArchiveTimestamp {
		if err := s.writeOctets(w); err != nil {
			return err
		}
		parts = [][]byte{{'.'}, s.jws.protected, {'.'}}
	}
	if kind != ades.RefsOnly {
		parts = append(parts, s.jws.signature, []byte{'.'})
	}
	for _, c := range s.etsi[:at] {
		if kind == ades.ArchiveTimestamp || references[c.name] || kind == ades.SigAndRefs && c.name == "sigTst" {
			parts = append(parts, c.written)
		}
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeOctets writes the signed contents, each in base64url unless b64 is false.
func (s *sigReader) writeOctets(w *meteredWriter) error {
	if s.octets == nil {
		return errContentMissing
	}
	return s.octets(w)
}
