package server

import (
	"context"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// openMail makes what sends mail; nil where none is configured.
func (s *Server) openMail() (err error) {
	if s.cfg.Mail.On() {
		s.mail, err = mail.New(s.cfg.Mail)
	}
	return err
}

// notify queues a mail about something that waits; it is sent once the transaction commits.
func (s *Server) notify(ctx context.Context, tx *store.Tx, n mail.Notice) error {
	if s.mail == nil {
		return nil
	}
	s.jobs.Wake(tx, "work")
	return job.Put(ctx, tx, n.Item())
}

func (s *Server) approvalWaits(ctx context.Context, tx *store.Tx, r *ledger.Record) error {
	return s.notify(ctx, tx, mail.Notice{About: mail.Approval, ID: r.ID, Account: r.AccountID})
}

func (s *Server) reviewWaits(ctx context.Context, tx *store.Tx, c *enroll.Certificate) error {
	return s.notify(ctx, tx, mail.Notice{About: mail.Identification, ID: c.ID, Account: c.AccountID})
}

// startMail registers the job that sends.
func (s *Server) startMail() {
	if s.mail != nil {
		w := &mail.Worker{Sender: s.mail, To: s.recipients, Link: s.waitingAt}
		s.jobs.Register(mail.Kind, job.Kind{Attempts: mail.Attempts, Work: w.Work})
	}
}

// recipients are the addresses of those who decide: the account whose signature waits; for an
// identification the reviewers, or all administrators.
func (s *Server) recipients(ctx context.Context, n mail.Notice) (to []string, err error) {
	if n.About == mail.Identification && len(s.cfg.Mail.Reviewers) > 0 {
		return s.cfg.Mail.Reviewers, nil
	}
	all, err := s.accounts.List(ctx)
	for _, a := range all {
		if n.About == mail.Approval && a.ID == n.Account || n.About == mail.Identification && a.Admin {
			to = append(to, a.Email)
		}
	}
	return to, err
}

// waitingAt is the page, or the call, where the decision is made.
func (s *Server) waitingAt(n mail.Notice) string {
	switch {
	case n.About == mail.Approval && s.cfg.Console.Enabled:
		return s.cfg.PublicURL + "/console/records/" + n.ID
	case n.About == mail.Approval:
		return s.cfg.PublicURL + "/approvals/" + n.ID
	case s.cfg.Console.Enabled:
		return s.cfg.PublicURL + "/console/certificates/" + n.ID + "/review"
	}
	return "rogito cert review " + n.ID
}
