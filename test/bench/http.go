package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/trust"
)

// service is Rogito in a process of its own, on a fresh store.
type service struct {
	process
	Token        string
	Root         string `json:"root_certificate"`
	Certificates map[string]struct{ Username, Password string }
}

// process is a server under load.
type process struct {
	cmd *exec.Cmd
	url string
}

// used is the processor time that it has had.
func (p process) used() time.Duration {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const ticks = 100 // a second, on every Linux
	return time.Duration(user+system) * time.Second / ticks
}

func (p process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// start runs a program that serves at an address, which is the last of its
// arguments, and waits until it does.
func start(path string, cmd *exec.Cmd) (p process, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	cmd.Args = append(cmd.Args, l.Addr().String())
	p = process{cmd, "http://" + l.Addr().String()}
	if err := errors.Join(l.Close(), cmd.Start()); err != nil {
		return p, err
	}
	for range await.Within(await.Limit) {
		if res, err := http.Get(p.url + path); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return p, nil
			}
		}
	}
	p.end()
	return p, fmt.Errorf("%s does not answer", cmd.Path)
}

func (b *bench) serve() (*service, error) {
	binary, data := b.docs.path("rogito"), b.docs.path("data")
	if out, err := exec.Command("go", "build", "-o", binary, "rogito.dev/rogito/cmd/rogito").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	cmd := exec.Command(binary, "serve", "--data", data, "--listen")
	cmd.Env = append(os.Environ(), "ROGITO_TRUST_LISTS=false", "ROGITO_LIMITS_RESERVE=-1")
	log, err := os.Create(b.docs.path("serve.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	s := new(service)
	if s.process, err = start("/readyz", cmd); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	return s, err
}

// bare is the yardstick of HTTP, in a process of its own: a handler that
// writes a constant of that many bytes.
func bare(addr string, size int) error {
	body := []byte(`{"data":"` + strings.Repeat("x", max(0, size-11)) + `"}`)
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
}

// request is what a load consists of.
type request struct {
	method, path, contentType string
	body                      []byte
}

// ask sends a request once, and returns the answer.
func (s *service) ask(q request) ([]byte, error) {
	r, err := http.NewRequestWithContext(context.Background(), q.method, s.url+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Content-Type", q.contentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d: %.300s", q.method, q.path, res.StatusCode, answer)
	}
	return answer, err
}

// load has wrk send a request over 32 connections for a second. It returns how many were answered
// in a second by the clock, and in a second of the server's processor time.
func (b *bench) load(p process, token string, q request) (clock, processor float64, err error) {
	body, script := b.docs.path("body"), b.docs.path("load.lua")
	if err := os.WriteFile(body, q.body, 0o600); err != nil {
		return 0, 0, err
	}
	text := fmt.Sprintf("wrk.method = %q\nwrk.headers['Authorization'] = 'Bearer %s'\nwrk.headers['Content-Type'] = %q\n", q.method, token, q.contentType)
	if q.body != nil {
		text += fmt.Sprintf("local f = io.open(%q, 'rb')\nwrk.body = f:read('*a')\n", body)
	}
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return 0, 0, err
	}
	before := p.used()
	out, err := exec.Command("wrk", "-t1", "-c32", "-d1s", "-s", script, p.url+q.path).CombinedOutput()
	spent := (p.used() - before).Seconds()
	rate, n := rateLine.FindSubmatch(out), countLine.FindSubmatch(out)
	if err != nil || rate == nil || n == nil || bytes.Contains(out, []byte("Non-2xx")) || spent == 0 {
		return 0, 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	clock, _ = strconv.ParseFloat(string(rate[1]), 64)
	count, _ := strconv.ParseFloat(string(n[1]), 64)
	return clock, count / spent, nil
}

var (
	rateLine  = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	countLine = regexp.MustCompile(`(\d+) requests in`)
)

// rounds of a comparison; the median of their ratios counts.
const rounds = 7

// overHTTP measures calls of the service beside a bare handler, and
// verification over HTTP beside the library.
func (b *bench) overHTTP() {
	if _, err := exec.LookPath("wrk"); err != nil {
		b.skip("calls over HTTP in separate processes: no wrk")
		return
	}
	s, err := b.serve()
	if err != nil {
		b.skip("calls over HTTP in separate processes: %v", err)
		return
	}
	defer s.end()
	b.heading("Calls over HTTP, client and servers in processes of their own", "Rogito", "yardstick")
	if err := errors.Join(b.trivial(s), b.verifyOver(s)); err != nil {
		b.skip("calls over HTTP in separate processes: %v", err)
	}
}

// trivial is a call that reads the account, beside a bare handler.
func (b *bench) trivial(s *service) error {
	q := request{method: http.MethodGet, path: "/wallet"}
	answer, err := s.ask(q)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	yard, err := start("/", exec.Command(self, "-bare", strconv.Itoa(len(answer))))
	if err != nil {
		return err
	}
	defer yard.end()
	say("GET /wallet")
	var clock, processor ratios
	for range rounds {
		c, p, err := b.load(s.process, s.Token, q)
		yc, yp, yerr := b.load(yard, s.Token, q)
		if err := errors.Join(err, yerr); err != nil {
			return err
		}
		clock, processor = append(clock, [2]float64{c, yc}), append(processor, [2]float64{p, yp})
	}
	b.beside("GET /wallet beside a bare handler, requests a second", clock, 0)
	b.beside("… by the server's processor time", processor, 0.60)
	return nil
}

// verifyOver is POST /verify of a PAdES-B of 200 KB beside the library, which
// verifies the same file in turns, on as many cores as the server has.
func (b *bench) verifyOver(s *service) error {
	root, _ := pem.Decode([]byte(s.Root))
	if root == nil {
		return errors.New("the sandbox shows no root")
	}
	store := &trust.Store{Client: http.DefaultClient}
	if err := store.AddAnchor(root.Bytes); err != nil {
		return err
	}
	v := &rogito.Verifier{Trust: store}
	for _, c := range []struct {
		name, level string
		form, plain bool
		goal, dss   float64 // beside the library, and beside EU DSS
	}{
		{"multipart, without plainDocument", "B", true, false, 0.55, 40},
		{"JSON, without plainDocument", "B", false, false, 0.55, 0},
		{"JSON, with plainDocument", "B", false, true, 0.55, 0},
		{"multipart, without plainDocument", "LT", true, false, 0, 30},
	} {
		say("POST /verify, PAdES-%s, %s", c.level, c.name)
		signed, err := s.sign(b.docs.pdf200, c.level)
		if err != nil {
			return err
		}
		q := verifyRequest(signed, c.form, c.plain)
		answer, err := s.ask(q)
		if err != nil {
			return err
		}
		if !bytes.Contains(answer, []byte("TOTAL-PASSED")) {
			return fmt.Errorf("not valid: %.500s", answer)
		}
		var processor ratios
		for range rounds {
			_, p, err := b.load(s.process, s.Token, q)
			if err != nil {
				return err
			}
			l, err := onAllCores(600, func() error { return valid(v, signed) })
			if err != nil {
				return err
			}
			processor = append(processor, [2]float64{p, l})
		}
		ours := b.beside("POST /verify, PAdES-"+c.level+" of 200 KB, "+c.name+", beside the library, by processor time", processor, c.goal)
		if c.dss > 0 {
			dss := b.median("verify PAdES-"+c.level, "DSS 200.pdf PAdES-"+c.level+" validate")
			b.row(row{"… beside EU DSS, a second and core", ours, dss.theirs, c.dss})
		}
	}
	return nil
}

// onAllCores does something n times and returns how often that is in a second of processor time. It
// has all cores at once, as a server has: where they share caches and units, one that has a
// neighbour at work is slower than one that has none.
func onAllCores(n int, once func() error) (rate float64, err error) {
	errs := make([]error, runtime.GOMAXPROCS(0))
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	begun := yardstick.Processor()
	for i := range errs {
		all.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = once()
			}
		})
	}
	all.Wait()
	return float64(n) / (yardstick.Processor() - begun).Seconds(), errors.Join(errs...)
}

// verifyRequest is a document to be verified.
func verifyRequest(signed []byte, form, plain bool) request {
	if !form {
		body := fmt.Appendf(nil, `{"inputDocument":"%s","withPlainDocument":%t}`, base64.StdEncoding.EncodeToString(signed), plain)
		return request{http.MethodPost, "/verify", "application/json", body}
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("inputDocument", "document.pdf") // a buffer takes everything
	_, _ = part.Write(signed)
	_ = w.WriteField("withPlainDocument", strconv.FormatBool(plain))
	_ = w.Close()
	return request{http.MethodPost, "/verify", w.FormDataContentType(), body.Bytes()}
}

// sign has the service sign a document at a level with the certificate of its sandbox.
func (s *service) sign(document []byte, level string) ([]byte, error) {
	c := s.Certificates["automatic"]
	body, err := json.Marshal(map[string]any{
		"inputDocuments": []string{base64.StdEncoding.EncodeToString(document)}, "certificateUsername": c.Username, "certificatePassword": c.Password,
		"options": map[string]string{"level": level},
	})
	if err != nil {
		return nil, err
	}
	answer, err := s.ask(request{http.MethodPost, "/EU-QES_automatic", "application/json", body})
	if err != nil {
		return nil, err
	}
	var record struct{ Data struct{ ID string } }
	if err := json.Unmarshal(answer, &record); err != nil {
		return nil, err
	}
	return s.ask(request{method: http.MethodGet, path: "/signatures/" + record.Data.ID + "/signedDocument"})
}

// ratios are pairs of rates that were measured in turns: ours, the yardstick's.
type ratios [][2]float64

// beside is a row of the median round, and returns our rate in it.
func (b *bench) beside(what string, r ratios, goal float64) float64 {
	slices.SortFunc(r, func(a, b [2]float64) int {
		if a[0]/a[1] < b[0]/b[1] {
			return -1
		}
		return 1
	})
	m := r[len(r)/2]
	b.row(row{what, m[0], m[1], goal})
	return m[0]
}
