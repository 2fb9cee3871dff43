package clients

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every request of docs/requests.http is sent, in its order, and answered with
// 200. What is read here of the form of such files is what editors agree on.
func TestRequestsFile(t *testing.T) {
	t.Parallel()
	base, box := running(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "requests.http"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"base": base, "token": box.Token, "email": box.Email, "apiKey": box.APIKey,
		"username": box.Certificates["automatic"].Username, "password": box.Certificates["automatic"].Password,
	}
	parts := strings.Split(string(text), "\n###")
	for _, line := range regexp.MustCompile(`(?m)^@(\w+) =`).FindAllStringSubmatch(parts[0], -1) {
		if values[line[1]] == "" {
			t.Errorf("nobody knows what @%s is", line[1])
		}
	}
	answers := map[string]any{}
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		name := ""
		if m := regexp.MustCompile(`(?m)^# @name (\w+)\n`).FindStringSubmatch(rest); m != nil {
			name, rest = m[1], strings.Replace(rest, m[0], "", 1)
		}
		head, body, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
		fill := func(s string) string { return filled(t, s, values, answers) }
		lines := strings.Split(fill(head), "\n")
		method, url, _ := strings.Cut(lines[0], " ")
		if strings.Contains(head, "multipart/form-data") {
			body = strings.ReplaceAll(body, "\n", "\r\n") // as editors do
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(fill(body)))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[1:] {
			k, v, _ := strings.Cut(l, ": ")
			if pair, ok := strings.CutPrefix(v, "Basic "); ok {
				v = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
			}
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		// A list may hold records of the other tests, which fail on purpose.
		list := method == http.MethodGet && strings.HasPrefix(string(answer), `{"data":[`)
		failed := !list && strings.Contains(string(answer), `"state":"ERROR"`)
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("X-Ignored") != "" || failed {
			t.Errorf("%s: %d %v %.500s", title, resp.StatusCode, err, answer)
		}
		if name != "" {
			var v any
			if err := json.Unmarshal(answer, &v); err != nil {
				t.Fatalf("%s: %v", title, err)
			}
			answers[name] = v
		}
	}
	if len(parts) < 20 {
		t.Errorf("only %d requests", len(parts)-1)
	}
}

var place = regexp.MustCompile(`\{\{([^}]+)\}\}`)

// filled puts values into a text: those that were declared, and members of what
// was answered before.
func filled(t *testing.T, text string, values map[string]string, answers map[string]any) string {
	t.Helper()
	return place.ReplaceAllStringFunc(text, func(s string) string {
		what := s[2 : len(s)-2]
		if v, ok := values[what]; ok {
			return v
		}
		name, path, ok := strings.Cut(what, ".response.body.$.")
		v := answers[name]
		for _, member := range strings.Split(path, ".") {
			m, _ := v.(map[string]any)
			v = m[member]
		}
		found, _ := v.(string)
		if !ok || found == "" {
			t.Fatalf("nobody knows what %s is", s)
		}
		return found
	})
}
