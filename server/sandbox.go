package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"
)

// Sandbox is what the first start in an empty installation made, as
// sandbox.json in the data folder has it.
type Sandbox struct {
	BaseURL         string                        `json:"base_url"`
	Email           string                        `json:"email"`
	APIKey          string                        `json:"api_key"`
	Token           string                        `json:"token"`
	WebhookSecret   string                        `json:"webhook_secret"`
	RootCertificate string                        `json:"root_certificate,omitempty"`
	Certificates    map[string]SandboxCredentials `json:"certificates,omitempty"`
	Extra           []NamedCredentials            `json:"extra_certificates,omitempty"`
}

// SandboxCredentials are those of one certificate.
type SandboxCredentials struct {
	Username   string `json:"username"`
	Password   string `json:"password"`
	TOTPSecret string `json:"totpSecret,omitempty"`
}

// NamedCredentials are those of a configured test pair.
type NamedCredentials struct {
	Kind string `json:"kind"`
	SandboxCredentials
}

// SandboxFile is where the sandbox's secrets are written, for tests and
// people, readable by the owner only.
func SandboxFile(data string) string { return filepath.Join(data, "sandbox.json") }

// write puts the file in place whole.
func (b *Sandbox) write(data string) error {
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(data, "sandbox-*")
	if err != nil {
		return fmt.Errorf("write sandbox.json: %w", err)
	}
	defer os.Remove(tmp.Name())
	if _, err = tmp.Write(append(text, '\n')); err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), SandboxFile(data)) // CreateTemp made it 0600
	}
	if err != nil {
		return fmt.Errorf("write sandbox.json: %w", err)
	}
	return nil
}

// readSandbox reads what an earlier start wrote; nil if there is none.
func readSandbox(data string) *Sandbox {
	text, err := os.ReadFile(SandboxFile(data))
	if err != nil {
		return nil
	}
	var b Sandbox
	if json.Unmarshal(text, &b) != nil {
		return nil
	}
	return &b
}

// welcome is what a person sees when the server is up.
type welcome struct {
	URL     string
	File    string
	Sandbox *Sandbox
	New     bool
}

var welcomeText = template.Must(template.New("welcome").Parse(`
Rogito answers at {{.URL}}    (reference: {{.URL}}/docs)
{{- if .New}}

This is a sandbox: its signatures are for trying out and bind nobody.
Its account, keys and test certificates are in {{.File}}.
{{- end}}
{{- with .Sandbox}}

Try it:

  curl -H 'Authorization: Bearer {{.Token}}' {{$.URL}}/credit
{{- with .Certificates}}{{with .automatic}}

  curl -H 'Authorization: Bearer {{$.Sandbox.Token}}' -H 'Content-Type: application/json' {{$.URL}}/EU-QES_automatic -d '{
    "inputDocuments": ["'"$(base64 -w0 FILE.pdf)"'"],
    "certificateUsername": "{{.Username}}", "certificatePassword": "{{.Password}}", "title": "first"}'
{{- end}}{{end}}
{{- end}}

`))

// print shows the welcome; tokens are shown because this is a sandbox's.
func (w *welcome) print(out io.Writer) {
	if w == nil || out == nil {
		return
	}
	_ = welcomeText.Execute(out, w)
}

// firstStart makes the sandbox where there is none and none is forbidden.
func (s *Server) firstStart(ctx context.Context) (*welcome, error) {
	w := &welcome{URL: s.cfg.PublicURL, File: SandboxFile(s.cfg.Data)}
	made, err := s.sandbox(ctx)
	if err != nil {
		return nil, err
	}
	if made == nil {
		if !s.cfg.Production {
			w.Sandbox = readSandbox(s.cfg.Data)
		}
		return w, nil
	}
	w.New, w.Sandbox = true, made
	return w, made.write(s.cfg.Data)
}

// sandbox makes the sandbox's account and what belongs to it, or returns nil
// where the database has one already.
func (s *Server) sandbox(context.Context) (*Sandbox, error) { return nil, nil }
