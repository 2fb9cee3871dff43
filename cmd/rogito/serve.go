//go:build !files

package main

import (
	"os"
	"runtime/debug"
	"strings"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupServe, "serve", "run the server", func() any { return &serveCommand{} })
	add(groupServe, "config", "print the configuration with what each key means", func() any { return &configCommand{} })
}

type serveCommand struct {
	dataFlags
	Listen       string   `placeholder:"ADDR" help:"address and port to listen on (default 127.0.0.1:8080)"`
	PublicURL    string   `name:"public-url" placeholder:"URL" help:"where clients reach the server"`
	Production   bool     `help:"make no sandbox, and refuse to start on sandbox material"`
	TLSCert      string   `name:"tls-cert" placeholder:"FILE" help:"certificate chain (PEM): speak TLS"`
	TLSKey       string   `name:"tls-key" placeholder:"FILE" help:"private key (PEM)"`
	ClientCA     string   `name:"client-ca" placeholder:"FILE" help:"authorities of client certificates (PEM)"`
	TrustedProxy []string `name:"trusted-proxy" placeholder:"CIDR" help:"network whose X-Forwarded-For is believed; repeatable"`
	AllowPrivate []string `name:"allow-private" placeholder:"HOST[:PORT]" help:"private host that may be fetched from and called back; repeatable"`
	Trust        []string `placeholder:"FILE" help:"further trusted certificates (PEM); repeatable"`
	NoNetwork    bool     `name:"no-network" help:"fetch nothing for validation"`
}

// Help is the page of the command.
func (c *serveCommand) Help() string {
	return example(`
Answers the HTTP API until it is told to end (SIGTERM, SIGINT), then lets
running requests end.

The first start in an empty installation makes a sandbox: master key, account,
token and test certificates, written to sandbox.json in the data folder. With
--production none of it is made: see "rogito help init".

Everything can also be set in a YAML file and in the environment: see
"rogito config". The reference of the API is at /docs.`,
		"rogito serve --listen 127.0.0.1:8080 --data ./data")
}

// Run serves.
func (c *serveCommand) Run(s *session) error {
	cfg, err := c.load(s, c.settings()...)
	if err != nil {
		return err
	}
	boundMemory(cfg.Limits.Memory)
	// Whatever makes a temporary file, makes it where the server looks after it.
	if err := os.Setenv("TMPDIR", server.Spool(cfg.Data)); err != nil {
		return err
	}
	return server.Run(s.ctx, cfg, server.Streams{Out: s.stdout, Err: s.stderr, Terminal: s.terminal, Program: os.Args[0]})
}

// boundMemory makes the collector work harder before the process grows beyond
// what its readings may hold together (two to three times what one may) and the
// rest needs. Without it there is as much garbage as live memory, and
// hostile documents made 685 MB of a server that held 250. Far below that bound it
// may come round seldom: a live heap of a few megabytes would be collected a
// thousand times a minute. GOMEMLIMIT and GOGC decide where they are set.
func boundMemory(document int64) {
	const rest, percent = 192 << 20, 400
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(rest + 2*document)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func (c *serveCommand) settings() []server.Setting {
	var set []server.Setting
	put := func(key, value string) {
		if value != "" {
			set = append(set, server.Setting{Key: key, Value: value})
		}
	}
	flag := func(key string, on bool) {
		if on {
			put(key, "true")
		}
	}
	put("listen", c.Listen)
	put("public_url", c.PublicURL)
	put("tls.cert", c.TLSCert)
	put("tls.key", c.TLSKey)
	put("tls.client_ca", c.ClientCA)
	put("trusted_proxies", strings.Join(c.TrustedProxy, ","))
	put("network.allow_private", strings.Join(c.AllowPrivate, ","))
	put("trust.anchors", strings.Join(c.Trust, ","))
	flag("production", c.Production)
	flag("network.offline", c.NoNetwork)
	return set
}

type configCommand struct {
	dataFlags
	Effective bool `help:"what a server started here would use, not the defaults"`
}

// Help is the page of the command.
func (c *configCommand) Help() string {
	return example("Prints every key with its meaning, as a YAML file to start from. Secrets are left out.",
		"rogito config > rogito.yaml", "rogito serve --config rogito.yaml")
}

// Run prints the configuration.
func (c *configCommand) Run(s *session) error {
	if !c.Effective {
		return server.Manual(s.stdout, server.Defaults())
	}
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	return server.Manual(s.stdout, cfg)
}
