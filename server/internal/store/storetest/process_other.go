//go:build !linux

package storetest

import "os/exec"

func giveAway(string) (func(*exec.Cmd), error) { return func(*exec.Cmd) {}, nil }

func startTied(c *exec.Cmd, gone chan struct{}) error {
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait(); close(gone) }()
	return nil
}
