// Package dialog talks to validators of others: programs that answer a line of JSON
// with a line of JSON.
package dialog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Program is one of them; its zero value does not run yet. Who shares one holds its lock
// from the question whether it runs to the answer.
type Program struct {
	sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start runs it. What it complains of is ours to read.
func (p *Program) Start(cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.in, p.out = cmd, in, bufio.NewReaderSize(out, 1<<20)
	return nil
}

// Runs says whether it was started.
func (p *Program) Runs() bool { return p.cmd != nil }

// Stop ends it, where it runs, and waits.
func (p *Program) Stop() {
	if p.cmd != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait()
	}
}

// Ask sends a request and returns the line of the answer.
func (p *Program) Ask(request any) ([]byte, error) {
	line, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	return p.Line()
}

// Line is the next that it says.
func (p *Program) Line() ([]byte, error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return line, nil
}
