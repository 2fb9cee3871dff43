//go:build !linux

package server

import "log/slog"

// noCoreDumps is for the operator to see to where this is not Linux.
func noCoreDumps(*slog.Logger) {}
