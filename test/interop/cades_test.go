package interop

import (
	"bytes"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
)

// finish has an actor sign a draft.
func finish(t testing.TB, a *adestest.Actor, d ades.Draft, s ades.Signing) []byte {
	t.Helper()
	value, err := ades.Value(a.Key, d, s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCAdESB(t *testing.T) {
	a := pki.Actor(t, "good")
	o := cades.Options{Signing: a.Signing(pki.Now())}
	d, err := cades.Prepare(bytes.NewReader([]byte("hello")), o)
	if err != nil {
		t.Fatal(err)
	}
	dss.Passed(t, Ask{File: write(t, "b.p7m", finish(t, a, d, o.Signing))}, "CAdES-BASELINE-B")
}
