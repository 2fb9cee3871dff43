package main

import (
	"runtime"
	"runtime/debug"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupCare, "version", "which build this is", func() any { return &versionCommand{} })
}

type versionCommand struct{}

// Run prints the version and what it was built from.
func (versionCommand) Run(s *session) error {
	s.printf("rogito %s (%s, %s/%s", server.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" && len(kv.Value) >= 12 {
				s.printf(", %s", kv.Value[:12])
			}
		}
	}
	s.printf(")\n")
	return nil
}
