package main

import (
	"bufio"
	"io"
	"os/exec"
	"runtime"
	"time"

	"rogito.dev/rogito/internal/yardstick"
)

// Lengths of the turns of another program, and, of processor, of each work of ours beside it. What
// comes first after another program's turn takes up to a third longer and is not counted.
const (
	theirTurn = 500 * time.Millisecond
	warming   = 15 * time.Millisecond
	ourTurn   = 60 * time.Millisecond
)

// tally is what a work did in its turns.
type tally struct {
	n     int
	spent time.Duration
}

// inTurns runs a program that prints a line when it has measured something, and stops it again
// and again to do works of our own: so the speed of the machine, which changes within
// minutes, is the same for both. With each line goes what each work did a second of processor
// time since the line before. The works have one core, as the program has.
func inTurns(cmd *exec.Cmd, works []work, line func(text string, rates map[string]float64)) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	alone(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := make(chan string)
	go readLines(out, lines)
	tallies := make([]tally, len(works))
	for {
		select {
		case text, more := <-lines:
			if !more {
				return cmd.Wait()
			}
			rates := map[string]float64{}
			for i, t := range tallies {
				if t.n > 0 {
					rates[works[i].name] = float64(t.n) / t.spent.Seconds()
				}
			}
			clear(tallies)
			line(text, rates)
		case <-time.After(theirTurn):
			if err := ourTurns(cmd, works, tallies); err != nil {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				return err
			}
		}
	}
}

// ourTurns stops the program for one turn of each work.
func ourTurns(cmd *exec.Cmd, works []work, tallies []tally) error {
	if err := pause(cmd); err != nil {
		return nil // it has ended, as its output will show
	}
	defer resume(cmd)
	for i, w := range works {
		if _, err := again(w, warming); err != nil {
			return err
		}
		t, err := again(w, ourTurn)
		if err != nil {
			return err
		}
		tallies[i] = tally{tallies[i].n + t.n, tallies[i].spent + t.spent}
	}
	return nil
}

// again does a work until it has taken so much of the processor.
func again(w work, long time.Duration) (t tally, err error) {
	for start := yardstick.Processor(); t.spent < long; t.spent = yardstick.Processor() - start {
		for range 4 {
			if err := w.once(); err != nil {
				return t, err
			}
		}
		t.n += 4
	}
	return t, nil
}

func readLines(r io.Reader, lines chan<- string) {
	defer close(lines)
	s := bufio.NewScanner(r)
	for s.Scan() {
		lines <- s.Text()
	}
}
