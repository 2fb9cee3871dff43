package server

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/network"
)

// What tests outside of this package see of its inside.

func (s *Server) IsSandbox() bool { return s.sandboxed }

func (c *Config) NetworkConfig() *network.Config { return c.network() }

// Exports are the audit log's, with their times; ExportNow writes what came since the last.
func (s *Server) Exports(ctx context.Context) (map[string]time.Time, error) {
	return s.exports().list(ctx)
}

func (s *Server) ExportNow(ctx context.Context) error { return s.exportTo(ctx, s.exports()) }

var (
	OwnVariables = ownVariables
	Variable     = variable
)
