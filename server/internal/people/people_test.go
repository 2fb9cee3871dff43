package people_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func asks(s *site, signers []m, options m) *asked {
	s.T.Helper()
	a := s.Do("POST", "/EU-SES", m{"title": "A lease", "inputDocuments": b64(sitetest.SamplePDF), "signers": signers, "options": options})
	if a.Status != 200 {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	r := &asked{}
	if err := json.Unmarshal(a.Data, r); err != nil {
		s.T.Fatal(err)
	}
	return s.Asked(r.ID, "WAIT_SIGNERS")
}

// Every signature leaves those before it as they were: all of them are valid after each.
func TestPeopleSign(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	counts := []int{1, 3}
	if await.Everything() {
		counts = append(counts, 12)
	}
	for _, n := range counts {
		for _, level := range []string{"B", "LTA"} {
			r := asks(s, signersOf(n), m{"level": level})
			for i, g := range s.Guests(srv, r) {
				g.Proves()
				if err := g.Clicks(3 * time.Minute); err != nil {
					t.Fatal(err)
				}
				v := g.Visit()
				if v.Person.State != ledger.PersonSigned {
					t.Fatalf("%d of %d: %s", i, n, v.Person.State)
				}
				if len(v.Record.Work) == 1 { // the last leaves none
					var b bytes.Buffer
					if _, err := srv.Parts().Signing.Copy(context.Background(), v.Record, v.Record.Work[0], &b); err != nil {
						t.Fatal(err)
					}
					allValid(s, b.Bytes(), i+1)
				}
			}
			done := s.Asked(r.ID, "DONE")
			if done.Options["achievedLevel"] != level {
				t.Errorf("%v", done.Options)
			}
			_, b := s.Raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
			allValid(s, b, n)
			pdfsigAgrees(t, b, n)
		}
	}
	if !s.AuditGood(srv) {
		t.Error("the audit log and the records do not agree")
	}
}

func allValid(s *site, document []byte, n int) {
	s.T.Helper()
	a := s.Do("POST", "/verify", m{"inputDocument": b64(document)})
	var v struct {
		NrOfSignatures  int
		OverallVerified bool
		Indication      string
	}
	if err := json.Unmarshal(a.Data, &v); err != nil || !v.OverallVerified || v.NrOfSignatures != n {
		s.T.Fatalf("%+v of %d: %s %v", v, n, a.Message, err)
	}
}

// pdfsigAgrees has another program look, where there is one.
func pdfsigAgrees(t *testing.T, document []byte, n int) {
	t.Helper()
	path, err := exec.LookPath("pdfsig")
	if err != nil {
		return
	}
	file := filepath.Join(t.TempDir(), "signed.pdf")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command(path, "-nocert", file).CombinedOutput()
	if got := strings.Count(string(out), "Signature is Valid"); got < n {
		t.Errorf("pdfsig: %d of %d valid: %s", got, n, out)
	}
}

// Codes are guessed at two servers at once: five are judged, and no more, and then the
// right one is none either.
func TestCodesAreGuessed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	servers := []*server.Server{s.OpenServer(), s.OpenServer()}
	r := asks(s, signersOf(1), nil)
	g := s.Guests(servers[0], r)[0]
	g.Looks()
	right := g.Code()
	n, err := strconv.Atoi(right)
	if err != nil {
		t.Fatal(err)
	}
	var wrong, locked, other int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			mine := &guest{T: t, Srv: servers[i%2], Data: s.Config.Data, Link: g.Link}
			err := mine.Srv.Parts().People.CheckCode(context.Background(), mine.Visit(), fmt.Sprintf("%06d", (n+1+i)%1_000_000), nil, "x")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, fault.WrongOTP):
				wrong++
			case errors.Is(err, fault.TooManyCodes):
				locked++
			default:
				other++
				t.Logf("%v", err)
			}
		})
	}
	all.Wait()
	tried := 0
	_, events, err := servers[0].Parts().Signing.Trail(context.Background(), g.Visit().Record.AccountID, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, detail := e.Text(); e.Kind == ledger.KindPerson && strings.Contains(string(detail), `"code-tried"`) {
			tried++
		}
	}
	if tried != 5 || wrong != 4 {
		t.Errorf("%d judged, %d told that they were wrong, %d locked, %d other", tried, wrong, locked, other)
	}
	err = g.Srv.Parts().People.CheckCode(context.Background(), g.Visit(), right, nil, "y")
	if !errors.Is(err, fault.TooManyCodes) {
		t.Errorf("the right code: %v", err)
	}
	if err := g.Clicks(time.Second); err == nil {
		t.Error("signed without a code")
	}
}

// What is asked for in one browser is not signed in another, and not twice.
func TestOneActOneSignature(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	r := asks(s, signersOf(2), nil)
	both := s.Guests(srv, r)
	both[0].Proves()
	stranger := &guest{T: t, Srv: srv, Data: s.Config.Data, Link: both[0].Link}
	if err := stranger.Clicks(time.Second); !errors.Is(err, fault.WrongState) {
		t.Errorf("with the link alone: %v", err)
	}
	code := both[1].Code
	both[1].Looks()
	if err := srv.Parts().People.CheckCode(context.Background(), both[0].Visit(), code(), nil, "z"); err == nil {
		t.Error("the code of another counts")
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := both[0].Clicks(3 * time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := both[0].Clicks(time.Second); err != nil {
		t.Errorf("a click that comes late: %v", err)
	}
	both[1].Proves()
	if err := both[1].Clicks(3 * time.Minute); err != nil {
		t.Fatal(err)
	}
	s.Asked(r.ID, "DONE")
	_, b := s.Raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
	allValid(s, b, 2)
}

// killed is an installation whose server dies while people sign.
type killed struct {
	*program
	srv *server.Server
}

func (k *killed) ask(level string) *asked {
	k.T.Helper()
	r := &asked{}
	body, _ := json.Marshal(m{"inputDocuments": b64(sitetest.SamplePDF), "signers": signersOf(1), "options": m{"level": level}})
	k.json("POST", "/EU-SES", body, r)
	await.Until(k.T, "it is sent out", func() bool { k.json("GET", "/signatures/"+r.ID, nil, r); return r.State == "WAIT_SIGNERS" })
	return r
}

func (k *killed) ends(r *asked) {
	k.T.Helper()
	await.Until(k.T, "it ends", func() bool {
		k.json("GET", "/signatures/"+r.ID, nil, r)
		return r.State == "DONE" || r.State == "ERROR"
	})
	if r.State != "DONE" {
		k.T.Fatalf("%s: %v", r.State, *r.ErrorMessage)
	}
	v := (&guest{T: k.T, Srv: k.srv, Link: r.Signers[0].URL}).Visit()
	var b bytes.Buffer
	if _, err := k.srv.Parts().Signing.Copy(context.Background(), v.Record, v.Record.Signed, &b); err != nil {
		k.T.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("/ETSI.CAdES.detached")); n != 1 {
		k.T.Errorf("%d signatures", n)
	}
}

func TestKilledWhilePeopleSign(t *testing.T) {
	await.All(t)
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		k := &killed{program: p}
		p.Start()
		k.open(database)
		for _, point := range []string{"before-sign", "intended", "using", "used", "stored"} {
			p.Kill()
			p.Start("ROGITO_TEST_CRASH_AT=" + point)
			r := k.ask("B")
			g := &guest{T: t, Srv: k.srv, Data: p.Data, Link: r.Signers[0].URL}
			g.Proves()
			go func() { _ = g.Clicks(20 * time.Second) }() // it ends in the middle of it
			_ = p.Cmd.Wait()
			p.Cmd = nil
			p.Start()
			k.ends(r)
		}
		for range soakRounds(3) {
			r := k.ask("T")
			g := &guest{T: t, Srv: k.srv, Data: p.Data, Link: r.Signers[0].URL}
			g.Proves()
			go func() { _ = g.Clicks(20 * time.Second) }()
			time.Sleep(rand.N(60 * time.Millisecond)) // anywhere
			p.Kill()
			await.Until(t, "the click is stored", func() bool { return g.Visit().Person.Act != nil })
			p.Start()
			k.ends(r)
		}
		if _, err := k.srv.Parts().Audit.Sequence(context.Background()); err != nil {
			t.Fatal(err)
		}
		result, err := k.srv.VerifyAudit(context.Background())
		if err != nil || result.Bad != nil {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// open opens the installation beside the program.
func (k *killed) open(database string) {
	k.T.Helper()
	cfg := server.Defaults()
	cfg.Data, cfg.PublicURL, cfg.Trust.Lists, cfg.Limits.Reserve, cfg.Log.Level = k.Data, "http://"+k.Addr, false, -1, "error"
	if database != "" {
		cfg.Database = database
	}
	srv, err := server.Open(context.Background(), cfg)
	if err != nil {
		k.T.Fatal(err)
	}
	k.T.Cleanup(srv.Close)
	k.srv = srv
}

func (k *killed) json(method, path string, body []byte, into any) {
	k.T.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+k.Addr+path, bytes.NewReader(body))
	if err != nil {
		k.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.Box().Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		k.T.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct{ Data any }
	a.Data = into
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != 200 {
		k.T.Fatalf("%s %s: %d %v", method, path, resp.StatusCode, err)
	}
}
