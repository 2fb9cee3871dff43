package adestest

import (
	"bytes"
	"testing"

	"rogito.dev/rogito/ades"
)

// Finish signs a draft with the actor's key, in the way that it was prepared
// for, and returns the signed document.
func (a *Actor) Finish(t testing.TB, d ades.Draft, s ades.SignParams) []byte {
	t.Helper()
	value, err := d.Value(a.Key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
