package client

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// signature is that of a callback, made here by the standard's own words.
func signature(secret, id, at, body string) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestVerifyCallback(t *testing.T) {
	const secret, other, body = "whsec_c2VjcmV0IG9mIHRlc3Rz", "whsec_YW5vdGhlciBzZWNyZXQ=", `{"data":{"id":"x"},"custom":null}`
	now := time.Unix(1_800_000_000, 0)
	at := fmt.Sprint(now.Unix())
	header := func(change func(http.Header)) http.Header {
		h := http.Header{}
		h.Set("webhook-id", "msg_1")
		h.Set("webhook-timestamp", at)
		h.Set("webhook-signature", signature(secret, "msg_1", at, body))
		if change != nil {
			change(h)
		}
		return h
	}
	for name, c := range map[string]struct {
		header  http.Header
		body    string
		now     time.Time
		secrets []string
		good    bool
	}{
		"good":             {header(nil), body, now, []string{secret}, true},
		"rotated":          {header(nil), body, now, []string{other, secret}, true},
		"two signatures":   {header(func(h http.Header) { h.Set("webhook-signature", "v1,AAAA "+h.Get("webhook-signature")) }), body, now, []string{secret}, true},
		"other secret":     {header(nil), body, now, []string{other}, false},
		"no secret":        {header(nil), body, now, nil, false},
		"other body":       {header(nil), body + " ", now, []string{secret}, false},
		"other id":         {header(func(h http.Header) { h.Set("webhook-id", "msg_2") }), body, now, []string{secret}, false},
		"other time":       {header(func(h http.Header) { h.Set("webhook-timestamp", fmt.Sprint(now.Unix()+1)) }), body, now, []string{secret}, false},
		"old":              {header(nil), body, now.Add(301 * time.Second), []string{secret}, false},
		"of the future":    {header(nil), body, now.Add(-301 * time.Second), []string{secret}, false},
		"no signature":     {header(func(h http.Header) { h.Del("webhook-signature") }), body, now, []string{secret}, false},
		"no time":          {header(func(h http.Header) { h.Del("webhook-timestamp") }), body, now, []string{secret}, false},
		"malformed secret": {header(nil), body, now, []string{"whsec_!"}, false},
	} {
		if err := VerifyCallback(c.header, []byte(c.body), c.now, c.secrets...); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is sent is the JSON that it stands for, whatever its documents are made
// of, and at every attempt.
func TestSignBody(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	path := filepath.Join(t.TempDir(), "a \"quoted\" name.bin")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	docs := []Document{File(path), Bytes("b.txt", []byte("b")), Bytes("empty", nil), Remote("https://example.org/x", "A: b"), Digest([]byte{1, 2})}
	for range 2 {
		rd, err := signBody(map[string]any{"title": "x"}, docs)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rd)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Title          string
			InputDocuments []struct {
				SourceType, URL, Name string
				Payload               []byte
				Headers               []string
			}
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%v: %.200s", err, b)
		}
		in := got.InputDocuments
		if got.Title != "x" || len(in) != 5 || in[0].Name != filepath.Base(path) || !bytes.Equal(in[0].Payload, content) ||
			string(in[1].Payload) != "b" || len(in[2].Payload) != 0 || in[3].URL == "" || in[3].Headers[0] != "A: b" || !bytes.Equal(in[4].Payload, []byte{1, 2}) {
			t.Errorf("%.300s", b)
		}
	}
	if _, err := signBody(nil, []Document{{}}); !errors.Is(err, errNoDocument) {
		t.Errorf("an empty document: %v", err)
	}
}

// A call that is refused for the moment is made again, the same under the same
// key; one that is refused for good is not.
func TestRepeating(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	answers := []int{503, 409, 200}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Idempotency-Key")+string(b))
		status := 422
		if len(answers) > 0 {
			status, answers = answers[0], answers[1:]
		}
		code := map[int]int{503: 105, 409: 150, 422: 615}[status]
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"data":{"id":"r","state":"DONE"},"message":"m","error":%d}`, code)
	}))
	defer s.Close()
	c := New(s.URL, "t")
	req := SignRequest{Documents: []Document{Bytes("a", []byte("a"))}}
	r, err := c.Sign(t.Context(), Automatic, req)
	if err != nil || r.ID != "r" || len(seen) != 3 || seen[0] != seen[1] || seen[1] != seen[2] || strings.HasPrefix(seen[0], "{") {
		t.Errorf("%v %v %q", r, err, seen)
	}
	seen = nil
	_, err = c.Sign(t.Context(), Automatic, req)
	var no *Error
	if !errors.As(err, &no) || no.Code != 615 || len(seen) != 1 {
		t.Errorf("%v %q", err, seen)
	}
}

func TestTime(t *testing.T) {
	for text, want := range map[string]string{
		`"2026-11-15 12:34:56.789+00:00"`: "2026-11-15T12:34:56.789Z", `"2026-11-15T12:34:56Z"`: "2026-11-15T12:34:56Z", `null`: "0001-01-01T00:00:00Z",
	} {
		var at Time
		if err := json.Unmarshal([]byte(text), &at); err != nil || at.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %v %v", text, at, err)
		}
	}
}

// A list is read to its end, each element once, while others come in before it.
func TestListsGoOnBehindAnElement(t *testing.T) {
	var all []string
	add := func() { all = append([]string{fmt.Sprintf("%024x", len(all))}, all...) }
	for range 250 {
		add()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := all
		if after := r.URL.Query().Get("after"); after != "" {
			list = all[slices.Index(all, after)+1:]
		}
		var page []Summary
		for _, id := range list[:min(100, len(list))] {
			page = append(page, Summary{ID: id})
		}
		add()
		b, _ := json.Marshal(page)
		fmt.Fprintf(w, `{"data":%s,"success":true,"message":"","error":null}`, b)
	}))
	defer s.Close()
	want := slices.Clone(all)
	var got []string
	for r, err := range New(s.URL, "t").Signatures(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d elements, want %d", len(got), len(want))
	}
}
