package pkix

// Embedded returns the certificates of a degenerate PKCS#7 bundle (SignedData without signers), in
// which CAs publish issuers.
func Embedded(der []byte) [][]byte {
	r, ok := single(der, tagSequence)
	if !ok {
		return nil
	}
	if id, ok := r.take(tagOID); !ok || parseOID(id.body) != "1.2.840.113549.1.7.2" {
		return nil
	}
	explicit, ok := r.take(0xa0)
	if !ok {
		return nil
	}
	sd, ok := single(explicit.body, tagSequence)
	if !ok {
		return nil
	}
	var out [][]byte
	sd.each(func(e element) bool {
		if e.tag != 0xa0 {
			return true
		}
		reader(e.body).each(func(c element) bool {
			out = append(out, c.full)
			return len(out) < 64
		})
		return false
	})
	return out
}
