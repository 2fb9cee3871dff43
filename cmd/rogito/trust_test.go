package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/corpus"
)

// europe is a list of lists and an Italian list on loopback; France is named
// and not there. The Italian list vouches for the PKI's issuing authority.
type europe struct {
	*httptest.Server
	pki     *adestest.PKI
	anchors string // file of the certificate that signs the list of lists
	asked   int
}

func newEurope(t *testing.T) *europe {
	t.Helper()
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1") // the PKI is on loopback
	e := &europe{pki: adestest.Start(t, time.Now)}
	files := map[string][]byte{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked++
		if files[r.URL.Path] == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(files[r.URL.Path])
	}))
	t.Cleanup(e.Close)
	put := func(path string, l adestest.List, signer *adestest.Actor) {
		l.Issued, l.Next = time.Now().AddDate(0, -1, 0), time.Now().AddDate(0, 5, 0)
		b, err := l.XML(signer)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = b
	}
	operator, national := e.pki.Actor(t, "good"), e.pki.Actor(t, "second")
	signers := func(a *adestest.Actor) []*x509.Certificate { return []*x509.Certificate{a.Certificate} }
	put("/lotl.xml", adestest.List{Territory: "EU", LOTL: true, Sequence: 12, Pointers: []adestest.ListPointer{
		{URL: e.URL + "/lotl.xml", Territory: "EU", LOTL: true, Signers: signers(operator)},
		{URL: e.URL + "/it.xml", Territory: "IT", Signers: signers(national)},
		{URL: e.URL + "/fr.xml", Territory: "FR", Signers: signers(national)},
	}}, operator)
	put("/it.xml", adestest.List{Territory: "IT", Version: "6", Sequence: 3, Services: []adestest.ListService{
		{Type: "CA/QC", Name: "CA", Identity: e.pki.Issuing, Statuses: []adestest.ListStatus{
			{Status: "granted", From: time.Now().AddDate(-5, 0, 0), Uses: []string{"ForeSignatures"}},
		}},
	}}, national)
	e.anchors = filepath.Join(t.TempDir(), "anchors.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: operator.Certificate.Raw})
	if err := os.WriteFile(e.anchors, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return e
}

// rogito runs a command against these lists.
func (e *europe) rogito(data string, args ...string) (code int, out, notes string) {
	var o, n strings.Builder
	s := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &o, stderr: &n}
	code = run(s, append(args, "--data", data, "--lotl", e.URL+"/lotl.xml", "--lotl-anchors", e.anchors))
	return code, o.String(), n.String()
}

// The lists are fetched, shown, carried to a machine without network and shown there; a list that
// cannot be fetched is named, and the others work.
func TestTrustCommands(t *testing.T) {
	e := newEurope(t)
	here, there := t.TempDir(), t.TempDir()
	code, out, notes := e.rogito(here, "trust", "update")
	if code != exitOK || !strings.Contains(out, "IT") || !strings.Contains(notes, "list of FR") {
		t.Errorf("update: exit %d\n%s%s", code, out, notes)
	}
	file := filepath.Join(here, "lists.zip")
	if code, out, notes := e.rogito(here, "trust", "export", file, "--json"); code != exitOK || !strings.Contains(out, `"lists":`) {
		t.Errorf("export: exit %d %s", code, notes)
	}
	e.Close()
	if code, _, notes := e.rogito(there, "trust", "import", file); code != exitOK {
		t.Errorf("import: exit %d %s", code, notes)
	}
	_, out, _ = e.rogito(there, "trust", "list", "--json")
	type list struct {
		Territory  string
		Sequence   *int
		Issued     *time.Time
		NextUpdate *time.Time
		Verified   bool
	}
	var lists []list
	if err := json.Unmarshal([]byte(out), &lists); err != nil || len(lists) != 3 {
		t.Fatalf("list: %v\n%s", err, out)
	}
	for _, l := range lists {
		if l.Verified != (l.Territory != "FR") || l.Verified != (l.Sequence != nil && l.Issued != nil && l.NextUpdate != nil) {
			t.Errorf("%+v", l)
		}
	}
	if lists[0].Territory != "EU" || *lists[0].Sequence != 12 {
		t.Errorf("the first is %+v", lists[0])
	}
}

// A user without lists, or without network, is told what to do.
func TestTrustSaysWhatIsMissing(t *testing.T) {
	e := newEurope(t)
	e.Close()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"list", exitOK, "rogito trust update"},
		{"list --json", exitOK, "[]"},
		{"update", exitError, "list of lists"},
		{"export " + filepath.Join(dir, "x.zip"), exitError, "rogito trust update"},
		{"import " + dir, exitError, "no trusted list"},
		{"import " + empty, exitError, "neither a folder nor a zip"},
		{"import " + filepath.Join(dir, "absent"), exitError, "absent"},
	} {
		code, out, notes := e.rogito(dir, append([]string{"trust"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(out+notes, c.want) {
			t.Errorf("%s: exit %d, want %d and %q in %q", c.args, code, c.code, c.want, out+notes)
		}
	}
	e.anchors = empty
	if code, _, notes := e.rogito(dir, "trust", "list"); code != exitError || !strings.Contains(notes, "no certificate") {
		t.Errorf("empty anchors: exit %d %s", code, notes)
	}
}

// A verdict uses the lists of the data folder. Where there are none they are
// fetched, once, unless the network or the lists are switched off.
func TestVerifyFetchesListsOnce(t *testing.T) {
	e := newEurope(t)
	a := e.pki.Actor(t, "p256")
	signing := a.Signing(e.pki.Now())
	d, err := cades.Prepare(context.Background(), strings.NewReader("hello"), signing, cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.p7m")
	if err := os.WriteFile(file, a.Finish(t, d, signing), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--no-lists", "--no-network"} {
		if code, _, notes := e.rogito(dir, "verify", flag, file); code != exitUndetermined || e.asked != 0 || notes != "" {
			t.Errorf("%s: exit %d, %d requests, %s", flag, code, e.asked, notes)
		}
	}
	code, out, notes := e.rogito(dir, "verify", "--lists", file)
	if code != exitOK || !strings.Contains(notes, "fetching them") || e.asked == 0 {
		t.Errorf("first: exit %d, %d requests, %s%s", code, e.asked, notes, out)
	}
	before := e.asked
	code, _, notes = e.rogito(dir, "verify", "--lists", file)
	if code != exitOK || e.asked != before || notes != "" {
		t.Errorf("second: exit %d, %d requests, %s", code, e.asked-before, notes)
	}
	// Switched off, the lists of the data folder are used all the same.
	if code, _, _ = e.rogito(dir, "verify", "--no-lists", file); code != exitOK {
		t.Errorf("switched off: exit %d", code)
	}
}

// TestItalianOutOfBox: with the real lists of 2023 in the data folder and the
// anchors that come with the program, real Italian signatures are judged by
// name of their provider, and the report says which lists it stood on.
func TestItalianOutOfBox(t *testing.T) {
	pool := corpus.Shared(t, "trust", "pool")
	dir := t.TempDir()
	var out, notes bytes.Buffer
	s := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &out, stderr: &notes}
	if code := run(s, []string{"trust", "import", "--data", dir, pool}); code != exitOK {
		t.Fatalf("exit %d: %s", code, notes.String())
	}
}
