package main

import (
	"runtime"
	"runtime/debug"

	"rogito.dev/rogito/internal/version"
)

func init() {
	add(groupCare, "version", "which build this is", func() any { return &versionCommand{} })
}

type versionCommand struct {
	JSON bool `help:"print JSON"`
}

// Run prints the version and what it was built from.
func (c *versionCommand) Run(s *session) error {
	build := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
		Revision string `json:"revision,omitempty"`
	}{version.Number, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, ""}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" {
				build.Revision = kv.Value
			}
		}
	}
	if c.JSON {
		return printJSON(s, build)
	}
	s.printf("rogito %s (%s, %s", build.Version, build.Go, build.Platform)
	if len(build.Revision) >= 12 {
		s.printf(", %s", build.Revision[:12])
	}
	s.printf(")\n")
	return nil
}
