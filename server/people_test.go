package server

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// guest is somebody who was asked to sign, with a browser of their own, at one of the
// servers of an installation.
type guest struct {
	t     testing.TB
	room  *Server
	data  string
	link  string
	shown people.Browsers
}

var linkParts = regexp.MustCompile(`/sign/([0-9a-f]{24})/(\w+)$`)

func (g *guest) visit() *people.Visit {
	g.t.Helper()
	m := linkParts.FindStringSubmatch(g.link)
	if m == nil {
		g.t.Fatalf("no link: %q", g.link)
	}
	v, err := g.room.sig.people.Find(context.Background(), m[1], m[2])
	if err != nil {
		g.t.Fatal(err)
	}
	v.Address, v.Language = "192.0.2.7", "it"
	return v
}

// looks is the page being shown.
func (g *guest) looks() *people.Visit {
	g.t.Helper()
	v, p := g.visit(), g.room.sig.people
	docs := p.Documents(v)
	if err := p.Viewed(context.Background(), v, docs); err != nil {
		g.t.Fatal(err)
	}
	for i := range docs {
		if err := p.Read(context.Background(), v, i); err != nil {
			g.t.Fatal(err)
		}
	}
	return v
}

// codes asks for a code and reads it in the outbox.
func (g *guest) code() string {
	g.t.Helper()
	v := g.visit()
	if err := g.room.sig.people.SendCode(context.Background(), v, "", g.shown); err != nil {
		g.t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(g.data, "outbox", "*"+v.Person.ID+"-code*"))
	slices.SortFunc(files, func(a, b string) int { return turnOf(a) - turnOf(b) })
	b, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		g.t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(b), "\r\n\r\n")
	return regexp.MustCompile(`\d{6}`).FindString(body)
}

func turnOf(file string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`(\d+)\.\w+$`).FindStringSubmatch(file)[1])
	return n
}

// proves looks, and gives the code.
func (g *guest) proves() {
	g.t.Helper()
	g.looks()
	code, fresh := g.code(), people.Browser("browser of "+g.link)
	if err := g.room.sig.people.CheckCode(context.Background(), g.visit(), code, g.shown, fresh); err != nil {
		g.t.Fatal(err)
	}
	g.shown = append(g.shown, fresh)
}

// clicks makes the last click, and waits so long for what comes of it.
func (g *guest) clicks(wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for {
		v := g.visit()
		err := g.room.sig.people.Sign(ctx, v, people.Act{Agree: true, Typed: "Ada Rossi"}, g.shown)
		if err != nil || !v.Person.Pending() || ctx.Err() != nil { // else a busy machine is still at it
			return err
		}
	}
}

type asked struct {
	ID, State    string
	ErrorNumber  *int
	ErrorMessage *string
	Options      map[string]any
	Signers      []struct{ ID, URL, State string }
}

func signersOf(n int, more ...m) (all []m) {
	for i := range n {
		one := m{"name": fmt.Sprintf("Ada%d", i), "surname": "Rossi", "email": fmt.Sprintf("ada%d@example.org", i), "authentication": []string{"email"}, "signatures": []any{}}
		for _, o := range more {
			for name, v := range o {
				one[name] = v
			}
		}
		all = append(all, one)
	}
	return all
}

func (s *site) asks(signers []m, options m) *asked {
	s.t.Helper()
	a := s.do("POST", "/EU-SES", m{"title": "A lease", "inputDocuments": b64(samplePDF), "signers": signers, "options": options})
	if a.Status != 200 {
		s.t.Fatalf("%d %s", a.Status, a.Message)
	}
	r := &asked{}
	if err := json.Unmarshal(a.Data, r); err != nil {
		s.t.Fatal(err)
	}
	return s.asked(r.ID, "WAIT_SIGNERS")
}

func (s *site) asked(id, state string) *asked {
	s.t.Helper()
	r := &asked{}
	await.Until(s.t, "the record comes to "+state, func() bool {
		if err := json.Unmarshal(s.do("GET", "/signatures/"+id, nil).Data, r); err != nil {
			s.t.Fatal(err)
		}
		return r.State == state || r.State == "ERROR"
	})
	if r.State != state {
		s.t.Fatalf("%s: %v", r.State, *r.ErrorMessage)
	}
	return r
}

func (s *site) guests(room *Server, r *asked) (all []*guest) {
	for _, one := range r.Signers {
		all = append(all, &guest{t: s.t, room: room, data: s.cfg.Data, link: one.URL})
	}
	return all
}

// Every signature leaves those before it as they were: all of them are valid after each.
func TestPeopleSign(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	counts := []int{1, 3}
	if await.Everything() {
		counts = append(counts, 12)
	}
	for _, n := range counts {
		for _, level := range []string{"B", "LTA"} {
			r := s.asks(signersOf(n), m{"level": level})
			for i, g := range s.guests(room, r) {
				g.proves()
				if err := g.clicks(3 * time.Minute); err != nil {
					t.Fatal(err)
				}
				v := g.visit()
				if v.Person.State != ledger.PersonSigned {
					t.Fatalf("%d of %d: %s", i, n, v.Person.State)
				}
				if len(v.Record.Work) == 1 { // the last leaves none
					var b bytes.Buffer
					if _, err := room.sig.signing.Copy(context.Background(), v.Record, v.Record.Work[0], &b); err != nil {
						t.Fatal(err)
					}
					s.allValid(b.Bytes(), i+1)
				}
			}
			done := s.asked(r.ID, "DONE")
			if done.Options["achievedLevel"] != level {
				t.Errorf("%v", done.Options)
			}
			_, b := s.raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
			s.allValid(b, n)
			pdfsigAgrees(t, b, n)
		}
	}
	if !s.auditGood(room) {
		t.Error("the audit log and the records do not agree")
	}
}

func (s *site) allValid(document []byte, n int) {
	s.t.Helper()
	a := s.do("POST", "/verify", m{"inputDocument": b64(document)})
	var v struct {
		NrOfSignatures  int
		OverallVerified bool
		Indication      string
	}
	if err := json.Unmarshal(a.Data, &v); err != nil || !v.OverallVerified || v.NrOfSignatures != n {
		s.t.Fatalf("%+v of %d: %s %v", v, n, a.Message, err)
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
	rooms := []*Server{s.rooms(), s.rooms()}
	r := s.asks(signersOf(1), nil)
	g := s.guests(rooms[0], r)[0]
	g.looks()
	right := g.code()
	n, err := strconv.Atoi(right)
	if err != nil {
		t.Fatal(err)
	}
	var wrong, locked, other int
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			mine := &guest{t: t, room: rooms[i%2], data: s.cfg.Data, link: g.link}
			err := mine.room.sig.people.CheckCode(context.Background(), mine.visit(), fmt.Sprintf("%06d", (n+1+i)%1_000_000), nil, "x")
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
	_, events, err := rooms[0].sig.signing.Trail(context.Background(), g.visit().Record.AccountID, r.ID)
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
	err = g.room.sig.people.CheckCode(context.Background(), g.visit(), right, nil, "y")
	if !errors.Is(err, fault.TooManyCodes) {
		t.Errorf("the right code: %v", err)
	}
	if err := g.clicks(time.Second); err == nil {
		t.Error("signed without a code")
	}
}

// What is asked for in one browser is not signed in another, and not twice.
func TestOneActOneSignature(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	r := s.asks(signersOf(2), nil)
	both := s.guests(room, r)
	both[0].proves()
	stranger := &guest{t: t, room: room, data: s.cfg.Data, link: both[0].link}
	if err := stranger.clicks(time.Second); !errors.Is(err, fault.WrongState) {
		t.Errorf("with the link alone: %v", err)
	}
	code := both[1].code
	both[1].looks()
	if err := room.sig.people.CheckCode(context.Background(), both[0].visit(), code(), nil, "z"); err == nil {
		t.Error("the code of another counts")
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := both[0].clicks(3 * time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := both[0].clicks(time.Second); err != nil {
		t.Errorf("a click that comes late: %v", err)
	}
	both[1].proves()
	if err := both[1].clicks(3 * time.Minute); err != nil {
		t.Fatal(err)
	}
	s.asked(r.ID, "DONE")
	_, b := s.raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
	s.allValid(b, 2)
}

// killed is an installation whose server dies while people sign.
type killed struct {
	*program
	room *Server
}

func (k *killed) ask(level string) *asked {
	k.t.Helper()
	r := &asked{}
	body, _ := json.Marshal(m{"inputDocuments": b64(samplePDF), "signers": signersOf(1), "options": m{"level": level}})
	k.json("POST", "/EU-SES", body, r)
	await.Until(k.t, "it is sent out", func() bool { k.json("GET", "/signatures/"+r.ID, nil, r); return r.State == "WAIT_SIGNERS" })
	return r
}

func (k *killed) ends(r *asked) {
	k.t.Helper()
	await.Until(k.t, "it ends", func() bool {
		k.json("GET", "/signatures/"+r.ID, nil, r)
		return r.State == "DONE" || r.State == "ERROR"
	})
	if r.State != "DONE" {
		k.t.Fatalf("%s: %v", r.State, *r.ErrorMessage)
	}
	v := (&guest{t: k.t, room: k.room, link: r.Signers[0].URL}).visit()
	var b bytes.Buffer
	if _, err := k.room.sig.signing.Copy(context.Background(), v.Record, v.Record.Signed, &b); err != nil {
		k.t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("/ETSI.CAdES.detached")); n != 1 {
		k.t.Errorf("%d signatures", n)
	}
}

func TestKilledWhilePeopleSign(t *testing.T) {
	await.All(t)
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		k := &killed{program: p}
		p.start()
		k.open(database)
		for _, point := range []string{"before-sign", "intended", "using", "used", "stored"} {
			p.kill()
			p.start("ROGITO_TEST_CRASH_AT=" + point)
			r := k.ask("B")
			g := &guest{t: t, room: k.room, data: p.data, link: r.Signers[0].URL}
			g.proves()
			go func() { _ = g.clicks(20 * time.Second) }() // it ends in the middle of it
			_ = p.cmd.Wait()
			p.cmd = nil
			p.start()
			k.ends(r)
		}
		dice := rand.New(rand.NewPCG(3, 4))
		for range soakRounds(3) {
			r := k.ask("T")
			g := &guest{t: t, room: k.room, data: p.data, link: r.Signers[0].URL}
			g.proves()
			go func() { _ = g.clicks(20 * time.Second) }()
			await.Moment(0, time.Duration(1+dice.IntN(60))*time.Millisecond) // anywhere
			p.kill()
			await.Until(t, "the click is stored", func() bool { return g.visit().Person.Act != nil })
			p.start()
			k.ends(r)
		}
		if _, err := k.room.sig.audit.Sequence(context.Background()); err != nil {
			t.Fatal(err)
		}
		result, err := k.room.VerifyAudit(context.Background())
		if err != nil || result.Bad != nil {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// open opens the installation beside the program.
func (k *killed) open(database string) {
	k.t.Helper()
	cfg := Defaults()
	cfg.Data, cfg.PublicURL, cfg.Trust.Lists, cfg.Limits.Reserve, cfg.Log.Level = k.data, "http://"+k.addr, false, -1, "error"
	if database != "" {
		cfg.Database = database
	}
	room, err := Open(context.Background(), cfg)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(room.Close)
	k.room = room
}

func (k *killed) json(method, path string, body []byte, into any) {
	k.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+k.addr+path, bytes.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.box().Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	var a struct{ Data any }
	a.Data = into
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != 200 {
		k.t.Fatalf("%s %s: %d %v", method, path, resp.StatusCode, err)
	}
}
