package server

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"os"
	"path/filepath"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/sms"
	"rogito.dev/rogito/server/internal/store"
)

// messenger sends messages to people who sign. In a sandbox they are written to the folder
// outbox and not sent.
type messenger struct {
	mail *mail.Sender // nil: none is sent
	sms  *sms.Sender
}

var _ people.Messenger = (*messenger)(nil)

// outbox is the folder of the messages of a sandbox.
func outbox(data string) string { return filepath.Join(data, "outbox") }

// outboxShown is the folder whose messages the console shows: those of a sandbox.
func (s *Server) outboxShown() string {
	if s.sandboxed {
		return outbox(s.cfg.Data)
	}
	return ""
}

// openMessenger makes what sends mail and SMS to people who sign.
func (s *Server) openMessenger() (*messenger, error) {
	if s.sandboxed {
		dir := outbox(s.cfg.Data)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		return &messenger{mail.NewOutbox(dir, s.cfg.Mail), sms.NewOutbox(dir)}, nil
	}
	m := &messenger{mail: s.mail}
	if s.cfg.SMS.On() {
		m.sms = sms.New(s.cfg.SMS, s.sig.guard)
	}
	return m, nil
}

// Offers says whether messages can go by a channel.
func (m *messenger) Offers(channel string) bool {
	switch channel {
	case ledger.ByEmail:
		return m.mail != nil
	case ledger.BySMS:
		return m.sms != nil
	}
	return false
}

// SendNews hands a message to a holder on.
func (m *messenger) SendNews(ctx context.Context, n enroll.News) error {
	return m.Send(ctx, people.Message{Channel: ledger.ByEmail, Record: n.ID, ID: "holder", To: n.To, Subject: n.Subject, Text: n.Text})
}

// holderNews queues mail to holders; nil where no mail is sent.
func (s *Server) holderNews(m *messenger) func(context.Context, *store.Tx, job.Item) error {
	if !m.Offers(ledger.ByEmail) {
		return nil
	}
	return func(ctx context.Context, tx *store.Tx, i job.Item) error {
		s.jobs.Wake(tx, "work")
		return job.Put(ctx, tx, i)
	}
}

// Send sends a message. A permanent refusal is not tried again.
func (m *messenger) Send(ctx context.Context, one people.Message) (err error) {
	if !m.Offers(one.Channel) {
		return fmt.Errorf("%w: no %s is sent here", job.ErrGiveUp, one.Channel)
	}
	id := filepath.Base(one.Record + "-" + one.ID)
	if one.Channel == ledger.BySMS {
		err = m.sms.Send(ctx, sms.Message{ID: id, To: one.To, Text: one.Text})
	} else {
		err = m.mail.Send(ctx, mail.Message{ID: id, To: []string{one.To}, Subject: one.Subject, Text: one.Text})
	}
	var said *textproto.Error
	if errors.Is(err, sms.ErrRefused) || errors.As(err, &said) && said.Code >= 500 {
		return fmt.Errorf("%w: %w", job.ErrGiveUp, err)
	}
	return err
}
