package console_test

import (
	"context"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// invitation is the link that a sandbox would have sent last to an address.
func invitation(s *site, to string) string {
	s.T.Helper()
	link := regexp.MustCompile(`/console/join/[0-9a-f]{24}/[\w-]+`)
	for range await.Within(await.Limit) {
		names, _ := filepath.Glob(filepath.Join(s.Config.Data, "outbox", "invitation-*.eml"))
		newest, at := "", time.Time{}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			m, err := mail.ReadMessage(strings.NewReader(string(b)))
			info, err2 := os.Stat(name)
			if err != nil || err2 != nil || !strings.Contains(m.Header.Get("To"), to) || info.ModTime().Before(at) {
				continue
			}
			text, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
			newest, at = link.FindString(string(text)), info.ModTime()
		}
		if newest != "" {
			return newest
		}
	}
	s.T.Fatalf("nothing was sent to %s", to)
	return ""
}

// logsIn logs another browser in.
func logsIn(p *somebody, code string) (*visitor, *shownPage) {
	v := p.Visitor.Site.Visitor()
	return v, v.Post("/console/login", url.Values{"email": {p.Email}, "password": {p.Password}, "code": {code}})
}

// invites has a person invited on the page.
func invites(v *visitor, email string, role member.Role) string {
	v.T.Helper()
	p := v.Post("/console/people", url.Values{"email": {email}, "name": {"Nome " + string(role)}, "role": {string(role)}})
	if p.Status != 200 || p.Path != "/console/people?done=invited" {
		v.T.Fatalf("invite %s: %d at %s: %s", email, p.Status, p.Path, alertOf(p.Text))
	}
	return invitation(v.Site, email)
}

// People are invited by mail, log in with a password and a code, do what their role
// allows, are seen in the list of sessions, and are removed.
func TestPeopleOfAnAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		srv, ctx := s.OpenServer(), context.Background()
		i, err := srv.ConsoleInvite(ctx, "Owner@Example.org", "Olga", "owner", "")
		if err != nil || i.Email != "owner@example.org" || !i.Mailed {
			t.Fatal(i, err)
		}
		link := invitation(s, "owner@example.org")
		if u, err := url.Parse(i.URL); err != nil || u.Path != link {
			t.Errorf("%s is printed, %s sent", i.URL, link)
		}
		for _, wrong := range []string{link[:len(link)-1] + "x", "/console/join/" + store.NewID() + "/" + link[len(link)-43:]} {
			if p := s.Visitor().Get(wrong); p.Status != 404 {
				t.Errorf("a link that was guessed: %d", p.Status)
			}
		}
		olga := s.Joins(link, "owner@example.org")
		home := olga.Get("/console/")
		if home.Status != 200 || !strings.Contains(home.Text, "Olga") || !strings.Contains(home.Text, `id="waiting"`) || !strings.Contains(home.Text, `id="credit"`) || !strings.Contains(home.Text, "<title>Home · ") {
			t.Errorf("home: %d", home.Status)
		}
		people := map[member.Role]*somebody{member.Owner: olga}
		for _, role := range member.Roles[1:] {
			email := string(role) + "@example.org"
			people[role] = s.Joins(invites(olga.Visitor, email, role), email)
		}
		if p := olga.Post("/console/people", url.Values{"email": {"reader@example.org"}, "role": {"owner"}}); p.Status != 422 {
			t.Errorf("invited twice: %d", p.Status)
		}
		rolesHold(s, people)

		// A code counts once, wrong tries lock, and what is wrong is not told.
		reader := people[member.Reader]
		second, p := logsIn(reader, reader.Code(1))
		if p.Status != 200 || p.Path != "/console/" {
			t.Fatalf("log in: %d %s", p.Status, alertOf(p.Text))
		}
		if _, p := logsIn(reader, reader.Code(1)); p.Status != 401 {
			t.Errorf("a code that was used: %d", p.Status)
		}
		// The sessions: one's own, and an owner those of all.
		id := regexp.MustCompile(`<tr data-id="([0-9a-f]{24})"`)
		mine := id.FindAllStringSubmatch(reader.Get("/console/sessions").Text, -1)
		if all := id.FindAllStringSubmatch(olga.Get("/console/sessions").Text, -1); len(mine) != 2 || len(all) < 5 {
			t.Errorf("%d sessions of a reader, %d of all", len(mine), len(all))
		}
		if p := people[member.Signer].Post("/console/sessions/"+mine[0][1]+"/end", nil); p.Status != 404 {
			t.Errorf("another's session was ended: %d", p.Status)
		}
		if p := reader.Post("/console/sessions/"+mine[0][1]+"/end", nil); p.Status != 200 {
			t.Errorf("end a session: %d", p.Status)
		}
		if p := second.Get("/console/records"); !strings.Contains(p.Path, "ended=left") {
			t.Errorf("a session that was ended: %s", p.Path)
		}
		for n := range 12 {
			wrong := s.Visitor().Post("/console/login", url.Values{"email": {[]string{"reader@example.org", "nobody@example.org"}[n%2]}, "password": {"wrong"}, "code": {"123456"}})
			if wrong.Status != 401 {
				t.Fatalf("a wrong password: %d", wrong.Status)
			}
		}
		for n := range 6 {
			s.Visitor().Post("/console/login", url.Values{"email": {"reader@example.org"}, "password": {"wrong" + fmt.Sprint(n)}, "code": {"123456"}})
		}
		if _, p := logsIn(reader, reader.Code(-1)); !strings.Contains(alertOf(p.Text), "quarter of an hour") || p.Status == 200 {
			t.Errorf("after ten wrong tries: %d %s", p.Status, alertOf(p.Text))
		}

		// A token that an owner makes is the owner's, and ends with them.
		anna := s.Joins(invites(olga.Visitor, "anna@example.org", member.Owner), "anna@example.org")
		made := anna.Post("/console/account/tokens/new", url.Values{"name": {"till"}, "scope": {"read"}, "days": {"30"}, "requests": {"50"}, "amount": {"1,50"}})
		token := element(made.Text, "made-token")
		if made.Status != 200 || s.LoggedIn(token).Get("/console/records").Status != 200 || strings.Contains(anna.Get("/console/account").Text, token) {
			t.Errorf("a token made: %d", made.Status)
		}
		if p := anna.Post("/console/account/tokens/new", url.Values{"name": {"x"}, "scope": {"own"}, "scopes": {"GET everything"}}); p.Status < 400 || p.Status >= 500 || alertOf(p.Text) == "" {
			t.Errorf("a token of no scope: %d", p.Status)
		}
		if p := people[member.Reader].Get("/console/account/tokens/new"); p.Status != 403 {
			t.Errorf("a reader makes tokens: %d", p.Status)
		}
		annas := regexp.MustCompile(`data-id="([0-9a-f]{24})" data-role="owner"><td><strong>Nome owner`).FindStringSubmatch(olga.Get("/console/people").Text)
		if annas == nil {
			t.Fatal("an owner is not in the list")
		}
		remove := "/console/people/" + annas[1] + "/remove"
		asked(olga.Visitor, remove, "Nome owner")
		if p := olga.Post(remove, confirmed); p.Status != 200 {
			t.Errorf("remove: %d %s", p.Status, alertOf(p.Text))
		}
		if p := anna.Get("/console/records"); !strings.Contains(p.Path, "/console/login") {
			t.Errorf("who was removed is at %s", p.Path)
		}
		if _, p := logsIn(anna, anna.Code(1)); p.Status == 200 {
			t.Error("who was removed logged in")
		}
		if a := s.Visitor().Post("/console/login", url.Values{"token": {token}}); a.Status == 200 && a.Path == "/console/" {
			t.Error("the token of who was removed is good")
		}

		// Another role holds at once.
		readers := regexp.MustCompile(`data-id="([0-9a-f]{24})" data-role="reader"`).FindStringSubmatch(olga.Get("/console/people").Text)[1]
		if p := reader.Get("/console/sign"); p.Status != 403 {
			t.Errorf("a reader signs: %d", p.Status)
		}
		if p := olga.Post("/console/people/"+readers+"/role", url.Values{"role": {"signer"}}); p.Status != 200 {
			t.Errorf("another role: %d", p.Status)
		}
		if p := reader.Get("/console/sign"); p.Status != 200 {
			t.Errorf("a signer signs: %d %s", p.Status, alertOf(p.Text))
		}
		if p := olga.Post("/console/people/"+readers+"/role", url.Values{"role": {"king"}}); p.Status < 400 {
			t.Errorf("a role that there is not: %d", p.Status)
		}

		// The log tells who did what, and finds rows that others wrote.
		if !s.AuditGood(srv) {
			t.Error("the log is not good")
		}
		peopleAreKept(s, srv, readers, reader)
	})
}

// rolesHold tries every page and form of the console as each role.
func rolesHold(s *site, people map[member.Role]*somebody) {
	s.T.Helper()
	order := s.Buy("automatic", nil).ID
	may := map[string]string{ // first letters of the roles
		"GET /console/": "osvr", "GET /console/sign": "os", "GET /console/invite": "os", "GET /console/records": "osvr", "GET /console/certificates": "osvr", "GET /console/account": "osvr",
		"GET /console/people": "o", "POST /console/people": "o", "GET /console/health": "o", "GET /console/sessions": "osvr", "GET /console/templates": "osvr",
		"GET /console/account/tokens/new": "o", "GET /console/certificates/" + order + "/cancel": "o", "POST /console/certificates/" + order + "/suspend": "o",
		"GET /console/certificates/" + order + "/review": "ov", "POST /console/certificates/" + order + "/review": "ov",
	}
	for what, who := range may {
		method, path, _ := strings.Cut(what, " ")
		for role, p := range people {
			letter := map[member.Role]string{member.Owner: "o", member.Signer: "s", member.Reviewer: "v", member.Reader: "r"}[role]
			var got *shownPage
			if method == "GET" {
				got = p.Get(path)
			} else {
				got = p.Post(path, nil)
			}
			if allowed := got.Status != 403; allowed != strings.Contains(who, letter) || !allowed && !strings.Contains(alertOf(got.Text), "role") {
				s.T.Errorf("%s as %s: %d %s", what, role, got.Status, alertOf(got.Text))
			}
		}
	}
	if links := people[member.Reader].Get("/console/").Text; strings.Contains(links, `href="/console/sign"`) || strings.Contains(links, `href="/console/people"`) {
		s.T.Error("a reader is led to pages that are closed")
	}
	if page := people[member.Reviewer].Get("/console/certificates").Text; strings.Contains(page, "/suspend") || strings.Contains(page, "/cancel") {
		s.T.Error("a reviewer is offered what owners do")
	}
	signed := submit(people[member.Signer].Visitor, filledWith(people[member.Signer].Visitor, nil), named{"by-a-person.pdf", sitetest.SamplePDF})
	if signed.Status != 200 || !strings.HasPrefix(signed.Path, "/console/sign/") {
		s.T.Errorf("a signer signs: %d %s", signed.Status, alertOf(signed.Text))
	}
	if page := people[member.Reader].Get("/console/records/" + strings.TrimPrefix(signed.Path, "/console/sign/")); !strings.Contains(page.Text, "&#34;person&#34;: ") {
		s.T.Error("the log does not name the person who signed")
	}
	if id := strings.TrimPrefix(signed.Path, "/console/sign/"); people[member.Reader].Get("/console/records/"+id).Status != 200 || people[member.Reader].Get("/console/records/"+id+"/delete").Status != 403 {
		s.T.Error("a reader does not read, or deletes")
	}
}

// peopleAreKept tries what someone can do who writes to the database: an older row, another role,
// another's row.
func peopleAreKept(s *site, srv *server.Server, id string, reader *somebody) {
	s.T.Helper()
	ctx := context.Background()
	exec := func(statement string, args ...any) {
		s.T.Helper()
		if err := srv.Parts().DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		}); err != nil {
			s.T.Fatal(err)
		}
	}
	m, err := srv.Parts().Members.Find(ctx, accountOf(s, srv), id)
	if err != nil {
		s.T.Fatal(err)
	}
	var before []byte
	var updated int64
	if err := srv.Parts().DB.Read().QueryRow(ctx, `select sealed, updated_at from members where id = $1`, id).Scan(&before, &updated); err != nil {
		s.T.Fatal(err)
	}
	if _, err := srv.Parts().Members.ChangeRole(ctx, &account.Caller{AccountID: m.Account}, id, member.Reader); err != nil {
		s.T.Fatal(err)
	}
	exec(`update members set sealed = $2, updated_at = $3 where id = $1`, id, before, updated) // the role of before
	if p := reader.Get("/console/sign"); p.Status == 200 && p.Path == "/console/sign" {
		s.T.Error("an older role was put back")
	}
	if s.AuditGood(srv) {
		s.T.Error("an older row is not found")
	}
}

func accountOf(s *site, srv *server.Server) string {
	a, err := srv.Parts().Accounts.Find(context.Background(), s.Box.Email)
	if err != nil {
		s.T.Fatal(err)
	}
	return a.ID
}

// Whom a token invites is of its family: no second pair of eyes for what it asked for.
// Whom the operator invites is.
func TestPeopleAndFourEyes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	asked := s.Waiting()
	byToken := s.Joins(invites(s.LoggedIn(s.Box.Token), "thief@example.org", member.Owner), "thief@example.org")
	fellow := s.Joins(invites(byToken.Visitor, "fellow@example.org", member.Owner), "fellow@example.org")
	for _, p := range []*somebody{byToken, fellow} {
		if got := p.Post("/console/records/"+asked+"/approve", nil); got.Status != 403 {
			t.Errorf("%s approved what the token asked for: %d", p.Email, got.Status)
		}
	}
	for role, scope := range map[member.Role]string{member.Owner: "POST:*/*", member.Signer: "GET:*/*"} {
		narrow := s.LoggedIn(s.MustToken(m{"scopes": []string{scope, "GET:*/signatures"}}).Token)
		if p := narrow.Post("/console/people", url.Values{"email": {"more@example.org"}, "role": {string(role)}}); p.Status != 403 {
			t.Errorf("a token of %s made an %s: %d", scope, role, p.Status)
		}
	}
	if _, err := srv.ConsoleInvite(context.Background(), "boss@example.org", "", "owner", ""); err != nil {
		t.Fatal(err)
	}
	boss := s.Joins(invitation(s, "boss@example.org"), "boss@example.org")
	if got := boss.Post("/console/records/"+asked+"/approve", nil); got.Status != 200 {
		t.Errorf("approved: %d %s", got.Status, alertOf(got.Text))
	}
}
