package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/store"
)

// invitation is the link that a sandbox would have sent last to an address.
func (s *site) invitation(to string) string {
	s.t.Helper()
	link := regexp.MustCompile(`/console/join/[0-9a-f]{24}/[\w-]+`)
	for range await.Within(await.Limit) {
		names, _ := filepath.Glob(filepath.Join(s.cfg.Data, "outbox", "invitation-*.eml"))
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
	s.t.Fatalf("nothing was sent to %s", to)
	return ""
}

// somebody is a person with a password and a device.
type somebody struct {
	*visitor
	email, password, secret string
}

// joins takes an invitation up with a password.
func (s *site) joins(link, email string) *somebody {
	s.t.Helper()
	p := &somebody{s.visitor(), email, "correct horse battery staple", ""}
	page := p.get(link)
	p.secret = element(page.Text, "otp-secret")
	device := regexp.MustCompile(`name="device" value="([^"]+)"`).FindStringSubmatch(page.Text)
	if page.Status != 200 || p.secret == "" || device == nil {
		s.t.Fatalf("invitation: %d %s", page.Status, alertOf(page.Text))
	}
	for name, f := range map[string]url.Values{
		"short": {"password": {"short"}, "code": {p.code(0)}, "device": {device[1]}}, "wrong code": {"password": {p.password}, "code": {"000000"}, "device": {device[1]}},
		"no device": {"password": {p.password}, "code": {p.code(0)}}, "no passkey": {"passkey": {`{"response":{}}`}},
	} {
		if got := p.post(link, f); got.Status != 422 && got.Status != 400 || strings.HasPrefix(got.Path, "/console/?") {
			s.t.Errorf("joined with %s: %d at %s", name, got.Status, got.Path)
		}
	}
	got := p.post(link, url.Values{"password": {p.password}, "code": {p.code(0)}, "device": {device[1]}})
	if got.Status != 200 || got.Path != "/console/" {
		s.t.Fatalf("join: %d at %s: %s", got.Status, got.Path, alertOf(got.Text))
	}
	if again := s.visitor().get(link); again.Status != 404 || alertOf(again.Text) == "" {
		s.t.Errorf("an invitation that was used: %d", again.Status)
	}
	return p
}

// code is what the device shows, so many steps from now.
func (p *somebody) code(steps int) string {
	c, err := keys.Code(p.secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// logsIn logs another browser in.
func (p *somebody) logsIn(code string) (*visitor, *shownPage) {
	v := p.visitor.site.visitor()
	return v, v.post("/console/login", url.Values{"email": {p.email}, "password": {p.password}, "code": {code}})
}

// invites asks somebody else in, by a page.
func (v *visitor) invites(email string, role member.Role) string {
	v.t.Helper()
	p := v.post("/console/people", url.Values{"email": {email}, "name": {"Nome " + string(role)}, "role": {string(role)}})
	if p.Status != 200 || p.Path != "/console/people?done=invited" {
		v.t.Fatalf("invite %s: %d at %s: %s", email, p.Status, p.Path, alertOf(p.Text))
	}
	return v.invitation(email)
}

// People are invited by mail, log in with a password and a code, do what their role
// allows, are seen in the list of sessions, and are removed.
func TestPeopleOfAnAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		room, ctx := s.rooms(), context.Background()
		i, err := room.ConsoleInvite(ctx, "Owner@Example.org", "Olga", "owner", "")
		if err != nil || i.Email != "owner@example.org" || !i.Mailed {
			t.Fatal(i, err)
		}
		link := s.invitation("owner@example.org")
		if u, err := url.Parse(i.URL); err != nil || u.Path != link {
			t.Errorf("%s is printed, %s sent", i.URL, link)
		}
		for _, wrong := range []string{link[:len(link)-1] + "x", "/console/join/" + store.NewID() + "/" + link[len(link)-43:]} {
			if p := s.visitor().get(wrong); p.Status != 404 {
				t.Errorf("a link that was guessed: %d", p.Status)
			}
		}
		olga := s.joins(link, "owner@example.org")
		home := olga.get("/console/")
		if home.Status != 200 || !strings.Contains(home.Text, "Olga") || !strings.Contains(home.Text, `id="waiting"`) || !strings.Contains(home.Text, `id="credit"`) || !strings.Contains(home.Text, "<title>Home · ") {
			t.Errorf("home: %d", home.Status)
		}
		people := map[member.Role]*somebody{member.Owner: olga}
		for _, role := range member.Roles[1:] {
			email := string(role) + "@example.org"
			people[role] = s.joins(olga.invites(email, role), email)
		}
		if p := olga.post("/console/people", url.Values{"email": {"reader@example.org"}, "role": {"owner"}}); p.Status != 422 {
			t.Errorf("invited twice: %d", p.Status)
		}
		s.rolesHold(people)

		// A code counts once, wrong tries lock, and what is wrong is not told.
		reader := people[member.Reader]
		second, p := reader.logsIn(reader.code(1))
		if p.Status != 200 || p.Path != "/console/" {
			t.Fatalf("log in: %d %s", p.Status, alertOf(p.Text))
		}
		if _, p := reader.logsIn(reader.code(1)); p.Status != 401 {
			t.Errorf("a code that was used: %d", p.Status)
		}
		// The sessions: one's own, and an owner those of all.
		id := regexp.MustCompile(`<tr data-id="([0-9a-f]{24})"`)
		mine := id.FindAllStringSubmatch(reader.get("/console/sessions").Text, -1)
		if all := id.FindAllStringSubmatch(olga.get("/console/sessions").Text, -1); len(mine) != 2 || len(all) < 5 {
			t.Errorf("%d sessions of a reader, %d of all", len(mine), len(all))
		}
		if p := people[member.Signer].post("/console/sessions/"+mine[0][1]+"/end", nil); p.Status != 404 {
			t.Errorf("another's session was ended: %d", p.Status)
		}
		if p := reader.post("/console/sessions/"+mine[0][1]+"/end", nil); p.Status != 200 {
			t.Errorf("end a session: %d", p.Status)
		}
		if p := second.get("/console/records"); !strings.Contains(p.Path, "ended=left") {
			t.Errorf("a session that was ended: %s", p.Path)
		}
		for n := range 12 {
			wrong := s.visitor().post("/console/login", url.Values{"email": {[]string{"reader@example.org", "nobody@example.org"}[n%2]}, "password": {"wrong"}, "code": {"123456"}})
			if wrong.Status != 401 {
				t.Fatalf("a wrong password: %d", wrong.Status)
			}
		}
		for n := range 6 {
			s.visitor().post("/console/login", url.Values{"email": {"reader@example.org"}, "password": {"wrong" + fmt.Sprint(n)}, "code": {"123456"}})
		}
		if _, p := reader.logsIn(reader.code(-1)); !strings.Contains(alertOf(p.Text), "quarter of an hour") || p.Status == 200 {
			t.Errorf("after ten wrong tries: %d %s", p.Status, alertOf(p.Text))
		}

		// A token that an owner makes is the owner's, and ends with them.
		anna := s.joins(olga.invites("anna@example.org", member.Owner), "anna@example.org")
		made := anna.post("/console/account/tokens/new", url.Values{"name": {"till"}, "scope": {"read"}, "days": {"30"}, "requests": {"50"}, "amount": {"1,50"}})
		token := element(made.Text, "made-token")
		if made.Status != 200 || s.loggedIn(token).get("/console/records").Status != 200 || strings.Contains(anna.get("/console/account").Text, token) {
			t.Errorf("a token made: %d", made.Status)
		}
		if p := anna.post("/console/account/tokens/new", url.Values{"name": {"x"}, "scope": {"own"}, "scopes": {"GET everything"}}); p.Status < 400 || p.Status >= 500 || alertOf(p.Text) == "" {
			t.Errorf("a token of no scope: %d", p.Status)
		}
		if p := people[member.Reader].get("/console/account/tokens/new"); p.Status != 403 {
			t.Errorf("a reader makes tokens: %d", p.Status)
		}
		annas := regexp.MustCompile(`data-id="([0-9a-f]{24})" data-role="owner"><td><strong>Nome owner`).FindStringSubmatch(olga.get("/console/people").Text)
		if annas == nil {
			t.Fatal("an owner is not in the list")
		}
		remove := "/console/people/" + annas[1] + "/remove"
		olga.asked(remove, "Nome owner")
		if p := olga.post(remove, confirmed); p.Status != 200 {
			t.Errorf("remove: %d %s", p.Status, alertOf(p.Text))
		}
		if p := anna.get("/console/records"); !strings.Contains(p.Path, "/console/login") {
			t.Errorf("who was removed is at %s", p.Path)
		}
		if _, p := anna.logsIn(anna.code(1)); p.Status == 200 {
			t.Error("who was removed logged in")
		}
		if a := s.visitor().post("/console/login", url.Values{"token": {token}}); a.Status == 200 && a.Path == "/console/" {
			t.Error("the token of who was removed is good")
		}

		// Another role holds at once.
		readers := regexp.MustCompile(`data-id="([0-9a-f]{24})" data-role="reader"`).FindStringSubmatch(olga.get("/console/people").Text)[1]
		if p := reader.get("/console/sign"); p.Status != 403 {
			t.Errorf("a reader signs: %d", p.Status)
		}
		if p := olga.post("/console/people/"+readers+"/role", url.Values{"role": {"signer"}}); p.Status != 200 {
			t.Errorf("another role: %d", p.Status)
		}
		if p := reader.get("/console/sign"); p.Status != 200 {
			t.Errorf("a signer signs: %d %s", p.Status, alertOf(p.Text))
		}
		if p := olga.post("/console/people/"+readers+"/role", url.Values{"role": {"king"}}); p.Status < 400 {
			t.Errorf("a role that there is not: %d", p.Status)
		}

		// The log tells who did what, and finds rows that others wrote.
		if !s.auditGood(room) {
			t.Error("the log is not good")
		}
		s.peopleAreKept(room, readers, reader)
	})
}

// rolesHold tries every page and form of the console as each role.
func (s *site) rolesHold(people map[member.Role]*somebody) {
	s.t.Helper()
	order := s.buy("automatic", nil).ID
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
				got = p.get(path)
			} else {
				got = p.post(path, nil)
			}
			if allowed := got.Status != 403; allowed != strings.Contains(who, letter) || !allowed && !strings.Contains(alertOf(got.Text), "role") {
				s.t.Errorf("%s as %s: %d %s", what, role, got.Status, alertOf(got.Text))
			}
		}
	}
	if links := people[member.Reader].get("/console/").Text; strings.Contains(links, `href="/console/sign"`) || strings.Contains(links, `href="/console/people"`) {
		s.t.Error("a reader is led to pages that are closed")
	}
	if page := people[member.Reviewer].get("/console/certificates").Text; strings.Contains(page, "/suspend") || strings.Contains(page, "/cancel") {
		s.t.Error("a reviewer is offered what owners do")
	}
	signed := people[member.Signer].submit(people[member.Signer].filledWith(nil), named{"by-a-person.pdf", samplePDF})
	if signed.Status != 200 || !strings.HasPrefix(signed.Path, "/console/sign/") {
		s.t.Errorf("a signer signs: %d %s", signed.Status, alertOf(signed.Text))
	}
	if page := people[member.Reader].get("/console/records/" + strings.TrimPrefix(signed.Path, "/console/sign/")); !strings.Contains(page.Text, "&#34;person&#34;: ") {
		s.t.Error("the log does not name the person who signed")
	}
	if id := strings.TrimPrefix(signed.Path, "/console/sign/"); people[member.Reader].get("/console/records/"+id).Status != 200 || people[member.Reader].get("/console/records/"+id+"/delete").Status != 403 {
		s.t.Error("a reader does not read, or deletes")
	}
}

// peopleAreKept tries what somebody can do who writes into the database: an older row,
// another role, another's row.
func (s *site) peopleAreKept(room *Server, id string, reader *somebody) {
	s.t.Helper()
	ctx := context.Background()
	exec := func(statement string, args ...any) {
		s.t.Helper()
		if err := room.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, statement, args...)
			return err
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	m, err := room.sig.members.Find(ctx, s.accountOf(room), id)
	if err != nil {
		s.t.Fatal(err)
	}
	var before []byte
	var updated int64
	if err := room.db.Read().QueryRow(ctx, `select sealed, updated_at from members where id = $1`, id).Scan(&before, &updated); err != nil {
		s.t.Fatal(err)
	}
	if _, err := room.sig.members.ChangeRole(ctx, &account.Caller{AccountID: m.Account}, id, member.Reader); err != nil {
		s.t.Fatal(err)
	}
	exec(`update members set sealed = $2, updated_at = $3 where id = $1`, id, before, updated) // the role of before
	if p := reader.get("/console/sign"); p.Status == 200 && p.Path == "/console/sign" {
		s.t.Error("an older role was put back")
	}
	if s.auditGood(room) {
		s.t.Error("an older row is not found")
	}
}

func (s *site) accountOf(room *Server) string {
	a, err := room.accounts.Find(context.Background(), s.box.Email)
	if err != nil {
		s.t.Fatal(err)
	}
	return a.ID
}

// Whom a token invites is of its family: no second pair of eyes for what it asked for.
// Whom the operator invites is.
func TestPeopleAndFourEyes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	asked := s.waiting()
	byToken := s.joins(s.loggedIn(s.box.Token).invites("thief@example.org", member.Owner), "thief@example.org")
	fellow := s.joins(byToken.invites("fellow@example.org", member.Owner), "fellow@example.org")
	for _, p := range []*somebody{byToken, fellow} {
		if got := p.post("/console/records/"+asked+"/approve", nil); got.Status != 403 {
			t.Errorf("%s approved what the token asked for: %d", p.email, got.Status)
		}
	}
	for role, scope := range map[member.Role]string{member.Owner: "POST:*/*", member.Signer: "GET:*/*"} {
		narrow := s.loggedIn(s.mustToken(m{"scopes": []string{scope, "GET:*/signatures"}}).Token)
		if p := narrow.post("/console/people", url.Values{"email": {"more@example.org"}, "role": {string(role)}}); p.Status != 403 {
			t.Errorf("a token of %s made an %s: %d", scope, role, p.Status)
		}
	}
	if _, err := room.ConsoleInvite(context.Background(), "boss@example.org", "", "owner", ""); err != nil {
		t.Fatal(err)
	}
	boss := s.joins(s.invitation("boss@example.org"), "boss@example.org")
	if got := boss.post("/console/records/"+asked+"/approve", nil); got.Status != 200 {
		t.Errorf("approved: %d %s", got.Status, alertOf(got.Text))
	}
}

// fillMembers has a person in the console, and one who is invited.
func (x *rowsTried) fillMembers(room *Server) {
	ctx := context.Background()
	link := func(email string) string {
		i, err := room.ConsoleInvite(ctx, email, "", "reader", "")
		if err != nil {
			x.t.Fatal(err)
		}
		return i.URL[strings.Index(i.URL, "/console/"):]
	}
	x.person = x.joins(link("in@example.org"), "in@example.org").visitor
	x.invited = link("out@example.org")
}

// personVisits is a person at a page.
func (x *rowsTried) personVisits() error {
	resp, err := x.person.client.Get(x.url + "/console/records")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 || strings.Contains(resp.Request.URL.Path, "login") {
		return errors.New("logged out")
	}
	return nil
}

// opensInvitation is somebody who was invited.
func (x *rowsTried) opensInvitation() error {
	resp, err := http.Get(x.url + x.invited)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errors.New("no invitation")
	}
	return nil
}
