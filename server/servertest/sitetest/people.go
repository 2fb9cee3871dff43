package sitetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/people"
)

// Guest is a person who was asked to sign, with a browser of their own, at one of the
// servers of an installation.
type Guest struct {
	T     testing.TB
	Srv   *server.Server
	Data  string
	Link  string
	Shown people.Browsers
}

var linkParts = regexp.MustCompile(`/sign/([0-9a-f]{24})/(\w+)$`)

func (g *Guest) Visit() *people.Visit {
	g.T.Helper()
	m := linkParts.FindStringSubmatch(g.Link)
	if m == nil {
		g.T.Fatalf("no link: %q", g.Link)
	}
	v, err := g.Srv.Parts().People.Find(context.Background(), m[1], m[2])
	if err != nil {
		g.T.Fatal(err)
	}
	v.Address, v.Language = "192.0.2.7", "it"
	return v
}

// Looks is the page being shown.
func (g *Guest) Looks() *people.Visit {
	g.T.Helper()
	v, p := g.Visit(), g.Srv.Parts().People
	docs := p.Documents(v)
	if err := p.Viewed(context.Background(), v, docs); err != nil {
		g.T.Fatal(err)
	}
	for i := range docs {
		if err := p.Read(context.Background(), v, i); err != nil {
			g.T.Fatal(err)
		}
	}
	return v
}

// Code asks for a code and reads it in the outbox.
func (g *Guest) Code() string {
	g.T.Helper()
	v := g.Visit()
	if err := g.Srv.Parts().People.SendCode(context.Background(), v, "", g.Shown); err != nil {
		g.T.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(g.Data, "outbox", "*"+v.Person.ID+"-code*"))
	slices.SortFunc(files, func(a, b string) int { return TurnOf(a) - TurnOf(b) })
	b, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		g.T.Fatal(err)
	}
	_, body, _ := strings.Cut(string(b), "\r\n\r\n")
	return regexp.MustCompile(`\d{6}`).FindString(body)
}

func TurnOf(file string) int {
	n, _ := strconv.Atoi(regexp.MustCompile(`(\d+)\.\w+$`).FindStringSubmatch(file)[1])
	return n
}

// Proves looks, and gives the code.
func (g *Guest) Proves() {
	g.T.Helper()
	g.Looks()
	code, fresh := g.Code(), people.Browser("browser of "+g.Link)
	if err := g.Srv.Parts().People.CheckCode(context.Background(), g.Visit(), code, g.Shown, fresh); err != nil {
		g.T.Fatal(err)
	}
	g.Shown = append(g.Shown, fresh)
}

// Clicks makes the last click, and waits so long for what comes of it.
func (g *Guest) Clicks(wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for {
		v := g.Visit()
		err := g.Srv.Parts().People.Sign(ctx, v, people.Act{Agree: true, Typed: "Ada Rossi"}, g.Shown)
		if err != nil || !v.Person.Pending() || ctx.Err() != nil { // else a busy machine is still at it
			return err
		}
	}
}

type Asked struct {
	ID, State    string
	ErrorNumber  *int
	ErrorMessage *string
	Options      map[string]any
	Signers      []struct{ ID, URL, State string }
}

func SignersOf(n int, more ...M) (all []M) {
	for i := range n {
		one := M{"name": fmt.Sprintf("Ada%d", i), "surname": "Rossi", "email": fmt.Sprintf("ada%d@example.org", i), "authentication": []string{"email"}, "signatures": []any{}}
		for _, o := range more {
			maps.Copy(one, o)
		}
		all = append(all, one)
	}
	return all
}

func (s *Site) Asked(id, state string) *Asked {
	s.T.Helper()
	r := &Asked{}
	await.Until(s.T, "the record comes to "+state, func() bool {
		if err := json.Unmarshal(s.Do("GET", "/signatures/"+id, nil).Data, r); err != nil {
			s.T.Fatal(err)
		}
		return r.State == state || r.State == "ERROR"
	})
	if r.State != state {
		s.T.Fatalf("%s: %v", r.State, *r.ErrorMessage)
	}
	return r
}

func (s *Site) Guests(srv *server.Server, r *Asked) (all []*Guest) {
	for _, one := range r.Signers {
		all = append(all, &Guest{T: s.T, Srv: srv, Data: s.Config.Data, Link: one.URL})
	}
	return all
}
