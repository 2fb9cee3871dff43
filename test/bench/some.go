package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
)

// some measures the works of the library whose names match a pattern, and
// writes a profile of them where one is asked for: the way to look at one figure.
func (b *bench) some(pattern, profile string) error {
	switch pattern {
	case "HTTP":
		b.overHTTP()
		fmt.Print(b.out.String())
		return nil
	case "DSS":
		b.strangers()
		b.strangersTables()
		fmt.Print(b.out.String())
		return nil
	}
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	s, err := newStage()
	if err != nil {
		return err
	}
	verifying, err := s.verifying(b.docs)
	if err != nil {
		return err
	}
	works := slices.DeleteFunc(append(s.signing(b.docs), verifying...), func(w work) bool { return !wanted.MatchString(w.name) })
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	figures, err := measure(b.budget, works...)
	for _, w := range works {
		f := figures[w.name]
		fmt.Printf("%-24s %8.0f/s %8.1f µs %9.0f bytes\n", w.name, f.rate, 1e6/f.rate, f.bytes)
	}
	return err
}
