package server

import (
	"os"
	"strings"
)

// faultHook, for tests of what a crash leaves behind, ends the process at a
// named point of signing: ROGITO_TEST_CRASH_AT=signed. Without the variable it
// does nothing.
func faultHook() func(point, record string) {
	at := os.Getenv("ROGITO_TEST_CRASH_AT")
	if at == "" {
		return nil
	}
	return func(point, record string) {
		if point == strings.TrimSpace(at) {
			os.Exit(137)
		}
	}
}
