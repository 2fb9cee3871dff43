package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// The account of time of one PAdES-B of 100 KB over HTTP with durable records:
// how much processor time the server takes, its own and the system's, and what
// for, on both engines with both keys, beside the library alone. The server is
// a process of its own with a profile; servers and library take turns, so that
// what disturbs one disturbs all.
//
// ROGITO_BENCH_SIGNATURES is how many are made on each engine with each key,
// ROGITO_BENCH_ENGINES and ROGITO_BENCH_KEYS which engines and keys are measured,
// and ROGITO_BENCH_AGAINST the test binary of other code (go test -c) that takes
// its turns too.
func TestSigningTime(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	times := 800
	if text := os.Getenv("ROGITO_BENCH_SIGNATURES"); text != "" {
		if _, err := fmt.Sscan(text, &times); err != nil {
			t.Fatal(err)
		}
	}
	chosen := func(name string, all ...string) []string {
		if text := os.Getenv(name); text != "" {
			return strings.Fields(text)
		}
		return all
	}
	engines, keys := chosen("ROGITO_BENCH_ENGINES", "sqlite", "postgres"), chosen("ROGITO_BENCH_KEYS", "RSA-2048", "P-256")
	pdf := hundredKB()
	var all []*timed
	alone := map[string]*spent{"RSA-2048": {}, "P-256": {}}
	for _, engine := range engines {
		for _, bin := range []string{os.Args[0], os.Getenv("ROGITO_BENCH_AGAINST")} {
			if bin == "" {
				continue
			}
			name := engine
			if bin != os.Args[0] {
				name += ", other code"
			}
			s := startMeasured(t, bin, engine, pdf)
			for _, key := range keys {
				all = append(all, &timed{server: s, engine: name, key: key, parts: map[string]spent{}})
			}
		}
	}
	const turns = 10
	for range turns {
		for key, sum := range alone {
			sum.add(signAlone(t, key, pdf))
		}
		for _, m := range all {
			m.turn(t, times/turns)
		}
	}
	for _, m := range all {
		m.attribute(t)
	}
	printTimes(all, alone)
}

// spent is processor time of a number of signatures.
type spent struct {
	n            int
	user, system time.Duration
}

func (s *spent) add(o spent) {
	s.n, s.user, s.system = s.n+o.n, s.user+o.user, s.system+o.system
}

// each is milliseconds of one signature.
func (s spent) each() (user, system float64) {
	n := float64(max(s.n, 1)) / 1000
	return s.user.Seconds() / n, s.system.Seconds() / n
}

func (s spent) total() float64 { user, system := s.each(); return user + system }

// used is the processor time of this process so far.
func used() (user, system time.Duration) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// signAlone signs with the library for a while.
func signAlone(t *testing.T, name string, pdf []byte) (s spent) {
	key, err := keys.Generate(strings.ReplaceAll(name, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	user, system := used()
	for {
		for range 8 {
			draft, err := pades.Prepare(t.Context(), bytes.NewReader(pdf), ades.SignParams{Certificate: cert, Time: time.Now()}, pades.Options{})
			if err != nil {
				t.Fatal(err)
			}
			value, err := draft.Value(key)
			if err == nil {
				err = draft.Finish(io.Discard, value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		u, y := used()
		s.n, s.user, s.system = s.n+8, u-user, y-system
		if s.user+s.system > 100*time.Millisecond {
			return s
		}
	}
}

// measuredServer is a server in a process of its own that measures itself.
type measuredServer struct {
	data, addr string
	in         io.Writer
	out        *bufio.Scanner
	requests   map[string][]byte // by key
}

func startMeasured(t *testing.T, bin, engine string, pdf []byte) *measuredServer {
	s := &measuredServer{data: t.TempDir(), requests: map[string][]byte{}}
	cmd := exec.Command(bin, "-test.run=^TestMeasuredServer$", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), "ROGITO_BENCH_DATA="+s.data, "GOGC=400") // as rogito serve has it
	if engine == "postgres" {
		cmd.Env = append(cmd.Env, "ROGITO_BENCH_DATABASE="+storetest.Postgres(t))
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	s.in, s.out = in, bufio.NewScanner(out)
	s.addr = strings.TrimPrefix(s.say(t, ""), "http://")
	box := server.ReadSandbox(s.data)
	for key, kind := range map[string]string{"RSA-2048": "automatic", "P-256": "eseal"} {
		c := box.Certificates[kind]
		body, err := json.Marshal(m{"inputDocuments": b64(pdf), "certificateUsername": c.Username, "certificatePassword": c.Password})
		if err != nil {
			t.Fatal(err)
		}
		s.requests[key] = fmt.Appendf(nil, "POST /EU-QES_%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			kind, box.Token, len(body), body)
	}
	return s
}

// say tells the server to begin or to end a measurement, and returns what it
// answers.
func (s *measuredServer) say(t *testing.T, word string) string {
	if word != "" {
		fmt.Fprintln(s.in, word)
	}
	for s.out.Scan() {
		if text, ok := strings.CutPrefix(s.out.Text(), "measured: "); ok {
			return text
		}
	}
	t.Fatalf("the server ended: %v", s.out.Err())
	return ""
}

// TestMeasuredServer is the process of a measuredServer.
func TestMeasuredServer(t *testing.T) {
	cfg := testDefaults()
	cfg.Listen, cfg.Data, cfg.Database, cfg.Limits.Reserve = "127.0.0.1:0", os.Getenv("ROGITO_BENCH_DATA"), os.Getenv("ROGITO_BENCH_DATABASE"), -1
	if cfg.Data == "" {
		t.Skip("a part of TestSigningTime")
	}
	log, err := os.Create(filepath.Join(cfg.Data, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, server.Streams{Out: io.Discard, Err: log, Ready: func(u string) { fmt.Println("measured:", u) }})
	}()
	defer func() { stop(); <-ended }()
	var user, system time.Duration
	var profile *os.File
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word, path, _ := strings.Cut(in.Text(), " ")
		switch word {
		case "begin":
			if profile, err = os.Create(path); err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			user, system = used()
			if err := pprof.StartCPUProfile(profile); err != nil {
				t.Fatal(err)
			}
			fmt.Println("measured: begun")
		case "end":
			u, s := used()
			pprof.StopCPUProfile()
			profile.Close()
			fmt.Println("measured:", int64(u-user), int64(s-system))
		}
	}
}

// timed is what one engine with one key takes.
type timed struct {
	server      *measuredServer
	engine, key string
	spent
	profiles []string
	parts    map[string]spent
}

// turn makes some more signatures.
func (m *timed) turn(t *testing.T, times int) {
	request := m.server.requests[m.key]
	send(t, m.server.addr, request, `"state":"DONE"`, 8) // the key is open
	path := filepath.Join(t.TempDir(), "profile")
	m.server.say(t, "begin "+path)
	send(t, m.server.addr, request, `"state":"DONE"`, times)
	now := spent{n: times}
	if _, err := fmt.Sscan(m.server.say(t, "end"), &now.user, &now.system); err != nil {
		t.Fatal(err)
	}
	m.add(now)
	m.profiles = append(m.profiles, path)
}

// attribute finds out by the profiles what the time was taken for. With
// ROGITO_BENCH_PROFILES they are kept, as one, in that folder.
func (m *timed) attribute(t *testing.T) {
	pprof := func(args ...string) []byte {
		out, err := exec.Command("go", append(append([]string{"tool", "pprof"}, args...), m.profiles...)...).Output()
		if err != nil {
			t.Fatalf("go tool pprof: %v", err)
		}
		return out
	}
	if dir := os.Getenv("ROGITO_BENCH_PROFILES"); dir != "" {
		pprof("-proto", "-output", filepath.Join(dir, m.engine+"-"+m.key+".pprof"))
	}
	for _, s := range stacksOf(pprof("-traces", "-unit=us")) {
		part, system := s.part()
		p := m.parts[part]
		if system {
			p.system += s.time
		} else {
			p.user += s.time
		}
		p.n = m.n
		m.parts[part] = p
	}
}

// seen is a stack that was seen, innermost function first, and for how long.
type seen struct {
	time  time.Duration
	stack []string
}

// stacksOf reads what pprof -traces prints: stacks between dashes, the time
// before the first function of each.
func stacksOf(out []byte) (all []seen) {
	for block := range strings.SplitSeq(string(out), "-----------+") {
		var s seen
		for i, line := range strings.Split(block, "\n") {
			fields := strings.Fields(line)
			switch {
			case i == 0 || len(fields) == 0: // the rest of the dashes
			case len(s.stack) == 0 && len(fields) > 1 && strings.HasSuffix(fields[0], "us"):
				var us float64
				_, _ = fmt.Sscan(fields[0], &us)
				s.time = time.Duration(us * float64(time.Microsecond))
				s.stack = append(s.stack, fields[1])
			case len(s.stack) > 0:
				s.stack = append(s.stack, fields[0])
			}
		}
		if len(s.stack) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// timeParts are what time is taken for, by functions that stand on the stack: the
// first that fits. Digests are those of documents.
var timeParts = []struct {
	name string
	of   []string
}{
	{"key", []string{"rogito.(*Draft).Value"}},
	{"audit", []string{"server/internal/audit."}},
	{"credentials and certificate", []string{"signing.(*Service).authorize", "account.(*Service).Authenticate", "api.(*API).admit", "account.(*Gate)"}},
	{"database", []string{"server/internal/store."}},
	{"hashing", []string{"/sha256.", "/md5."}},
	{"read-back", []string{"rogito.(*Draft).check"}},
	{"PAdES", []string{"rogito.SignWith", "/pades."}},
	{"blobs", []string{"server/internal/blob."}},
	{"body", []string{"server/internal/upload.", "net/http.(*body)", "net/http.readRequest", "net/http.(*connReader)", "signatures.Parse", "signing.Parse", "api.readInput"}},
	{"reply", []string{"api.writeReply", "api.(*API).reply", "net/http.(*response)", "server/internal/logging.", "log/slog."}},
	{"collector", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcAssistAlloc", "runtime.gcStart"}},
	{"rest of signing", []string{"server/internal/signing."}},
	{"HTTP", []string{"net/http."}},
	{"scheduler", []string{"runtime.mcall", "runtime.schedule", "runtime.mstart", "runtime.systemstack", "runtime._System", "runtime.morestack"}},
}

// part says what a sample is part of, and whether the system was at work.
func (s seen) part() (name string, system bool) {
	for _, f := range []string{"Syscall", "syscall", "runtime.futex", "runtime.epollwait", "runtime.madvise", "runtime.usleep", "runtime.write1", "runtime.tgkill"} {
		system = system || strings.Contains(s.stack[0], f)
	}
	for _, p := range timeParts {
		for _, f := range p.of {
			if slices.ContainsFunc(s.stack, func(frame string) bool { return strings.Contains(frame, f) }) {
				return p.name, system
			}
		}
	}
	return "other", system
}

// printTimes prints the table: milliseconds of the server's own time and, behind
// a plus, of the system's.
func printTimes(all []*timed, alone map[string]*spent) {
	var head, line strings.Builder
	for _, m := range all {
		fmt.Fprintf(&head, " | %s, %s", m.engine, m.key)
		line.WriteString("|---")
	}
	fmt.Printf("account: | what%s |\naccount: |---%s|\n", head.String(), line.String())
	row := func(name string, cell func(*timed) string) {
		fmt.Printf("account: | %s", name)
		for _, m := range all {
			fmt.Printf(" | %s", cell(m))
		}
		fmt.Println(" |")
	}
	names := map[string]bool{}
	for _, m := range all {
		for name := range m.parts {
			names[name] = true
		}
	}
	order := slices.Sorted(maps.Keys(names))
	slices.SortStableFunc(order, func(a, b string) int {
		at := func(name string) int {
			for i, p := range timeParts {
				if p.name == name {
					return i
				}
			}
			return len(timeParts)
		}
		return at(a) - at(b)
	})
	for _, name := range order {
		row(name, func(m *timed) string {
			user, system := m.parts[name].each()
			return fmt.Sprintf("%.2f + %.2f", user, system)
		})
	}
	row("all, by getrusage", func(m *timed) string {
		user, system := m.each()
		return fmt.Sprintf("**%.2f + %.2f**", user, system)
	})
	row("library alone", func(m *timed) string { return fmt.Sprintf("%.2f", alone[m.key].total()) })
	row("beyond the library", func(m *timed) string { return fmt.Sprintf("**%.2f**", m.total()-alone[m.key].total()) })
	row("a second and core", func(m *timed) string { return fmt.Sprintf("%.0f", 1000/m.total()) })
	row("of the library's rate", func(m *timed) string { return fmt.Sprintf("%.2f", alone[m.key].total()/m.total()) })
}
