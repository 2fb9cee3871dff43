package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/pages/console"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/upload"
)

// consolePages makes and mounts the pages under /console.
func (s *Server) consolePages(a *api.API, site *look.Site) *console.Pages {
	h := &healthReport{server: s}
	pages := console.New(console.Parts{
		Site: site, Accounts: s.accounts, Billing: s.billing, Signing: s.sig.signing, Enroll: s.sig.enroll, Keys: s.sig.keys, Callbacks: s.sig.callbacks, Idempotency: s.idempotency,
		Spool: s.spool, Limits: upload.Limits{Body: s.cfg.Limits.Body}, Document: s.cfg.Limits.Document,
		Send: a.Send, Health: h.read, Certificate: s.sig.records.Certificate,
		People: s.sig.people, Drawer: s.drawer, Outbox: s.outboxShown(), Members: s.sig.members, Party: s.party, Lists: s.listsEnding,
	})
	a.Know("login/logout/sign/page/retry/invite/records/records.csv/templates/delete/signed/certificate/callbacks/signers/remind/stop/resend/approve/refuse/certificates/new/link/suspend/resume/revoke/cancel/review/evidence/account/tokens/people/role/again/remove/sessions/end/join/health")
	a.Mount("/console/*", pages, http.MethodGet, http.MethodHead, http.MethodPost)
	a.Mount("/console", http.RedirectHandler("/console/", http.StatusSeeOther))
	return pages
}

// party is the site that passkeys are for: where people reach us.
func (s *Server) party(*http.Request) passkey.Party {
	u, err := url.Parse(s.invitedTo())
	if err != nil {
		return passkey.Party{}
	}
	return passkey.Party{ID: u.Hostname(), Origin: u.Scheme + "://" + u.Host, Name: cmp.Or(s.cfg.Operator.Name, "Rogito")}
}

// invitedTo is where people are invited to. A browser knows no passkeys for a bare
// address, so that of this machine is called by its name.
func (s *Server) invitedTo() string {
	u, err := url.Parse(s.reachedAt())
	if err != nil {
		return s.reachedAt()
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		u.Host = strings.TrimSuffix("localhost:"+u.Port(), ":")
	}
	return u.String()
}

// listsEnding are the trusted lists that cannot be used any more, or not for a week.
func (s *Server) listsEnding() (all []console.ListEnd) {
	for _, l := range s.sig.lists.State() {
		switch {
		case !l.Usable:
			all = append(all, console.ListEnd{Territory: l.Territory, Until: l.NextUpdate, Over: true})
		case !l.NextUpdate.IsZero() && time.Until(l.NextUpdate) < 7*24*time.Hour:
			all = append(all, console.ListEnd{Territory: l.Territory, Until: l.NextUpdate})
		}
	}
	return all
}

// Invitation is a link that lets a person into the console of an account.
type Invitation struct {
	Email   string    `json:"email"`
	Role    string    `json:"role"`
	Account string    `json:"account"`
	URL     string    `json:"url"`
	Until   time.Time `json:"until"`
	Mailed  bool      `json:"mailed"`
}

// ConsoleInvite invites a person to the console of an account; without an e-mail address, of the
// sandbox's account or the only one. A person who already belongs to it gets a new link.
func (s *Server) ConsoleInvite(ctx context.Context, email, name, role, of string) (*Invitation, error) {
	all, err := s.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.oneOf(all, of, false)
	if err != nil {
		return nil, err
	}
	members := s.sig.members
	people, err := members.List(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	var m *member.Member
	for _, one := range people {
		if strings.EqualFold(one.Email, strings.TrimSpace(email)) {
			m = one
		}
	}
	switch {
	case m == nil:
		m, err = members.Invite(ctx, nil, a.ID, "", email, name, member.Role(role))
	case string(m.Role) != role:
		err = fmt.Errorf("%s is among the people of %s already, as %s", m.Email, a.Email, m.Role)
	default:
		m, err = members.Again(ctx, &account.Caller{AccountID: a.ID}, "", m.ID)
	}
	if err != nil {
		return nil, err
	}
	return &Invitation{Email: m.Email, Role: string(m.Role), Account: a.Email, URL: members.Link(m), Until: m.Until, Mailed: members.Sends()}, nil
}

// healthReport is what administrators see of the server. The doctor is asked at
// most once a minute, however many look.
type healthReport struct {
	server *Server
	mu     sync.Mutex
	at     time.Time
	found  []console.Finding
}

func (h *healthReport) read(ctx context.Context) (*console.Health, error) {
	s := h.server
	out := &console.Health{Wrong: s.health.Wrong(ctx)}
	depths, err := s.jobs.Depths(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range job.States {
		one := console.Depth{State: state}
		for _, d := range depths {
			if d.State == state {
				one.Jobs, one.Oldest = one.Jobs+d.Jobs, max(one.Oldest, d.Oldest)
			}
		}
		if one.Jobs > 0 {
			out.Queue = append(out.Queue, one)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > time.Minute {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		h.at, h.found = time.Now(), nil
		open := func(context.Context) (*doctor.Installation, func(), error) { return s.installation(), func() {}, nil }
		for _, f := range doctor.Examine(ctx, s.cfg.settings(), open, doctor.Options{Quick: true, Latest: latestExamined}) {
			h.found = append(h.found, console.Finding(f))
		}
	}
	out.At, out.Findings = h.at, h.found
	return out, nil
}

// latestExamined is how many records the page of the server's health looks at: of a
// million rogito doctor --quick takes a minute and a half.
const latestExamined = 5000

// ConsoleLink logs a browser in to the console, once.
type ConsoleLink struct {
	Email string    `json:"email"`
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

// ConsoleLogin makes a link that logs a browser in to an account; without an
// e-mail to the sandbox's, or to the only one that there is.
func (s *Server) ConsoleLogin(ctx context.Context, email string) (*ConsoleLink, error) {
	all, err := s.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	return s.consoleLink(ctx, all, email, "")
}

// ReviewLink makes a link that shows an administrator's browser the video and the
// photo of an order beside what they would certify; without an e-mail it is for
// the sandbox's account, or the only administrator that there is.
func (s *Server) ReviewLink(ctx context.Context, order, email string) (*ConsoleLink, error) {
	all, err := s.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(a account.Account) bool { return !a.Admin })
	return s.consoleLink(ctx, all, email, "&next="+url.QueryEscape("/console/certificates/"+order+"/review"))
}

// consoleLink logs a browser in to one of these accounts.
func (s *Server) consoleLink(ctx context.Context, all []account.Account, email, next string) (*ConsoleLink, error) {
	a, err := s.oneOf(all, email, next != "")
	if err != nil {
		return nil, err
	}
	secret, until, err := s.accounts.LoginLink(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	return &ConsoleLink{a.Email, s.reachedAt() + "/console/login?link=" + secret + next, until}, nil
}

// oneOf is the account of an e-mail; without one the sandbox's, or the only one.
func (s *Server) oneOf(all []account.Account, email string, admins bool) (*account.Account, error) {
	if !s.cfg.Console.Enabled {
		return nil, errors.New("the console is switched off (console.enabled)")
	}
	found := slices.IndexFunc(all, func(a account.Account) bool {
		return email == "" && (a.Sandbox || len(all) == 1) || strings.EqualFold(a.Email, strings.TrimSpace(email))
	})
	switch {
	case found < 0 && email != "" && admins:
		return nil, errors.New("there is no administrator " + email)
	case found < 0 && email != "":
		return nil, errors.New("there is no account " + email)
	case found < 0 && len(all) == 0 && admins:
		return nil, errors.New("there is no administrator yet: make one with rogito account create EMAIL --admin")
	case found < 0 && len(all) == 0:
		return nil, errors.New("there is no account yet: make one with rogito account create EMAIL")
	case found < 0:
		return nil, errors.New("there are several accounts: name one by its e-mail")
	}
	return &all[found], nil
}

// reachedAt is the address of the server, as far as a command beside it can tell: a sandbox
// that was given no address has written down its own.
func (s *Server) reachedAt() string {
	if s.cfg.PublicURL != "" {
		return strings.TrimSuffix(s.cfg.PublicURL, "/")
	}
	if box := ReadSandbox(s.cfg.Data); box != nil && box.BaseURL != "" {
		return box.BaseURL
	}
	cfg := s.cfg
	if addr, err := net.ResolveTCPAddr("tcp", cfg.Listen); err == nil {
		if addr.IP == nil {
			addr.IP = net.IPv6unspecified
		}
		cfg.defaultPublicURL(addr)
	}
	return cfg.PublicURL
}
