package publication

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest"
)

// TestBenchTable prints the figures of the real-estate quotations, each beside a
// yardstick in the same run: what `make bench` shows. It needs the official files
// and ROGITO_BENCH=1, and leaves out what a tool is missing for.
func TestBenchTable(t *testing.T) {
	if addr := os.Getenv("ROGITO_BENCH_BARE"); addr != "" {
		bare(addr)
	}
	if path := os.Getenv("ROGITO_BENCH_LOAD"); path != "" {
		reportMemory(t, path)
		return
	}
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("set ROGITO_BENCH=1 to measure")
	}
	b := &bench{dir: official(t), work: t.TempDir(), binary: servertest.Binary(t)}
	defer servertest.Clean()
	b.imports(t)
	b.index(t)
	b.lookups(t)
	b.http(t)
	b.postgis(t)
	fmt.Println()
	for _, row := range b.rows {
		fmt.Printf("%-46s %s\n", row[0], row[1])
	}
}

type bench struct {
	dir, work, binary string
	ix                *omi.Index
	rows              [][2]string
}

func (b *bench) row(name, format string, args ...any) {
	b.rows = append(b.rows, [2]string{name, fmt.Sprintf(format, args...)})
}

func official(t *testing.T) string {
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "omi")); err != nil {
		t.Skip("SKIPPED: the official files are not there; set ROGITO_SHARED to their folder")
	}
	return filepath.Join(dir, "omi")
}

// imports measures the national import beside unpacking the same files.
func (b *bench) imports(t *testing.T) {
	archives, _ := filepath.Glob(filepath.Join(b.dir, "kmz-2018-2", "*.kmz"))
	archives = append(archives, filepath.Join(b.dir, "csv", "2018-2.zip"))
	// In processor time: that of a clock depends on who else computes.
	var unzip, took time.Duration
	spent := func(c *exec.Cmd) time.Duration { return c.ProcessState.UserTime() + c.ProcessState.SystemTime() }
	if _, err := exec.LookPath("unzip"); err == nil {
		for _, a := range archives {
			c := exec.Command("unzip", "-p", a)
			if err := c.Run(); err != nil {
				t.Fatal(err)
			}
			unzip += spent(c)
		}
	}
	start := time.Now()
	c := exec.Command(b.binary, "omi", "import", "--data", b.work, filepath.Join(b.dir, "csv", "2018-2.zip"), filepath.Join(b.dir, "kmz-2018-2"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	took = spent(c)
	b.row("import of all Italy, 2018/2", "%.1f s of a processor (%.1f s by the clock, on %d), peak memory %d MB", took.Seconds(), time.Since(start).Seconds(), runtime.NumCPU(), peakMB(c))
	if unzip > 0 {
		b.row("  unzip -p of the same files", "%.1f s of a processor: the import takes %.2f of it (goal 3)", unzip.Seconds(), took.Seconds()/unzip.Seconds())
	}
}

func (b *bench) index(t *testing.T) {
	lib, err := omi.OpenLibrary(filepath.Join(b.work, "omi"))
	if err != nil {
		t.Fatal(err)
	}
	b.ix = lib.Current().Active()
	start := time.Now()
	if _, err := omi.OpenIndex(lib.Path(b.ix)); err != nil {
		t.Fatal(err)
	}
	b.row("index file", "%.1f MB (goal 140), ready in %d ms (goal 1000)", float64(b.ix.Size())/1e6, time.Since(start).Milliseconds())
	c := exec.Command(os.Args[0], "-test.run", "^TestBenchTable$", "-test.v")
	c.Env = append(os.Environ(), "ROGITO_BENCH_LOAD="+lib.Path(b.ix))
	out, err := c.CombinedOutput()
	m := regexp.MustCompile(`memory (\d+) kB`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("load: %v\n%s", err, out)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	b.row("memory of a loaded semester, all zones asked", "%.1f MB (goal 200)", float64(kb)/1000)
}

// reportMemory tells what a loaded index adds to a process once every zone was
// asked for.
func reportMemory(t *testing.T, path string) {
	before := residentKB(t)
	ix, err := omi.OpenIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	var buf []byte
	for i := range ix.Municipalities() {
		m, _ := ix.Municipality(i)
		zones, _ := ix.ZonesOf(m.CadastralCode)
		for _, z := range zones {
			buf = omi.Answer{Zone: z}.AppendJSON(buf[:0], omi.FullGeometry)
		}
	}
	t.Logf("memory %d kB", residentKB(t)-before)
	runtime.KeepAlive(ix)
}

func residentKB(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc")
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(b)
	kb, _ := strconv.Atoi(string(m[1]))
	return kb
}

func (b *bench) lookups(*testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, 300_000)
	start := time.Now()
	for i := range took {
		lat, lng := 36.6+rng.Float64()*10.5, 6.6+rng.Float64()*12
		at := time.Now()
		b.ix.Lookup(lat, lng)
		took[i] = time.Since(at)
	}
	rate := float64(len(took)) / time.Since(start).Seconds()
	slices.Sort(took)
	b.row("lookups in process, random over Italy", "%.0f/s on one processor, p50 %.2f µs (goal 2), p99 %.2f µs (goal 15)",
		rate, micros(took[len(took)/2]), micros(took[len(took)*99/100]))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// inside are places in zones, with the mean length of the answers to them.
func (b *bench) inside(n int) (places [][2]float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for len(places) < n {
		p := [2]float64{36.6 + rng.Float64()*10.5, 6.6 + rng.Float64()*12}
		if _, ok := b.ix.Lookup(p[0], p[1]); ok {
			places = append(places, p)
		}
	}
	return places
}

// http measures the whole service beside a handler that writes a constant of the
// same size: the same client and connections, in turns.
func (b *bench) http(t *testing.T) {
	server, token := b.serve(t)
	b.beside(t, server, token, "an authenticated trivial call", []string{"/IT-omi/publications"})
	places := b.inside(1000)
	for _, geometry := range []string{"none", "full"} {
		paths := make([]string, len(places))
		for i, p := range places {
			paths[i] = fmt.Sprintf("/IT-omi?latitude=%f&longitude=%f&geometry=%s", p[0], p[1], geometry)
		}
		b.beside(t, server, token, "geometry="+geometry, paths)
	}
}

// beside takes the median of the rounds' ratios: what else the machine does in a
// round befalls both. The processor time of a request says the same of a machine
// that is never quiet.
func (b *bench) beside(t *testing.T, server process, token, name string, paths []string) {
	size := 0
	for _, p := range paths {
		size += answerSize(t, server.base+p, token)
	}
	size /= len(paths)
	yard := b.bareServer(t, size)
	var ours, theirs, ratios, ourTime, theirTime, timeRatios []float64
	for range 7 {
		y, yt := load(t, b.work, yard, token, paths)
		o, ot := load(t, b.work, server, token, paths)
		ours, theirs, ratios = append(ours, o), append(theirs, y), append(ratios, o/y)
		ourTime, theirTime, timeRatios = append(ourTime, ot), append(theirTime, yt), append(timeRatios, yt/ot)
	}
	b.row("HTTP, "+name, "%.0f/s, %.1f µs of processor; bare handler, %d bytes: %.0f/s, %.1f µs; ratio %.2f (goal 0.55), by processor time %.2f",
		median(ours), median(ourTime), size, median(theirs), median(theirTime), median(ratios), median(timeRatios))
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func answerSize(t *testing.T, url, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, res.StatusCode, err)
	}
	return int(n)
}

// process is a server under load.
type process struct {
	base string
	pid  int
}

// seconds is the processor time it has used; 0 where that is not to be had.
func (p process) seconds() float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100
}

// serve starts the service on the imported data and tells its address and a token.
func (b *bench) serve(t *testing.T) (p process, token string) {
	addr := freeAddress(t)
	c := exec.Command(b.binary, "serve", "--listen", addr, "--data", b.work)
	c.Env = append(os.Environ(), "ROGITO_TRUST_LISTS=false")
	log, err := os.Create(filepath.Join(b.work, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = log, log
	start(t, c)
	var sandbox struct{ Token string }
	await.Until(t, "the server", func() bool {
		f, err := os.ReadFile(filepath.Join(b.work, "sandbox.json"))
		if err != nil || json.Unmarshal(f, &sandbox) != nil {
			return false
		}
		res, err := http.Get("http://" + addr + "/healthz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return process{"http://" + addr, c.Process.Pid}, sandbox.Token
}

func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// bareServer starts the yardstick in a process of its own.
func (b *bench) bareServer(t *testing.T, size int) process {
	addr := freeAddress(t)
	c := exec.Command(os.Args[0], "-test.run", "^TestBenchTable$")
	c.Env = append(os.Environ(), fmt.Sprintf("ROGITO_BENCH_BARE=%s/%d", addr, size))
	start(t, c)
	await.Until(t, "the bare server", func() bool {
		res, err := http.Get("http://" + addr)
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	return process{"http://" + addr, c.Process.Pid}
}

// bare serves a constant; it never returns.
func bare(spec string) {
	addr, size, _ := strings.Cut(spec, "/")
	n, _ := strconv.Atoi(size)
	body := []byte(`{"data":"` + strings.Repeat("x", max(0, n-11)) + `"}`)
	panic(http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})))
}

// load asks for the paths over and over for two seconds and tells the rate, and
// the microseconds of processor that each took the server: by wrk, or where it is
// not installed by a loop of our own.
func load(t *testing.T, dir string, p process, token string, paths []string) (rate, cost float64) {
	t.Helper()
	before := p.seconds()
	if _, err := exec.LookPath("wrk"); err != nil {
		rate = loadLoop(t, p.base, token, paths)
	} else {
		rate = loadWrk(t, dir, p.base, token, paths)
	}
	return rate, (p.seconds() - before) / (2 * rate) * 1e6
}

func loadWrk(t *testing.T, dir, base, token string, paths []string) float64 {
	t.Helper()
	var script bytes.Buffer
	fmt.Fprintf(&script, "local r = {}\nwrk.headers['Authorization'] = 'Bearer %s'\n", token)
	fmt.Fprintf(&script, "local p = {'%s'}\ninit = function() for i, v in ipairs(p) do r[i] = wrk.format('GET', v) end end\n", strings.Join(paths, "','"))
	script.WriteString("local i = 0\nrequest = function() i = i % #r + 1 return r[i] end\n")
	path := filepath.Join(dir, "load.lua")
	if err := os.WriteFile(path, script.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("wrk", "-t1", "-c32", "-d2s", "-s", path, base).CombinedOutput()
	m := regexp.MustCompile(`Requests/sec:\s+([\d.]+)`).FindSubmatch(out)
	if err != nil || m == nil || bytes.Contains(out, []byte("Non-2xx")) {
		t.Fatalf("wrk: %v\n%s", err, out)
	}
	rate, _ := strconv.ParseFloat(string(m[1]), 64)
	return rate
}

func loadLoop(t *testing.T, base, token string, paths []string) float64 {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}} // as wrk asks
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	var n atomic.Int64
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			for i := w; ctx.Err() == nil; i++ {
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+paths[i%len(paths)], nil)
				r.Header.Set("Authorization", "Bearer "+token)
				res, err := client.Do(r)
				if err != nil {
					continue
				}
				for err == nil {
					_, err = res.Body.Read(buf)
				}
				res.Body.Close()
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / 2
}

// postgis asks the same of PostGIS on the same polygons.
func (b *bench) postgis(t *testing.T) {
	t.Run("postgis", func(t *testing.T) {
		db, err := pgx.Connect(t.Context(), storetest.EmptyPostgres(t))
		if err != nil {
			t.Skip(err)
		}
		defer db.Close(context.Background())
		if _, err := db.Exec(t.Context(), `create extension postgis`); err != nil {
			t.Skipf("SKIPPED: no PostGIS: %v", err)
		}
		b.fill(t, db)
		took := make([]time.Duration, 0, 5000)
		begin := time.Now()
		for _, p := range b.inside(cap(took)) {
			start := time.Now()
			var zone string
			err := db.QueryRow(t.Context(), `select zone from zones where ST_Covers(ground, ST_SetSRID(ST_MakePoint($1, $2), 4326)) order by area, zone limit 1`, p[1], p[0]).Scan(&zone)
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		rate := float64(len(took)) / time.Since(begin).Seconds()
		slices.Sort(took)
		b.row("PostGIS on the same polygons, one client", "%.0f/s, p50 %.0f µs, p99 %.0f µs", rate, micros(took[len(took)/2]), micros(took[len(took)*99/100]))
	})
}

// fill loads all zones with a perimeter into PostGIS.
func (b *bench) fill(t *testing.T, db *pgx.Conn) {
	t.Helper()
	ctx := t.Context()
	must := func(sql string) {
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	must(`create unlogged table zones (zone text, area double precision, ground geometry)`)
	batch := &pgx.Batch{}
	flush := func() {
		if err := db.SendBatch(ctx, batch).Close(); err != nil {
			t.Fatal(err)
		}
		batch = &pgx.Batch{}
	}
	for i := range b.ix.Municipalities() {
		m, _ := b.ix.Municipality(i)
		zones, _ := b.ix.ZonesOf(m.CadastralCode)
		for _, z := range zones {
			if z.Polygons() == 0 {
				continue
			}
			var feature struct{ Geometry json.RawMessage }
			if err := json.Unmarshal(omi.Answer{Zone: z}.AppendGeoJSON(nil, omi.FullGeometry), &feature); err != nil {
				t.Fatal(err)
			}
			batch.Queue(`insert into zones values ($1, $2, ST_SetSRID(ST_GeomFromGeoJSON($3), 4326))`, m.CadastralCode+"/"+z.Code(), z.Area(), string(feature.Geometry))
		}
		if batch.Len() >= 300 {
			flush()
		}
	}
	flush()
	must(`create index on zones using gist (ground)`)
	must(`analyze zones`)
}
