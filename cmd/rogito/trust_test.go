package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/adestest"
)

// Somebody who has configured nothing, or whose network is down, is told what
// to do about it.
func TestTrustUpdateSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	server := httptest.NewServer(nil)
	gone := server.URL + "/lotl.xml"
	server.Close()
	pem := filepath.Join(dir, "anchors.pem")
	if err := os.WriteFile(pem, adestest.Must(t, nil).RootPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"update"}, []string{"Official Journal", filepath.Join(dir, "trust", "lotl-anchors.pem"), "--lotl-anchors"}},
		{[]string{"list"}, []string{"Official Journal", "--lotl-anchors"}},
		{[]string{"update", "--lotl-anchors", empty}, []string{empty, "no certificate"}},
		{[]string{"update", "--lotl-anchors", pem, "--lotl", gone}, []string{gone, "stays in use until its next update"}},
	} {
		var out strings.Builder
		s := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &out, stderr: &out}
		code := run(s, append([]string{"trust", c.args[0], "--data", dir}, c.args[1:]...))
		if code < 3 {
			t.Errorf("%v: exit %d", c.args, code)
		}
		for _, w := range c.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%v: %q is not in %q", c.args, w, out.String())
			}
		}
	}
}
