package main

import (
	"bufio"
	"io"
	"os/exec"
	"runtime"
	"time"

	"rogito.dev/rogito/internal/yardstick"
)

// Lengths of the turns of another program and of each work of ours beside it.
const (
	theirTurn = 300 * time.Millisecond
	ourTurn   = 25 * time.Millisecond // of processor
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
		return nil // it has ended, which its output will tell
	}
	defer resume(cmd)
	for i, w := range works {
		n := 0
		start := yardstick.Processor()
		spent := time.Duration(0)
		for spent < ourTurn {
			for range 4 {
				if err := w.once(); err != nil {
					return err
				}
			}
			n += 4
			spent = yardstick.Processor() - start
		}
		tallies[i] = tally{tallies[i].n + n, tallies[i].spent + spent}
	}
	return nil
}

func readLines(r io.Reader, lines chan<- string) {
	defer close(lines)
	s := bufio.NewScanner(r)
	for s.Scan() {
		lines <- s.Text()
	}
}
