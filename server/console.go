package server

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"
)

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
	found := -1
	for i, a := range all {
		if email == "" && (a.Sandbox || len(all) == 1) || strings.EqualFold(a.Email, strings.TrimSpace(email)) {
			found = i
			break
		}
	}
	switch {
	case found < 0 && email != "":
		return nil, errors.New("there is no account " + email)
	case found < 0 && len(all) == 0:
		return nil, errors.New("there is no account yet: make one with rogito account create EMAIL")
	case found < 0:
		return nil, errors.New("there are several accounts: name one by its e-mail")
	}
	secret, until, err := s.accounts.LoginLink(ctx, all[found].ID)
	if err != nil {
		return nil, err
	}
	return &ConsoleLink{all[found].Email, s.reachedAt() + "/console/login?link=" + secret, until}, nil
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
		cfg.defaultPublicURL(addr)
	}
	return cfg.PublicURL
}
