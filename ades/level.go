package ades

// Leaves are the certificates whose chains level LT asks validation data for:
// those of the signer and of the signature's time-stamps, but not that of the
// last archive time-stamp, which only the next one will prove, nor those of
// evidence records, which bring their own proof. The last is the latest: the
// properties of a XAdES signature may stand in any order.
func (s *Signature) Leaves() [][]byte {
	var out [][]byte
	if s.SigningCertificate != nil {
		out = append(out, s.SigningCertificate)
	}
	last := s.lastArchive()
	for _, t := range s.Timestamps {
		if t != last && t.Kind != RecordTimestamp && t.Signature != nil && t.Signature.SigningCertificate != nil {
			out = append(out, t.Signature.SigningCertificate)
		}
	}
	return out
}

func (s *Signature) lastArchive() *Timestamp {
	var last *Timestamp
	for _, t := range s.Timestamps {
		if t.Kind == ArchiveTimestamp && (last == nil || !t.Time.Before(last.Time)) {
			last = t
		}
	}
	return last
}
