package ades

// Leaves returns the certificates whose chains need validation data at level LT: those of the
// signer and of the signature's time-stamps. The last archive time-stamp is not included, since
// only the next one will need its data, nor are evidence records, which carry their own. The last
// archive time-stamp is the latest: the properties of a XAdES signature may have any order.
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
