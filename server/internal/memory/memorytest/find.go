//go:build linux

// Package memorytest looks for secrets in the memory of a process.
package memorytest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Find searches what a process may write to for secrets; it returns how
// often each was found.
func Find(t *testing.T, pid int, secrets map[string][]byte) map[string]int {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("SKIPPED: memory of other processes cannot be read here: %v", err)
	}
	defer mem.Close()
	found, read := map[string]int{}, 0
	for sc := bufio.NewScanner(maps); sc.Scan(); {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(sc.Text(), "%x-%x %s", &from, &to, &mode); err != nil || !strings.HasPrefix(mode, "rw") {
			continue
		}
		buf := make([]byte, 1<<20+512)
		for at := from; at < to; at += 1 << 20 {
			n, _ := mem.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			read += n
			for name, secret := range secrets {
				found[name] += bytes.Count(buf[:n], secret)
			}
		}
	}
	if read < 1<<20 {
		t.Fatalf("only %d bytes were read", read)
	}
	return found
}
