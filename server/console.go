package server

import (
	"context"
	"errors"
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
	"rogito.dev/rogito/server/internal/pages/console"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/upload"
)

// mountDesk mounts the pages under /console.
func (s *Server) mountDesk(a *api.API, site *look.Site) *console.Desk {
	h := &healthReport{server: s}
	pages := console.New(console.Parts{
		Site: site, Accounts: s.accounts, Billing: s.billing, Signing: s.sig.signing, Enroll: s.sig.enroll, Keys: s.sig.keys, Callbacks: s.sig.callbacks, Idempotency: s.idempotency,
		Spool: s.spool, Limits: upload.Limits{Body: s.cfg.Limits.Body}, Document: s.cfg.Limits.Document,
		Send: a.Send, Health: h.read, Certificate: s.sig.records.Certificate,
		People: s.sig.people, Drawer: s.drawer, Outbox: s.outboxShown(),
	})
	a.Know("login/logout/sign/page/retry/invite/records/records.csv/templates/delete/signed/certificate/callbacks/signers/remind/stop/resend/approve/refuse/certificates/new/link/suspend/resume/revoke/cancel/review/evidence/account/tokens/health")
	a.Mount("/console/*", pages, http.MethodGet, http.MethodHead, http.MethodPost)
	a.Mount("/console", http.RedirectHandler("/console/", http.StatusSeeOther))
	return pages
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
	if !s.cfg.Console.Enabled {
		return nil, errors.New("the console is switched off (console.enabled)")
	}
	found := -1
	for i, a := range all {
		if email == "" && (a.Sandbox || len(all) == 1) || strings.EqualFold(a.Email, strings.TrimSpace(email)) {
			found = i
			break
		}
	}
	switch {
	case found < 0 && email != "" && next != "":
		return nil, errors.New("there is no administrator " + email)
	case found < 0 && email != "":
		return nil, errors.New("there is no account " + email)
	case found < 0 && len(all) == 0 && next != "":
		return nil, errors.New("there is no administrator yet: make one with rogito account create EMAIL --admin")
	case found < 0 && len(all) == 0:
		return nil, errors.New("there is no account yet: make one with rogito account create EMAIL")
	case found < 0:
		return nil, errors.New("there are several accounts: name one by its e-mail")
	}
	secret, until, err := s.accounts.LoginLink(ctx, all[found].ID)
	if err != nil {
		return nil, err
	}
	return &ConsoleLink{all[found].Email, s.reachedAt() + "/console/login?link=" + secret + next, until}, nil
}

// reachedAt is where people reach the server, as far as a command beside it can
// tell: a sandbox that was given no address has written down its own.
func (s *Server) reachedAt() string {
	if s.cfg.PublicURL != "" {
		return strings.TrimSuffix(s.cfg.PublicURL, "/")
	}
	if box := readSandbox(s.cfg.Data); box != nil && box.BaseURL != "" {
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
