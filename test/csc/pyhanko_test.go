package csc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// papers writes PDFs for pyHanko: pairs of input and output.
func papers(t testing.TB, n int) [][2]string {
	t.Helper()
	dir := t.TempDir()
	out := make([][2]string, n)
	for i := range out {
		out[i] = [2]string{filepath.Join(dir, fmt.Sprintf("%d.pdf", i)), filepath.Join(dir, fmt.Sprintf("%d-signed.pdf", i))}
		if err := os.WriteFile(out[i][0], pdf(fmt.Sprintf("%s %d", t.Name(), i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestProviderWithPyHanko: pyHanko, which we did not write, signs with our test provider. So the
// provider is not just what we imagine.
func TestProviderWithPyHanko(t *testing.T) {
	asked(t)
	p := aProvider(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, p.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"rsa", "rsa3072", "p256", "p256-otp"} {
		files := papers(t, 3)
		ask := m{
			"service": strings.TrimSuffix(p.URL(1), "/csc/v1"), "version": "v1", "token": p.FixedToken, "credential": id,
			"pin": p.Credential(id).PIN, "ca": ca, "files": files,
		}
		if strings.HasSuffix(id, "-otp") {
			ask["otp"] = p.Code(id)
		}
		if said := pySign(t, ask); said.Signed != 3 || said.Multisign != 10 || said.Scal != 2 {
			t.Fatalf("%s: %+v", id, said)
		}
		for _, f := range files {
			b, err := os.ReadFile(f[1])
			if err != nil {
				t.Fatal(err)
			}
			dss.passed(t, b, "signed.pdf", "PAdES-B", nil, string(p.PKI.RootPEM()))
		}
	}
	if n := len(p.Calls("signatures/signHash")); n != 4 {
		t.Errorf("%d calls to sign, want 4", n)
	}
}
