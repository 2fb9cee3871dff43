//go:build !files

package main

import "rogito.dev/rogito/server"

func init() {
	elsewhere = ""
	explain = server.Explain // the errors of an installation keep their causes to themselves
	start = `
Start with "rogito serve": the first start in an empty folder makes a sandbox
with an account, a token and test certificates, and prints a curl to copy.
Commands that touch the data folder take --data DIR (default ./data, or
ROGITO_DATA) and work beside a running server.
`
}

// dataFlags are for commands that touch an installation: embed it.
type dataFlags struct {
	Config   string `placeholder:"FILE" env:"ROGITO_CONFIG" help:"configuration file (YAML); see: rogito config"`
	Data     string `placeholder:"DIR" help:"data folder (default ./data, or ROGITO_DATA)"`
	Database string `placeholder:"URL" help:"sqlite, or postgres://… (ROGITO_DATABASE)"`
	Blobs    string `placeholder:"PLACE" help:"folder, or s3://… (ROGITO_BLOBS)"`
}

// load reads the configuration with what the flags say on top.
func (f *dataFlags) load(s *session, more ...server.Setting) (server.Config, error) {
	var set []server.Setting
	for _, one := range []server.Setting{{Key: "data", Value: f.Data}, {Key: "database", Value: f.Database}, {Key: "blobs", Value: f.Blobs}} {
		if one.Value != "" {
			set = append(set, one)
		}
	}
	cfg, unknown, err := server.Load(f.Config, s.env, append(set, more...))
	for _, name := range unknown {
		s.notef("%s is not a key of the configuration: ignored", name)
	}
	return cfg, err
}

// ProvideServer opens the installation for a Run that takes a *server.Server;
// it is closed after the command.
func (f *dataFlags) ProvideServer(s *session) (*server.Server, error) {
	cfg, err := f.load(s)
	if err != nil {
		return nil, err
	}
	if cfg.Log.Level == "info" {
		cfg.Log.Level = "warn" // a command speaks when something is the matter
	}
	installation, err := server.Open(s.ctx, cfg)
	if err == nil {
		s.close = installation.Close
	}
	return installation, err
}
