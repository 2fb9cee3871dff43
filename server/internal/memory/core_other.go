//go:build !linux

package memory

import "log/slog"

// NoCoreDumps is for the operator to see to where this is not Linux.
func NoCoreDumps(*slog.Logger) {}
