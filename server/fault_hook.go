//go:build faults

package server

import (
	"os"
	"strings"
	"sync"
)

// faultHook, for tests of what a crash leaves behind, ends the process at a
// named point of signing: ROGITO_TEST_CRASH_AT=signed. ROGITO_TEST_PANIC_AT
// panics there instead, always for the record that came first. It is in no
// binary that was built without the tag.
func faultHook() func(point, record string) {
	crash, panicAt := strings.TrimSpace(os.Getenv("ROGITO_TEST_CRASH_AT")), strings.TrimSpace(os.Getenv("ROGITO_TEST_PANIC_AT"))
	if crash == "" && panicAt == "" {
		return nil
	}
	var once sync.Once
	var poison string
	return func(point, record string) {
		switch point {
		case crash:
			os.Exit(137)
		case panicAt:
			once.Do(func() { poison = record })
			if record == poison {
				panic("a test asked for it")
			}
		}
	}
}
