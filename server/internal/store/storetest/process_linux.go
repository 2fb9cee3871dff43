package storetest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// giveAway makes dir another user's where this process is root, and returns
// what makes a command run as that user.
func giveAway(dir string) (func(*exec.Cmd), error) {
	if os.Getuid() != 0 {
		return func(*exec.Cmd) {}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return func(c *exec.Cmd) {
			c.Dir = dir
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}, nil
	}
	return nil, fmt.Errorf("neither postgres nor nobody exists")
}

// startTied starts a command that dies with this process, and closes gone when
// it has ended. Linux ties a child to the thread that made it, so that thread
// is kept.
func startTied(c *exec.Cmd, gone chan struct{}) error {
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(gone)
		err := c.Start()
		started <- err
		if err == nil {
			_ = c.Wait()
		}
	}()
	return <-started
}
