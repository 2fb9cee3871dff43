// Command bench prints what Rogito does a second beside a yardstick that was
// measured in the same run, since rates of different machines, or of one
// machine at different times, cannot be compared.
//
//	go run ./test/bench [-seconds 2] [-strangers=false] [-server=false] [-write FILE]
//
// Rates of the library are per second of processor time on one core, its own and the yardstick's in
// turns, so that other work on the machine does not count. Validators that are not installed are
// left out, and the output says so.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	seconds := flag.Float64("seconds", 2, "processor seconds for each figure of the library")
	strangers := flag.Bool("strangers", true, "measure DSS and pyHanko too")
	server := flag.Bool("server", true, "measure the server and the quotations too")
	write := flag.String("write", "", "also put the tables between the marks of this file")
	only := flag.String("only", "", "measure only the works of the library whose names match this pattern (or HTTP, or DSS: DSS and pyHanko beside it), print their rates, and end")
	profile := flag.String("cpuprofile", "", "write a profile of the works of -only to this file")
	serve := flag.Int("bare", 0, "be the yardstick of HTTP at the address that follows: answer with so many bytes")
	flag.Parse()
	if *serve > 0 {
		return bare(flag.Arg(0), *serve)
	}

	begun := time.Now()
	docs, err := newDocuments()
	if err != nil {
		return err
	}
	defer os.RemoveAll(docs.dir)
	b := &bench{docs: docs, budget: time.Duration(*seconds * float64(time.Second)), rates: map[string]float64{}, pairs: map[string][]pair{}}
	if *only != "" {
		return b.some(*only, *profile)
	}
	if err := b.library(); err != nil {
		return err
	}
	b.libraryTables()
	if *strangers {
		b.strangers()
	}
	b.strangersTables()
	if *server {
		b.server()
		b.overHTTP()
		b.quotations()
	}
	text := fmt.Sprintf("%s, %d processors, %s, load %s at the start and %s at the end; %.0f seconds.\n%s",
		runtime.Version(), runtime.NumCPU(), begun.UTC().Format("2 January 2006, 15:04 UTC"), b.docs.load, load(),
		time.Since(begun).Seconds(), b.out.String())
	fmt.Print("\n", text)
	if *write != "" {
		return replace(*write, text)
	}
	return nil
}

// bench collects figures and the tables made of them.
type bench struct {
	docs   *documents
	budget time.Duration
	rates  map[string]float64 // by what was measured
	pairs  map[string][]pair  // by what was measured beside what
	notes  []string
	out    strings.Builder
}

// say reports progress on standard error.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

const (
	markBegin = "<!-- figures: begin -->\n"
	markEnd   = "<!-- figures: end -->\n"
)

// replace puts text between the marks of a file.
func replace(path, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), markBegin)
	_, after, ok2 := strings.Cut(rest, markEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks %q and %q", path, markBegin, markEnd)
	}
	return os.WriteFile(path, []byte(before+markBegin+"\n"+text+"\n"+markEnd+after), 0o644)
}
