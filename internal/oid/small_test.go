package oid

import (
	"bytes"
	"crypto/x509"
	"testing"
)

func TestEncodeSmallIsEncode(t *testing.T) {
	for _, id := range []string{Data, SignedData, "2.5.4.97", "0.4.0.1733.2.4", "1.2.840.113549.1.9.16.2.47", "2.999.3", "1.0", "2.47.127.128.16383.16384.999999999"} {
		parsed, err := x509.ParseOID(id)
		want, _ := parsed.MarshalBinary()
		got, ok := encodeSmall(id)
		if err != nil || !ok || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x (%v)", id, got, want, err)
		}
	}
	for _, id := range []string{"", "1", "1.", ".1", "1..2", "3.1", "1.a", "1.2.9999999999"} {
		if _, ok := encodeSmall(id); ok {
			t.Errorf("%q accepted", id)
		}
	}
}
