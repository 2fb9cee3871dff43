package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// gotest runs the benchmarks of a package and returns their metrics by name
// and unit, the best of the rounds.
func (b *bench) gotest(pkg, pattern string, args ...string) map[string]float64 {
	say("go test -bench '%s' %s", pattern, pkg)
	cmd := exec.Command("go", append([]string{"test", "-run", "^$", "-bench", pattern, "-timeout", "10m", pkg}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s%s", out, stderr.Bytes())
		b.skip("%s of %s: %v", pattern, pkg, err)
	}
	best := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 { // the number of processors
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			key := name + " " + f[i+1]
			old, known := best[key]
			smaller := !strings.HasSuffix(f[i+1], "/s") && !strings.HasSuffix(f[i+1], "-s")
			if err == nil && (!known || smaller && v < old || !smaller && v > old) {
				best[key] = v
			}
		}
	}
	return best
}

// server measures what stands around the library.
func (b *bench) server() {
	http := b.gotest("./server", "^Benchmark(Bare|Authenticated|LookupNotFound)$", "-benchtime", "1s", "-count", "3")
	b.heading("HTTP, requests a second with the client on the same machine", "Rogito", "bare net/http")
	b.row(row{"authenticated trivial call", http["Authenticated req/s"], http["Bare req/s"], 0.6})
	b.row(row{"quotation lookup that finds nothing", http["LookupNotFound req/s"], http["Bare req/s"], 0})

	creates := b.gotest("./server/blackbox", "^BenchmarkDurableCreates$", "-benchtime", "1s")
	sign := b.gotest("./server/blackbox", "^BenchmarkSign$", "-benchtime", "2s")
	many := b.gotest("./server/blackbox", "^BenchmarkSign(Many|Large)$", "-benchtime", "1x")
	b.heading("Signing over HTTP with durable records, a second of the server's processor time", "server", "library alone")
	for _, engine := range []string{"sqlite", "postgres"} {
		// Beside the library in turns they stand in the account of time.
		b.atLeast("PAdES-B of 100 KB, RSA-2048, "+engine, "a second", sign["Sign/"+engine+"/RSA-2048 signed/cpu-s"], 0)
		b.atLeast("PAdES-B of 100 KB, P-256, "+engine, "a second", sign["Sign/"+engine+"/P-256 signed/cpu-s"], 0)
		b.row(row{"1,000 small PDFs in one request, " + engine, many["SignMany/"+engine+" signed/cpu-s"], b.rates["sign PAdES-B RSA"], 0})
		b.atMost("100 PDFs of 10 MB at once, "+engine+", peak memory", "MB", many["SignLarge/"+engine+" peak-MB"], 256)
		b.atLeast("PAdES-B of 100 KB, RSA-2048, "+engine+", by the clock, client included", "a second", sign["Sign/"+engine+"/RSA-2048 signed/s"], 0)
		b.atLeast("durable creates over HTTP, "+engine, "a second", creates["DurableCreates/"+engine+" creates/s"], 0)
	}
	if len(b.notes) > 0 {
		fmt.Fprintf(&b.out, "\nLeft out: %s.\n", strings.Join(b.notes, "; "))
		b.notes = nil
	}
	b.signing()
}

// quotations takes over the table of the real-estate quotations.
func (b *bench) quotations() {
	say("quotations")
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^TestBenchTable$", "./server/internal/publication")
	cmd.Env = append(os.Environ(), "ROGITO_BENCH=1")
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&b.out, "\n### Real-estate quotations\n\n")
	if err != nil || bytes.Contains(out, []byte("--- SKIP: TestBenchTable (")) { // without PostGIS only its row is left out
		say("SKIPPED: quotations: %v\n%s", err, out)
		fmt.Fprintf(&b.out, "Not measured: the official files are not there, or the measurement ended with an error.\n")
		return
	}
	fmt.Fprintf(&b.out, "| what | measured |\n|---|---|\n")
	const column = 46 // of the names in that table
	for line := range strings.Lines(string(out)) {
		name, rest := []rune(strings.TrimRight(line, "\n")), ""
		if len(name) > column && name[column] == ' ' {
			name, rest = name[:column], strings.TrimSpace(string(name[column:]))
		}
		if rest != "" && !strings.HasPrefix(string(name), " ") && !strings.HasPrefix(string(name), "=") {
			fmt.Fprintf(&b.out, "| %s | %s |\n", strings.TrimSpace(string(name)), rest)
		}
	}
}
