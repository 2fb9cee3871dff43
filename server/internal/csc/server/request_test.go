package server

import (
	"strings"
	"testing"
)

func TestGoodRedirect(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://app.example.org/back":        true,
		"https://app.example.org/back?x=1":    true,
		"http://127.0.0.1:8000/back":          true,
		"http://[::1]/back":                   true,
		"http://localhost/back":               true,
		"org.example.app:/back":               true,
		"http://app.example.org/back":         false,
		"http://127.0.0.1.example.org/":       false,
		"https:///back":                       false,
		"https://user@app.example.org/":       false,
		"https://app.example.org/#x":          false,
		"//app.example.org/":                  false,
		"/back":                               false,
		"":                                    false,
		"javascript:alert(1)":                 false,
		"JavaScript:alert(1)":                 false,
		"data:text/html,x":                    false,
		"https://a.example/; form-action *":   false,
		"https://a.example/\r\nX: y":          false,
		"https://a.example/" + longText(2048): false,
	} {
		if got := goodRedirect(uri); got != want {
			t.Errorf("%q: %v", uri, got)
		}
	}
}

func longText(n int) string { return strings.Repeat("x", n) }

// Whatever an application sends is read or refused, and what is read holds to the
// limits.
func FuzzRequest(f *testing.F) {
	digest := strings.Repeat("A", 43)
	f.Add(digest, "1", "2.16.840.1.101.3.4.2.1", `[{"type":"credential","credentialID":"0123456789abcdef01234567","documentDigests":[{"hash":"`+digest+`"}]}]`)
	f.Add(digest+","+digest, "100", "", `[{}]`)
	f.Add(",", "-1", "1", `null`)
	f.Fuzz(func(t *testing.T, hashes, count, oid, details string) {
		a := &Request{Credential: "0123456789abcdef01234567"}
		b := &Request{Details: details}
		for r, err := range map[*Request]error{
			a: a.readHashes(map[string]string{"hashes": hashes, "numSignatures": count, "hashAlgorithmOID": oid}),
			b: b.readDetails(),
		} {
			if err != nil {
				continue
			}
			if len(r.Hashes) == 0 || r.Signatures < len(r.Hashes) || r.Signatures > MaxSignatures {
				t.Errorf("%d hashes, %d signatures", len(r.Hashes), r.Signatures)
			}
			for _, h := range r.Hashes {
				if len(h) < 32 {
					t.Errorf("a hash of %d bytes", len(h))
				}
			}
		}
	})
}
