package pkix

import (
	"testing"

	"rogito.dev/rogito/internal/oid"
)

// TestHashesHaveOneName: a policy accepts hashes by name, so the digest of a content and that of
// its signature must have the same.
func TestHashesHaveOneName(t *testing.T) {
	for _, id := range []string{
		oid.MD5, oid.SHA1, oid.RIPEMD160, oid.SHA224, oid.SHA256, oid.SHA384, oid.SHA512, oid.SHA512_224,
		oid.SHA512_256, oid.SHA3_224, oid.SHA3_256, oid.SHA3_384, oid.SHA3_512,
	} {
		h, ok := HashOf(id)
		if !ok || HashName(h) != oid.DigestName(id) || oid.OfHash(h) != id {
			t.Errorf("%s: known %v, %q and %q, written as %s", id, ok, HashName(h), oid.DigestName(id), oid.OfHash(h))
		}
	}
}
