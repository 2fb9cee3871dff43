package server_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
	posting "rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/mail/mailtest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// postOffice is an SMTP server, and how a server of ours is told of it.
func postOffice(t *testing.T, mode string) (*mailtest.Server, func(*server.Config)) {
	t.Helper()
	cert, key := selfSigned(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	office := mailtest.Start(t, mode, pair)
	return office, func(c *server.Config) {
		c.Mail = posting.Config{Server: office.Addr, Security: mode, From: "Rogito <rogito@example.org>", CA: cert}
		if mode != "none" {
			c.Mail.Username, c.Mail.Password = "rogito", "canary"
		}
	}
}

func letter(s *site, office *mailtest.Server) mailtest.Letter {
	s.T.Helper()
	select {
	case l := <-office.Letters:
		return l
	case <-time.After(30 * time.Second):
		s.T.Fatalf("no mail came\n%s", s.Run.Log)
	}
	return mailtest.Letter{}
}

// TestMailWhenSomethingWaits: the people who can decide get a mail that says where, without any
// untrusted text.
func TestMailWhenSomethingWaits(t *testing.T) {
	t.Parallel()
	office, set := postOffice(t, "starttls")
	s := newSite(t, set)
	id := s.Waiting()
	l := letter(s, office)
	if !l.Secure || len(l.To) != 1 || !strings.Contains(l.To[0], s.Box.Email) || !strings.Contains(l.From, "rogito@example.org") {
		t.Errorf("%+v", l)
	}
	if login, _ := base64.StdEncoding.DecodeString(l.Login); string(login) != "\x00rogito\x00canary" {
		t.Errorf("logged in as %q", login)
	}
	msg, err := mail.ReadMessage(strings.NewReader(l.Text))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(quotedprintable.NewReader(msg.Body))
	subject, _ := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if !strings.Contains(string(body), s.URL+"/console/records/"+id) || !strings.Contains(string(body), "È stata") || strings.Contains(string(body), "a test") ||
		!strings.Contains(subject, "approv") || !strings.Contains(msg.Header.Get("Message-Id"), id) || msg.Header.Get("Auto-Submitted") == "" {
		t.Errorf("%s\n%s", l.Text, body)
	}
	o := s.Buy("automatic", m{"identification": "video"})
	if code, page := s.Upload(o.CertificateLink, "video", sitetest.EvidenceFiles); code != 200 {
		t.Fatal(page)
	}
	if l := letter(s, office); !strings.Contains(l.Text, o.ID) || !strings.Contains(l.Text, "review") {
		t.Errorf("%s", l.Text)
	}
	if strings.Contains(s.Run.Log.String(), "canary") {
		t.Error("the password is in the log")
	}
}

func TestMailServers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"starttls", "tls", "none"} {
		office, set := postOffice(t, mode)
		cfg := testDefaults()
		set(&cfg)
		if err := cfg.Mail.Check(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		sender, err := posting.New(cfg.Mail)
		if err != nil {
			t.Fatal(err)
		}
		err = sender.Send(context.Background(), posting.Message{ID: "x", To: []string{"Anna <anna@example.org>"}, Subject: "a\r\nBcc: b@example.org", Text: ".\nend"})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if l := <-office.Letters; l.Secure != (mode != "none") || strings.Contains(l.Text, "\nBcc:") || !strings.HasSuffix(strings.TrimSpace(l.Text), "end") {
			t.Errorf("%s: %+v", mode, l)
		}
		office.Refuse = "550 nobody of that name"
		if err := sender.Send(context.Background(), posting.Message{To: []string{"anna@example.org"}}); err == nil || !strings.Contains(err.Error(), "550") {
			t.Errorf("%s: refused with %v", mode, err)
		}
	}
	// A server whose word for TLS was cut out gets neither password nor mail.
	office, set := postOffice(t, "none")
	cfg := testDefaults()
	set(&cfg)
	cfg.Mail.Security = "starttls"
	sender, err := posting.New(cfg.Mail)
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.Send(context.Background(), posting.Message{To: []string{"anna@example.org"}}); err == nil || len(office.Letters) > 0 {
		t.Errorf("mail went out in the clear: %v", err)
	}
	for _, bad := range []posting.Config{
		{Server: "mail.example.org", From: "a@b.c", Security: "tls"},
		{Server: "mail.example.org:25", From: "a@b.c", Security: "none"},
		{Server: "mail.example.org:25", From: "nobody", Security: "tls"},
		{Server: "mail.example.org:25", From: "a@b.c", Security: "ssl"},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v is let through", bad)
		}
	}
}

// TestDoctorTriesMail: a server that does not take mail is named.
func TestDoctorTriesMail(t *testing.T) {
	t.Parallel()
	office, set := postOffice(t, "tls")
	s := newSite(t, set)
	if f := s.Examine(true)["mail"]; f.State != doctor.FindingOK {
		t.Errorf("%+v", f)
	}
	s.Config.Mail.Server = "127.0.0.1:9"
	if f := s.Examine(true)["mail"]; f.State != doctor.FindingBad || !strings.Contains(f.Text.String(), "127.0.0.1:9") || strings.Contains(f.Text.String(), "canary") {
		t.Errorf("%+v", f)
	}
	if len(office.Letters) > 0 {
		t.Error("the doctor sent a letter")
	}
}
