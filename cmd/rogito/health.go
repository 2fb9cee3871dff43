//go:build !files

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupCare, "health", "ask the running server how it is", func() any { return &healthCommand{} })
}

type healthCommand struct {
	dataFlags
	Live bool `help:"only whether the process answers, whatever it waits for"`
	JSON bool `help:"print JSON where nobody answers, too"`
}

// Help is the page of the command.
func (c *healthCommand) Help() string {
	return example(`
Asks the server that the configuration describes, on this machine, whether it is
ready (/readyz), and prints its answer. With --live it asks whether the process
runs (/healthz): whoever restarts a server because its database is away makes
things worse. Exits 0 if all is well, 1 otherwise. The container's HEALTHCHECK
is this command.`,
		"rogito health", "rogito health --live")
}

// healthTime is how long the server may take to answer.
const healthTime = 5 * time.Second

// Run asks.
func (c *healthCommand) Run(s *session) error {
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	path, good := "/readyz", "ready"
	if c.Live {
		path, good = "/healthz", "healthy"
	}
	ctx, cancel := context.WithTimeout(s.ctx, healthTime)
	defer cancel()
	url, client := server.OwnAddress(cfg)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		err = fmt.Errorf("the server does not answer: %w", err)
		if c.JSON {
			if err := json.NewEncoder(s.stdout).Encode(map[string]any{good: false, "error": err.Error()}); err != nil {
				return err
			}
		}
		return exit{code: 1, err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return exit{code: 1, err: err}
	}
	s.printf("%s\n", strings.TrimSpace(string(body)))
	if resp.StatusCode != http.StatusOK {
		return exit{code: 1}
	}
	return nil
}
