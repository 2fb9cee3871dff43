package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
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
	if err := atomicfile.WriteBytes(SandboxFile(data), 0o600, append(text, '\n')); err != nil {
		return fmt.Errorf("write sandbox.json: %w", err)
	}
	return nil
}

// ReadSandbox reads what an earlier start wrote; nil if there is none.
func ReadSandbox(data string) *Sandbox {
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
	Secrets bool // are shown
	Program string
}

var welcomeText = template.Must(template.New("welcome").Parse(`
Rogito answers at {{.URL}}    (reference: {{.URL}}/docs)
{{- if .New}}

This is a sandbox: its signatures are for trying out and bind nobody.
Its account, keys and test certificates are in {{.File}}.
{{- end}}
{{- with .Sandbox}}

Try it:

  {{$.Program}} request --data {{$.Dir}} FILE.pdf
{{- if not $.Secrets}}

  eval "$({{$.Program}} sandbox --data {{$.Dir}})"
  curl $URL/EU-QES_automatic -H "Authorization: Bearer $TOKEN" -F inputDocuments=@FILE.pdf -F certificateUsername=$USERNAME -F certificatePassword=$PASSWORD
{{- else}}

  curl -H 'Authorization: Bearer {{.Token}}' {{$.URL}}/credit
{{- with .Certificates}}{{with .automatic}}

  curl {{$.URL}}/EU-QES_automatic -H 'Authorization: Bearer {{$.Sandbox.Token}}' -F inputDocuments=@FILE.pdf -F certificateUsername={{.Username}} -F certificatePassword={{.Password}}
{{- end}}{{end}}{{end}}
{{- end}}

`))

// Dir is the data folder.
func (w *welcome) Dir() string { return filepath.Dir(w.File) }

// print shows the welcome. On a terminal it includes the sandbox's token, ready to copy. Any
// other output may be a log that others read, so it names the file instead.
func (w *welcome) print(std Streams) {
	if w == nil || std.Out == nil {
		return
	}
	w.Secrets, w.Program = std.Terminal, cmp.Or(std.Program, "rogito")
	_ = welcomeText.Execute(std.Out, w)
}

// exampleWords are what the examples of the reference leave open: the sandbox's
// test certificates, which sign nothing without its token. Nil outside a
// sandbox, and where another server on its database has the file.
func (s *Server) exampleWords() map[string]string {
	if !s.sandboxed {
		return nil
	}
	b := ReadSandbox(s.cfg.Data)
	if b == nil {
		return nil
	}
	automatic, otp, seal := b.Certificates["automatic"], b.Certificates["otp"], b.Certificates["eseal"]
	code, err := keys.Code(otp.TOTPSecret, time.Now())
	if err != nil || automatic.Username == "" {
		return nil
	}
	return map[string]string{
		api.AutomaticUsername: automatic.Username, api.AutomaticPassword: automatic.Password,
		api.OTPUsername: otp.Username, api.OTPPassword: otp.Password, api.OTPCode: code,
		api.SealUsername: seal.Username, api.SealPassword: seal.Password,
	}
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
			w.Sandbox = ReadSandbox(s.cfg.Data)
		}
		return w, s.refresh(ctx, w.Sandbox)
	}
	w.New, w.Sandbox = true, made
	return w, made.write(s.cfg.Data)
}

// sandboxEmail is the sandbox's account.
const sandboxEmail = "sandbox@example.org"

// sandboxCredit is its test money, in euro.
const sandboxCredit = 1_000_000

var errSandbox = errors.New("this installation is a sandbox: --production refuses its keys and certificates; start with an empty database and data folder (rogito init)")

// errUninitialised keeps --production from making a master key without a copy, for a server that no
// one can log in to.
var errUninitialised = errors.New("there is no account here yet: make the installation with \"rogito init EMAIL\" (with the same --data, --database and --config), and start again; without --production the first start makes a sandbox")

func initialised(ctx context.Context, db *store.DB) error {
	some, err := account.Any(ctx, db)
	if err == nil && !some {
		err = errUninitialised
	}
	return err
}

// openKind decides whether this is a sandbox. The database rules: a command
// beside a production server knows nothing of its flags, and must neither show
// nor issue what only a sandbox may.
func (s *Server) openKind(ctx context.Context) error {
	exists, err := s.accounts.SandboxExists(ctx)
	if err != nil {
		return err
	}
	if s.cfg.Production && exists {
		return errSandbox
	}
	some, err := s.accounts.Any(ctx)
	s.sandboxed = exists || !some && !s.cfg.Production
	return err
}

// sandbox makes the sandbox's account and what belongs to it, or returns nil
// where there is nothing to make. Whether it exists is judged by the database:
// a second server on it makes none.
func (s *Server) sandbox(ctx context.Context) (*Sandbox, error) {
	if s.cfg.Production {
		return nil, nil
	}
	exists, err := s.accounts.SandboxExists(ctx)
	if err != nil {
		return nil, err
	}
	if exists {
		return s.mendSandbox(ctx)
	}
	if some, err := s.accounts.Any(ctx); some || err != nil {
		return nil, err // rogito init was here
	}
	made, err := s.billing.CreateAccount(ctx, account.NewAccount{Email: sandboxEmail, Admin: true, Sandbox: true}, sandboxCredit*money.Euro)
	if err != nil {
		if again, e := s.accounts.SandboxExists(ctx); e == nil && again {
			return nil, nil // another server was faster
		}
		return nil, fmt.Errorf("make the sandbox: %w", err)
	}
	b := &Sandbox{BaseURL: s.cfg.PublicURL, Email: made.Account.Email, APIKey: made.APIKey, Token: made.Token}
	return b, s.addSandboxCertificates(ctx, made.Account.ID, b)
}

// mendSandbox makes new secrets for a sandbox whose first start was cut off
// before sandbox.json was written. Only the embedded database has its one
// data folder, where the file must be.
func (s *Server) mendSandbox(ctx context.Context) (*Sandbox, error) {
	if s.db.Dialect() != store.SQLite || ReadSandbox(s.cfg.Data) != nil {
		return nil, nil
	}
	a, err := s.accounts.Find(ctx, sandboxEmail)
	if err != nil {
		return nil, err
	}
	b := &Sandbox{BaseURL: s.cfg.PublicURL, Email: a.Email}
	if b.APIKey, err = s.accounts.NewKey(ctx, a.ID); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		t, err := s.accounts.CreateToken(ctx, tx, &account.Caller{AccountID: a.ID}, account.NewToken{Name: "first", Scopes: []string{account.AllScopes}})
		if err == nil {
			b.Token = t.Secret
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, s.addSandboxCertificates(ctx, a.ID, b)
}
