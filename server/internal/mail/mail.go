// Package mail notifies people by e-mail that something waits for them (RFC 5321, over TLS: RFC
// 3207 and 8314).
package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
)

// Config says which server takes the mail.
type Config struct {
	Server       string   `yaml:"server" doc:"HOST:PORT of the server that takes mail (SMTP) when an identification or an approval waits; empty: no mail is sent"`
	Security     string   `yaml:"security" doc:"starttls (port 587), tls (port 465), or none, which only a server on this machine may have"`
	Username     string   `yaml:"username" doc:"of the account there; empty: none"`
	Password     string   `yaml:"password" secret:"true" doc:"its password; meant for the environment"`
	PasswordFile string   `yaml:"password_file" doc:"file with its password"`
	From         string   `yaml:"from" doc:"address of the sender, e.g. Rogito <rogito@example.org>"`
	Reviewers    []string `yaml:"reviewers" doc:"addresses that are told of identifications that wait for a review; empty: those of all administrators"`
	CA           string   `yaml:"ca" doc:"file with the roots (PEM) of the server's certificate; empty: those of the system"`
}

// On says whether mail is sent.
func (c *Config) On() bool { return c.Server != "" }

// Check finds what cannot work.
func (c *Config) Check() error {
	if !c.On() {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Server)
	if err != nil {
		return fmt.Errorf("mail.server: %q is not HOST:PORT", c.Server)
	}
	if _, err := mail.ParseAddress(c.From); err != nil {
		return fmt.Errorf("mail.from: %q is not an address", c.From)
	}
	for _, r := range c.Reviewers {
		if _, err := mail.ParseAddress(r); err != nil {
			return fmt.Errorf("mail.reviewers: %q is not an address", r)
		}
	}
	switch c.Security {
	case "starttls", "tls":
	case "none":
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return errors.New("mail.security: none is for a server on this machine: who is told of what must not be read on the way")
		}
	default:
		return fmt.Errorf("mail.security: %q is none of starttls, tls, none", c.Security)
	}
	return nil
}

// sendTime bounds a conversation with the server.
const sendTime = 30 * time.Second

// Sender sends mail.
type Sender struct {
	config Config
	roots  *x509.CertPool // nil: the system's
	outbox string         // a folder in place of the server
}

// New returns a sender.
func New(c Config) (*Sender, error) {
	s := &Sender{config: c}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("mail.ca: %w", err)
		}
		if s.roots = x509.NewCertPool(); !s.roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("mail.ca: no certificate in %s", c.CA)
		}
	}
	return s, nil
}

// NewOutbox returns a sender that sends nothing, and leaves what it would send in
// a folder, as *.eml.
func NewOutbox(dir string, c Config) *Sender {
	if c.From == "" {
		c.From = "Rogito <rogito@localhost>"
	}
	return &Sender{config: c, outbox: dir}
}

// Message is a mail to be sent.
type Message struct {
	ID      string // the same for the same news, so that a second copy can be known
	To      []string
	Subject string
	Text    string
}

// Send hands a message to the server.
func (s *Sender) Send(ctx context.Context, m Message) error {
	from, err := mail.ParseAddress(s.config.From)
	if err != nil {
		return fmt.Errorf("mail: from: %w", err)
	}
	if s.outbox != "" {
		return atomicfile.WriteBytes(filepath.Join(s.outbox, m.ID+".eml"), 0o600, s.format(from, m))
	}
	return s.talk(ctx, func(c *smtp.Client) error {
		if err := c.Mail(from.Address); err != nil {
			return err
		}
		for _, to := range m.To {
			a, err := mail.ParseAddress(to)
			if err == nil {
				err = c.Rcpt(a.Address)
			}
			if err != nil {
				return err
			}
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		_, err = w.Write(s.format(from, m))
		return errors.Join(err, w.Close())
	})
}

// Try connects and logs in, and sends nothing.
func (s *Sender) Try(ctx context.Context) error { return s.talk(ctx, (*smtp.Client).Noop) }

func (s *Sender) talk(ctx context.Context, say func(*smtp.Client) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("mail: %s: %w", s.config.Server, err)
		}
	}()
	host, _, _ := net.SplitHostPort(s.config.Server)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.config.Server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	secure := &tls.Config{ServerName: host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	if s.config.Security == "tls" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if s.config.Security == "starttls" { // a server that offers none is refused: its word could have been cut out
		if err := c.StartTLS(secure); err != nil {
			return err
		}
	}
	if s.config.Username != "" {
		if err := c.Auth(smtp.PlainAuth("", s.config.Username, s.config.Password, host)); err != nil {
			return err
		}
	}
	if err := say(c); err != nil {
		return err
	}
	return c.Quit()
}

// format writes a message as it travels.
func (s *Sender) format(from *mail.Address, m Message) []byte {
	var b bytes.Buffer
	_, domain, _ := strings.Cut(from.Address, "@")
	for _, h := range [][2]string{
		{"From", from.String()},
		{"To", strings.Join(m.To, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", m.Subject)},
		{"Date", time.Now().Format(time.RFC1123Z)},
		{"Message-ID", "<" + m.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], strings.NewReplacer("\r", " ", "\n", " ").Replace(h[1]))
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(strings.ReplaceAll(m.Text, "\n", "\r\n"))) // a buffer takes it all
	_ = w.Close()
	return b.Bytes()
}
