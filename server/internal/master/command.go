package master

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Limits of a command that prints the master key.
const (
	commandTime   = 30 * time.Second
	commandOutput = 256 // 64 digits and whatever blanks a client adds
)

// printed runs the command and reads the key that it prints. What it says besides
// goes nowhere: clients of vaults repeat tokens and keys in their errors.
func (c Config) printed() (k fileKey, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...) //nolint:gosec // the operator's own
	cmd.WaitDelay = time.Second                                     // for children that keep its output open
	var out bounded
	defer func() { clear(out.b[:]) }()
	cmd.Stdout = &out
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.over:
		return k, fmt.Errorf("master: master.command prints more than %d bytes: a master key is 64 hexadecimal digits", commandOutput)
	case ctx.Err() != nil:
		return k, fmt.Errorf("master: master.command did not end within %v", commandTime)
	case errors.As(err, &exit):
		return k, fmt.Errorf("master: master.command ended with %s: run it by hand, as the server's user, to see why", exit.ProcessState)
	case err != nil:
		return k, fmt.Errorf("master: master.command: %w", err)
	}
	if k, err = parseFileKey(string(out.b[:out.n])); err != nil {
		return k, errors.New("master: what master.command prints is no master key, which is 64 hexadecimal digits")
	}
	return k, nil
}

// bounded takes the output of a command as far as a key can be one.
type bounded struct {
	b    [commandOutput]byte
	n    int
	over bool
}

func (w *bounded) Write(p []byte) (int, error) {
	n := copy(w.b[w.n:], p)
	w.n += n
	if n < len(p) {
		w.over = true
		return n, errors.New("master: too much output")
	}
	return n, nil
}

// CheckCommand says why the command prints no key; nil also where there is none.
func (c Config) CheckCommand() error {
	if len(c.Command) == 0 {
		return nil
	}
	_, err := c.printed()
	return err
}
