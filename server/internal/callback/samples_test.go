package callback_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// sample is a block of code of docs/callbacks.md with what runs it: the driver
// reads a case from standard input and prints true or false.
type sample struct {
	language, command, file, driver string
}

var samples = []sample{
	{"python", "python3", "verify.py", "\nimport json, sys\nc = json.load(sys.stdin)\nprint(str(verify(c['secret'], c['headers'], c['body'].encode())).lower())\n"},
	{"javascript", "node", "verify.js", "\nconst c = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));\nconsole.log(String(verify(c.secret, c.headers, Buffer.from(c.body))));\n"},
	{"php", "php", "verify.php", "\n$c = json_decode(file_get_contents('php://stdin'), true);\necho verify($c['secret'], $c['headers'], $c['body']) ? 'true' : 'false';\n"},
}

func (s sample) code(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/callbacks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```"+s.language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("docs/callbacks.md has no block of %s", s.language)
	}
	if s.language == "php" {
		code = "<?php\n" + code
	}
	return code + s.driver
}

// The verifiers of docs/callbacks.md take what was sent, under either secret of a
// rotation, and refuse what was forged, altered or is old; so does the library.
func TestSampleVerifiers(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	site := newSite(t, allow(r.URL))
	site.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": r.URL}})
	first := r.Wait(t, 1)[0]
	var secret struct{ Secret, Previous string }
	if err := json.Unmarshal(site.Do("POST", "/callbacks/secret", nil).Data, &secret); err != nil {
		t.Fatal(err)
	}
	site.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": r.URL}})
	second := r.Wait(t, 2)[1]

	headers := func(d delivered, more ...string) map[string]string {
		h := map[string]string{}
		for _, k := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			h[k] = d.Header.Get(k)
		}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	old := func() map[string]string { // well signed, an hour ago
		w, err := webhooks.NewWebhook(secret.Previous)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Hour)
		sig, err := w.Sign("msg_old", at, first.Body)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"webhook-id": "msg_old", "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": sig}
	}
	type letter struct {
		Secret  string            `json:"secret"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}
	cases := []struct {
		name string
		letter
		good bool
	}{
		{"as it came", letter{secret.Previous, headers(first), string(first.Body)}, true},
		{"rotated, the new secret", letter{secret.Secret, headers(second), string(second.Body)}, true},
		{"rotated, the old secret", letter{secret.Previous, headers(second), string(second.Body)}, true},
		{"another secret", letter{secret.Secret, headers(first), string(first.Body)}, false},
		{"altered body", letter{secret.Previous, headers(first), string(first.Body) + " "}, false},
		{"another id", letter{secret.Previous, headers(first, "webhook-id", "msg_x"), string(first.Body)}, false},
		{"forged", letter{secret.Previous, headers(first, "webhook-signature", "v1,AAAA v1a,BBBB"), string(first.Body)}, false},
		{"an hour old", letter{secret.Previous, old(), string(first.Body)}, false},
		{"no time", letter{secret.Previous, headers(first, "webhook-timestamp", "0"), string(first.Body)}, false},
	}
	ran := 0
	for _, s := range samples {
		path, err := exec.LookPath(s.command)
		if err != nil {
			t.Logf("SKIPPED, NOT TESTED: the sample in %s: no %s here", s.language, s.command)
			continue
		}
		ran++
		file := filepath.Join(t.TempDir(), s.file)
		if err := os.WriteFile(file, []byte(s.code(t)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			in, _ := json.Marshal(c.letter)
			cmd := exec.Command(path, file)
			cmd.Stdin = bytes.NewReader(in)
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != strconv.FormatBool(c.good) {
				t.Errorf("%s, %s: %s %v", s.language, c.name, got, err)
			}
		}
	}
	for _, c := range cases {
		h := http.Header{}
		for k, v := range c.Headers {
			h.Set(k, v)
		}
		w, err := webhooks.NewWebhook(c.Secret)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Verify([]byte(c.Body), h) == nil; got != c.good {
			t.Errorf("the library, %s: %v", c.name, got)
		}
	}
	t.Logf("%d samples ran", ran)
}

// A receiver that fails for ever leaves little behind: a row for each delivery,
// and less than a kilobyte in log and audit for each attempt.
func TestFailingReceiverLeavesLittle(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
	eachEngine(t, func(t *testing.T, s *site) {
		const n = 10
		for range n {
			s.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": r.URL, "retry": 0}})
		}
		srv := s.OpenServer()
		await.Until(t, "all deliveries are at their end", func() bool {
			return countRows(srv, t, `select count(*) from callbacks where active = 0`) >= n
		})
		if rows := countRows(srv, t, `select count(*) from callbacks`); rows != n {
			t.Errorf("%d rows for %d deliveries", rows, n)
		}
		if most := countRows(srv, t, `select coalesce(max(length(payload)), 0) from audit_events where kind = 'callback'`); most == 0 || most > 1024 {
			t.Errorf("%d bytes in the audit log for an attempt", most)
		}
		said := 0
		for _, line := range strings.Split(s.Run.Log.String(), "\n") {
			if strings.Contains(line, "callback") && !strings.Contains(line, "POST") {
				said += len(line)
			}
		}
		if said > n*1024 {
			t.Errorf("%d bytes of log for %d attempts", said, n)
		}
	}, allow(r.URL))
}
