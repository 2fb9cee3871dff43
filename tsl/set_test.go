package tsl_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/tsl"
)

var now = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)

// publisher serves lists on loopback; a test may change them.
type publisher struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
}

func publish(t *testing.T) *publisher {
	p := &publisher{files: map[string][]byte{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		b, ok := p.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *publisher) put(t *testing.T, path string, l adestest.List, signer *adestest.Actor) {
	t.Helper()
	b, err := l.XML(signer)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[path] = b
}

func certs(actors ...*adestest.Actor) []*x509.Certificate {
	var out []*x509.Certificate
	for _, a := range actors {
		out = append(out, a.Certificate)
	}
	return out
}

// scheme is a list of lists with an Italian and a French list.
func scheme(t *testing.T, pki *adestest.PKI) (*publisher, adestest.List) {
	p := publish(t)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "second")
	lotl := adestest.List{
		Territory: "EU", LOTL: true, Sequence: 1, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0),
		Pointers: []adestest.ListPointer{
			{URL: p.URL + "/lotl.xml", Territory: "EU", LOTL: true, Signers: certs(a)},
			{URL: p.URL + "/it.xml", Territory: "IT", Signers: certs(b)},
			{URL: p.URL + "/fr.xml", Territory: "FR", Signers: certs(b)},
		},
	}
	national := adestest.List{
		Sequence: 7, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0),
		Services: []adestest.ListService{{Type: "CA/QC", Name: "CA", Identity: pki.Issuing, Statuses: []adestest.ListStatus{
			{Status: "granted", From: now.AddDate(-5, 0, 0), Uses: []string{"ForeSignatures"}, Qualifiers: []string{"QCWithQSCD"}},
			{Status: "undersupervision", From: now.AddDate(-9, 0, 0)},
		}}},
	}
	p.put(t, "/lotl.xml", lotl, a)
	national.Territory = "IT"
	p.put(t, "/it.xml", national, b)
	national.Territory, national.Version = "FR", "6"
	p.put(t, "/fr.xml", national, b)
	return p, lotl
}

func newSet(t *testing.T, p *publisher, dir string, at time.Time, anchors ...*adestest.Actor) *tsl.Set {
	t.Helper()
	c := tsl.Config{LOTL: p.URL + "/lotl.xml", Client: p.Client(), Dir: dir, Now: func() time.Time { return at }}
	for _, a := range anchors {
		c.Anchors = append(c.Anchors, a.Certificate.Raw)
	}
	s, err := tsl.NewSet(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func usable(s *tsl.Set) (n int, errs []string) {
	for _, st := range s.State() {
		if st.Usable {
			n++
		}
		if st.Error != "" {
			errs = append(errs, st.Territory+": "+st.Error)
		}
	}
	return n, errs
}

func testPKI(t *testing.T) *adestest.PKI {
	return adestest.Must(t, func() time.Time { return now })
}

func TestRefreshAndServices(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	dir := t.TempDir()
	s := newSet(t, p, dir, now, pki.Actor(t, "good"))
	if n, _ := usable(s); n != 0 {
		t.Fatal("lists before the first refresh")
	}
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, errs := usable(s); n != 3 {
		t.Fatalf("%d lists usable: %v", n, errs)
	}
	ca, leaf := pki.Issuing.Raw, pki.Actor(t, "p256").Certificate.Raw
	services := s.Services(ca, leaf)
	if len(services) != 2 {
		t.Fatalf("%d services", len(services))
	}
	f := services[0]
	if f.Territory != "IT" || f.Type != "CA/QC" || len(f.Periods) != 2 || f.Periods[0].Status != "granted" || !f.ListUntil.After(now) ||
		strings.Join(f.Periods[0].Qualifiers, ",") != "QCWithQSCD" || len(f.Periods[1].Qualifiers) != 0 {
		t.Errorf("service read as %+v", f)
	}
	if len(s.Find(pki.Issuing.RawSubject)) != 1 || len(s.Services(leaf, leaf)) != 0 {
		t.Error("wrong identities")
	}
	// The next process starts from the disk, with the publisher gone.
	p.Close()
	again := newSet(t, p, dir, now, pki.Actor(t, "good"))
	if err := again.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, errs := usable(again); n != 3 {
		t.Fatalf("%d lists from disk: %v", n, errs)
	}
	// A failing refresh keeps what is there and says so.
	if err := again.Refresh(context.Background()); err == nil {
		t.Error("refresh without a publisher succeeds")
	}
	if n, errs := usable(again); n != 3 || len(errs) == 0 {
		t.Errorf("%d lists after a failed refresh, errors %v", n, errs)
	}
}

// Issuers of cards are those that Italy recognises now, while its list is good.
func TestRecognised(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	service := func(kind string, c *x509.Certificate, statuses ...string) adestest.ListService {
		s := adestest.ListService{Type: kind, Name: "x", Identity: c}
		for i, st := range statuses {
			s.Statuses = append(s.Statuses, adestest.ListStatus{Status: st, From: now.AddDate(-1-i, 0, 0)})
		}
		return s
	}
	list := adestest.List{Territory: "IT", Sequence: 8, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0), Services: []adestest.ListService{
		service("IdV", pki.Issuing, "recognisedatnationallevel"),
		service("IdV", pki.Root, "deprecatedatnationallevel", "recognisedatnationallevel"),
		service("CA/PKC", pki.Actor(t, "p256").Certificate, "recognisedatnationallevel"),
	}}
	p.put(t, "/it.xml", list, pki.Actor(t, "second"))
	for at, want := range map[time.Time]int{now: 1, now.AddDate(1, 0, 0): 0} {
		s := newSet(t, p, "", at, pki.Actor(t, "good"))
		if err := s.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := s.Recognised("IT", "IdV")
		if len(got) != want || want == 1 && string(got[0]) != string(pki.Issuing.Raw) || len(s.Recognised("FR", "IdV")) != 0 {
			t.Errorf("%s: %d", at, len(got))
		}
	}
}

func TestBrokenListFailsAlone(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	p.files["/fr.xml"] = []byte(strings.Replace(string(p.files["/fr.xml"]), "granted", "withdrawn", 1))
	s := newSet(t, p, "", now, pki.Actor(t, "good"))
	err := s.Refresh(context.Background())
	if err == nil || !strings.Contains(err.Error(), "FR") {
		t.Errorf("refresh: %v", err)
	}
	if n, errs := usable(s); n != 2 || len(errs) != 1 {
		t.Errorf("%d lists usable, errors %v", n, errs)
	}
}

func TestStaleLists(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	s := newSet(t, p, "", now.AddDate(1, 0, 0), pki.Actor(t, "good"))
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, _ := usable(s); n != 0 {
		t.Errorf("%d stale lists usable", n)
	}
	ca := pki.Issuing.Raw
	for _, f := range s.Services(ca, ca) {
		if f.ListUntil.IsZero() || f.ListUntil.After(now.AddDate(1, 0, 0)) {
			t.Error("a stale list does not say so")
		}
	}
}

func TestUnknownSigner(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	for name, anchors := range map[string][]*adestest.Actor{"another": {pki.Actor(t, "third")}, "nobody": nil} {
		s := newSet(t, p, "", now, anchors...)
		if err := s.Refresh(context.Background()); err == nil {
			t.Errorf("%s: lists of an unknown signer are believed", name)
		}
		if n, _ := usable(s); n != 0 {
			t.Errorf("%s: %d lists usable", name, n)
		}
	}
}

func TestPivots(t *testing.T) {
	pki := testPKI(t)
	p, lotl := scheme(t, pki)
	a, c, d := pki.Actor(t, "good"), pki.Actor(t, "third"), pki.Actor(t, "crl")
	// a signed the first pivot, which names c; c signed the second, which
	// names d; d signs the list of lists now.
	pivot := func(path string, names, signer *adestest.Actor) {
		l := lotl
		l.Pointers = []adestest.ListPointer{{URL: p.URL + "/lotl.xml", Territory: "EU", LOTL: true, Signers: certs(names)}}
		p.put(t, path, l, signer)
	}
	pivot("/pivot-1.xml", c, a)
	pivot("/pivot-2.xml", d, c)
	lotl.URIs = []string{p.URL + "/pivot-2.xml", p.URL + "/pivot-1.xml", "https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=uriserv:OJ.C_.2026"}
	p.put(t, "/lotl.xml", lotl, d)
	s := newSet(t, p, "", now, a)
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	// Another key signs the second pivot: the line is broken.
	pivot("/pivot-2.xml", d, pki.Actor(t, "p384"))
	s = newSet(t, p, "", now, a)
	if err := s.Refresh(context.Background()); err == nil {
		t.Error("a pivot of a stranger is believed")
	}
	// The operator adds the new signer by hand.
	s = newSet(t, p, "", now, a, d)
	if err := s.Refresh(context.Background()); err != nil {
		t.Errorf("an added anchor does not help: %v", err)
	}
}

// TestRollBack: a list with a lower number than the one held, or issued before
// it, is refused: the one held stays, in memory and on the disk, whether the
// other is fetched or imported. The next process holds it still.
func TestRollBack(t *testing.T) {
	pki := testPKI(t)
	a, b := pki.Actor(t, "good"), pki.Actor(t, "second")
	change := func(p *publisher, lotl adestest.List, what string) {
		national := adestest.List{Territory: "IT", Sequence: 7, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0)}
		switch what {
		case "number":
			national.Sequence = 6
		case "date":
			national.Issued = now.AddDate(0, -2, 0)
		case "both newer":
			national.Sequence, national.Issued = 8, now.AddDate(0, 0, -1)
		case "list of lists":
			lotl.Issued = now.AddDate(0, -2, 0)
			p.put(t, "/lotl.xml", lotl, a)
			return
		}
		p.put(t, "/it.xml", national, b)
	}
	for _, row := range []struct {
		what     string
		refused  string
		sequence int // of the Italian list
	}{
		{"number", "IT", 7},
		{"date", "IT", 7},
		{"both newer", "", 8},
		{"list of lists", "EU", 7},
	} {
		t.Run(row.what, func(t *testing.T) {
			p, lotl := scheme(t, pki)
			dir := t.TempDir()
			if err := newSet(t, p, dir, now, a).Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			change(p, lotl, row.what)
			s := newSet(t, p, dir, now, a)
			roads := map[string]func() error{
				"fetched":  func() error { return s.Refresh(t.Context()) },
				"imported": func() error { return s.Import(t.Context(), p.folder()) },
			}
			for road, take := range roads {
				err := take()
				if (err != nil) != (row.refused != "") || err != nil && !strings.Contains(err.Error(), "older") {
					t.Errorf("%s: %v", road, err)
				}
				for _, st := range s.State() {
					if (st.Error != "") != (st.Territory == row.refused) || !st.Usable {
						t.Errorf("%s: %+v", road, st)
					}
				}
			}
			next := newSet(t, p, dir, now, a)
			if err := next.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, st := range next.State() {
				if st.Territory == "IT" && st.Sequence != row.sequence {
					t.Errorf("the disk holds number %d", st.Sequence)
				}
			}
		})
	}
}

// folder holds what is published, under names that say nothing, and something
// that is no list.
func (p *publisher) folder() fstest.MapFS {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := fstest.MapFS{"readme.txt": {Data: []byte("lists")}, "page.xml": {Data: []byte("<html/>")}}
	for path, b := range p.files {
		sum := sha256.Sum256([]byte(path))
		out["some/where/"+hex.EncodeToString(sum[:])] = &fstest.MapFile{Data: b}
	}
	return out
}

// TestImport takes lists from files whose names say nothing; a list that comes
// later, alone, is found through the list of lists that is held.
func TestImport(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	all := p.folder()
	delete(p.files, "/fr.xml")
	dir := t.TempDir()
	s := newSet(t, p, dir, now, pki.Actor(t, "good"))
	var lotl *tsl.LOTLError
	if err := s.Import(t.Context(), fstest.MapFS{"x": all["readme.txt"]}); err == nil {
		t.Error("a folder without lists is imported")
	}
	if err := s.Import(t.Context(), p.folder()); err == nil || errors.As(err, &lotl) || !strings.Contains(err.Error(), "FR") {
		t.Errorf("import without France: %v", err)
	}
	if n, _ := usable(s); n != 2 {
		t.Errorf("%d lists usable", n)
	}
	for name, f := range all {
		if bytes.Contains(f.Data, []byte("<SchemeTerritory>FR</SchemeTerritory><PointersToOtherTSL></PointersToOtherTSL>")) {
			_ = s.Import(t.Context(), fstest.MapFS{name: f})
		}
	}
	if n, errs := usable(s); n != 3 {
		t.Errorf("%d lists usable with France alone: %v", n, errs)
	}
	// Without the list of lists the signers of the others are unknown.
	none := newSet(t, p, t.TempDir(), now, pki.Actor(t, "good"))
	delete(p.files, "/lotl.xml")
	if err := none.Import(t.Context(), p.folder()); !errors.As(err, &lotl) {
		t.Errorf("import without the list of lists: %v", err)
	}
}

// TestFetchBounds: redirects are followed, not for ever and not to files; a
// caller who gives up is heard, and half an update is none.
func TestFetchBounds(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	var target string
	wait := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, target, http.StatusMovedPermanently)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/slow":
			<-wait
		}
	}))
	t.Cleanup(front.Close)
	t.Cleanup(func() { close(wait) })
	// As the server's own client: it hands redirects back.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	set := func(path string) *tsl.Set {
		s, err := tsl.NewSet(tsl.Config{LOTL: front.URL + path, Anchors: [][]byte{pki.Actor(t, "good").Certificate.Raw}, Client: client, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	target = p.URL + "/lotl.xml"
	s := set("/moved")
	if err := s.Refresh(t.Context()); err != nil {
		t.Errorf("moved: %v", err)
	}
	if n, _ := usable(s); n != 3 {
		t.Errorf("%d lists usable", n)
	}
	target = "file:///etc/passwd"
	for _, path := range []string{"/moved", "/round"} {
		if err := set(path).Refresh(t.Context()); err == nil {
			t.Errorf("%s is followed", path)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	slow := set("/slow")
	go func() { done <- slow.Refresh(ctx) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || len(slow.State()) != 0 {
		t.Errorf("given up: %v, state %v", err, slow.State())
	}
}

// TestRunSeesOthers: what another process puts into the folder is taken over.
func TestRunSeesOthers(t *testing.T) {
	pki := testPKI(t)
	p, _ := scheme(t, pki)
	files := p.folder()
	p.Close()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		clock := func() time.Time { return now }
		anchors := [][]byte{pki.Actor(t, "good").Certificate.Raw}
		running, err := tsl.NewSet(tsl.Config{LOTL: p.URL + "/lotl.xml", Anchors: anchors, Dir: dir, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go running.Run(ctx, 6*time.Hour)
		synctest.Wait()
		if n, _ := usable(running); n != 0 {
			t.Fatal("lists before the import")
		}
		other, err := tsl.NewSet(tsl.Config{LOTL: p.URL + "/lotl.xml", Anchors: anchors, Dir: dir, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Import(ctx, files); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n, errs := usable(running); n != 3 {
			t.Errorf("%d lists usable: %v", n, errs)
		}
	})
}

func TestUnsupportedVersion(t *testing.T) {
	pki := testPKI(t)
	p, lotl := scheme(t, pki)
	lotl.Version = "7"
	p.put(t, "/lotl.xml", lotl, pki.Actor(t, "good"))
	s := newSet(t, p, "", now, pki.Actor(t, "good"))
	if err := s.Refresh(context.Background()); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("version 7: %v", err)
	}
}

// TestRunDoesNotHurry: however long refreshing fails, it is tried no more often
// than it should be.
func TestRunDoesNotHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tries, begin := 0, time.Now()
		client := &http.Client{Transport: failing(func() {
			if tries++; tries == 100 {
				cancel()
			}
		})}
		s, err := tsl.NewSet(tsl.Config{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		s.Run(ctx, 6*time.Hour)
		if took := time.Since(begin); took < 80*6*time.Hour || took > 100*6*time.Hour {
			t.Errorf("%d tries in %v", tries, took)
		}
	})
}

// failing is a network that is away.
type failing func()

func (f failing) RoundTrip(*http.Request) (*http.Response, error) {
	f()
	return nil, errors.New("away")
}
