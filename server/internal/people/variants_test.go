package people_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Who has the mailbox and not the telephone gives good codes by mail, in one browser
// after another: they give no further guesses at the code of the telephone.
func TestGoodCodesBuyNoGuesses(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.SMS.URL = "http://127.0.0.1:1/" })
	srv := s.OpenServer()
	r := asks(s, signersOf(1, m{"authentication": []string{"email", "sms"}, "mobile": "+393331234567"}), nil)
	g := s.Guests(srv, r)[0]
	g.Looks()
	ctx, guesses := context.Background(), 0
	guess := func() error {
		err := srv.Parts().People.CheckCode(ctx, g.Visit(), "no code", nil, "guess")
		if errors.Is(err, fault.WrongOTP) {
			guesses++
		}
		return err
	}
	if err := srv.Parts().People.SendCode(ctx, g.Visit(), "sms", nil); err != nil {
		t.Fatal(err)
	}
	for _, browser := range []string{"first browser", "second browser", "third browser"} {
		for range 3 {
			_ = guess() // counted
		}
		if err := srv.Parts().People.SendCode(ctx, g.Visit(), "email", nil); err != nil {
			break
		}
		if err := srv.Parts().People.CheckCode(ctx, g.Visit(), mailed(s, g.Visit().Person.ID), nil, people.Browser(browser)); err != nil {
			break
		}
	}
	if err := guess(); !errors.Is(err, fault.TooManyCodes) || guesses > 4 {
		t.Errorf("%d guesses were judged, then: %v", guesses, err)
	}
}

// mailed is the code that was last sent by mail.
func mailed(s *site, person string) string {
	s.T.Helper()
	last, code := -1, ""
	files, _ := filepath.Glob(filepath.Join(s.Config.Data, "outbox", "*"+person+"-code-*.eml"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && turnOf(f) > last {
			_, body, _ := strings.Cut(string(b), "\r\n\r\n")
			last, code = turnOf(f), regexp.MustCompile(`\d{6}`).FindString(body)
		}
	}
	if code == "" {
		s.T.Fatalf("no code in %q", files)
	}
	return code
}

// Whom an identification has to prove is not for the identified to say.
func TestIdentifiedKeepTheirNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Identify.Demo = true })
	srv := s.OpenServer()
	a := s.Do("POST", "/EU-AES", m{"inputDocuments": b64(sitetest.SamplePDF), "signers": []m{{"name": "Ada", "surname": "Verdi", "email": "ada@example.org", "identification": []string{"spid"}, "signatures": []any{}}}})
	r := &asked{}
	if err := json.Unmarshal(a.Data, r); err != nil || a.Status != 200 {
		t.Fatalf("%d %s %v", a.Status, a.Message, err)
	}
	g := s.Guests(srv, s.Asked(r.ID, "WAIT_SIGNERS"))[0]
	now, err := srv.Parts().People.Now(context.Background(), g.Looks(), nil)
	if err != nil || now.EditName || !now.EditEmail {
		t.Errorf("%+v %v", now, err)
	}
	if err := srv.Parts().People.Edit(context.Background(), g.Visit(), "Mario Rossi", "", ""); !errors.Is(err, fault.WrongState) || g.Visit().Person.Name != "Ada" {
		t.Errorf("%v: %s", err, g.Visit().Person.FullName())
	}
	if err := srv.Parts().People.Edit(context.Background(), g.Visit(), "Ada Verdi", "other@example.org", ""); err != nil {
		t.Error(err)
	}
}

// A drawing is looked into once its author has shown who they are, and is never so
// large that a few of them fill the memory.
func TestDrawingsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	g := s.Guests(srv, asks(s, signersOf(1), m{"signatureMode": []string{"drawn"}}))[0]
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4000, 4000))); err != nil {
		t.Fatal(err)
	}
	act := people.Act{Agree: true, Drawn: "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())}
	g.Looks()
	if err := srv.Parts().People.Sign(context.Background(), g.Visit(), act, nil); !errors.Is(err, fault.WrongState) {
		t.Errorf("of a stranger: %v", err)
	}
	g.Proves()
	if err := srv.Parts().People.Sign(context.Background(), g.Visit(), act, g.Shown); !errors.Is(err, fault.BadField) {
		t.Errorf("of 16 megapixels: %v", err)
	}
}
