package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Kinds of work in the queue. An item names a record and a person by their ids; names,
// addresses and texts are looked up when a message is sent.
const (
	messageJob  = "signer-message"
	reminderJob = "signer-reminder"
	expiryJob   = "signers-expire"
)

// put queues a message, sent once the transaction commits; a person without an address gets
// none.
func (s *Service) put(ctx context.Context, tx *store.Tx, r *ledger.Record, p *ledger.Person, kind string) error {
	if channelOf(p) == "" {
		return nil
	}
	s.Jobs.Wake(tx, "work")
	return job.Put(ctx, tx, job.Item{
		Kind: messageJob, ID: strings.Join([]string{r.ID, p.ID, kind, fmt.Sprint(p.Version)}, " "), Account: r.AccountID, Detail: r.ID + " " + p.ID + " " + kind,
	})
}

// channelOf is the channel of a person's messages; empty: none.
func channelOf(p *ledger.Person) string {
	switch {
	case p.Email != "":
		return ledger.ByEmail
	case p.Mobile != "":
		return ledger.BySMS
	}
	return ""
}

// sendMessage sends one. Its occasion may be over by now.
func (s *Service) sendMessage(ctx context.Context, i job.Item) error {
	parts := strings.Fields(i.Detail)
	if len(parts) != 3 {
		return fmt.Errorf("%w: a message to nobody", job.ErrGiveUp)
	}
	if channel, yes := strings.CutPrefix(parts[2], CodeSent+"-"); yes {
		err := s.resendCode(ctx, parts[0], parts[1], channel)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}
	r, err := s.Signing.ByID(ctx, parts[0])
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	at := slices.IndexFunc(r.Persons, func(p *ledger.Person) bool { return p.ID == parts[1] })
	if at < 0 {
		return nil // replaced
	}
	p, kind := r.Persons[at], parts[2]
	if (kind == Invite || kind == Reminder) && (!IsDue(r, p) || p.Pending()) {
		return nil
	}
	sent := s.Messenger.Send(ctx, s.message(r, p, kind, channelOf(p), ""))
	_, _, err = s.Signing.ChangePerson(ctx, r.ID, p.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		return s.delivered(ctx, tx, r, p, kind, channelOf(p), sent)
	})
	if errors.Is(err, fault.NotFound) {
		err = nil // it is gone meanwhile
	}
	return errors.Join(sent, err)
}

// delivered records the outcome of a message.
func (s *Service) delivered(ctx context.Context, tx *store.Tx, r *ledger.Record, p *ledger.Person, kind, channel string, sent error) (string, string, map[string]any, error) {
	more := map[string]any{"message": kind, "channel": channel}
	if sent != nil {
		s.config.Log.WarnContext(ctx, "a message to a signer failed", "record", r.ID, "signer", p.ID, "kind", kind, "channel", channel, "error", sent)
		return "message-failed", fmt.Sprintf("the %s by %s could not be sent; it is tried again", kind, channel), more, s.Signing.Tell(ctx, tx, r)
	}
	if kind == Invite {
		p.Invited = s.config.Now()
		if p.State == ledger.PersonNew {
			p.State = ledger.PersonNotified
		}
	}
	return "message", fmt.Sprintf("%s sent by %s", kind, channel), more, s.Signing.Tell(ctx, tx, r)
}

// remindAll reminds those whose turn it is, and comes again. Missed reminders are sent once.
func (s *Service) remindAll(ctx context.Context, i job.Item) error {
	r, err := s.Signing.ByID(ctx, i.ID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	every := r.Options.People.Reminders
	if r.State.Final() || every == nil {
		return nil
	}
	now := s.config.Now()
	for _, p := range due(r) {
		if r.State != ledger.WaitSigners || p.Pending() || now.Sub(slices.MaxFunc([]time.Time{p.Invited, p.Reminded, r.CreatedAt}, time.Time.Compare)) < time.Duration(every.Every)*24*time.Hour-2*time.Hour {
			continue
		}
		_, _, err := s.Signing.ChangePerson(ctx, r.ID, p.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
			if !IsDue(r, p) {
				return "", "", nil, nil
			}
			p.Reminded = now
			return "reminded", "a reminder is due", nil, s.put(ctx, tx, r, p, Reminder)
		})
		if err != nil && !errors.Is(err, fault.NotFound) {
			return err
		}
	}
	return job.Snooze(s.nextReminder(r, now).Sub(now))
}

// nextReminder is the next time that the hour strikes where the request is from.
func (s *Service) nextReminder(r *ledger.Record, now time.Time) time.Time {
	zone, err := time.LoadLocation(r.Options.Timezone)
	if err != nil {
		zone = time.UTC // the request was checked
	}
	local := now.In(zone)
	next := time.Date(local.Year(), local.Month(), local.Day(), r.Options.People.Reminders.At, 0, 0, 0, zone)
	for !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

// language of a person's messages: theirs, that of the page they saw, or English.
func language(p *ledger.Person) string {
	switch {
	case p.Language == "it" || p.Language == "en":
		return p.Language
	case p.Spoken == "it":
		return "it"
	}
	return "en"
}

// message writes one.
func (s *Service) message(r *ledger.Record, p *ledger.Person, kind, channel, code string) Message {
	lang := language(p)
	m := Message{
		ID: p.ID + "-" + kind + "-" + fmt.Sprint(p.Version), Kind: kind, Channel: channel, To: p.Email, Name: p.FullName(), Logo: r.Options.People.UI.SidebarLogo,
		Account: r.AccountID, Record: r.ID, Signer: p.ID, Language: lang, At: s.config.Now(),
	}
	if channel == ledger.BySMS {
		m.To = p.Mobile
	}
	title := r.Title
	if title == "" {
		title = map[string]string{"it": "un documento", "en": "a document"}[lang]
	}
	title = oneLine(title, 120)
	link := s.Signing.Link(r, p)
	t := texts[lang][kind]
	fill := strings.NewReplacer("{name}", p.FullName(), "{title}", title, "{operator}", s.config.Operator, "{link}", link,
		"{until}", r.Options.People.ExpiresAt.UTC().Format("2006-01-02 15:04 MST"), "{why}", r.ErrorMessage)
	m.Subject = fill.Replace(t.subject)
	switch {
	case kind == CodeSent && p.Message != "":
		m.Text = request.WithCode(p.Message, code)
	case kind == CodeSent:
		m.Text = strings.ReplaceAll(fill.Replace(t.text), "{code}", code)
		if channel == ledger.BySMS {
			m.Text = strings.ReplaceAll(fill.Replace(t.sms), "{code}", code)
		}
	case channel == ledger.BySMS:
		m.Text = fill.Replace(t.sms)
	default:
		m.Text = fill.Replace(t.text)
	}
	return m
}

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

type text struct{ subject, text, sms string }

var texts = map[string]map[string]text{
	"en": {
		Invite: {
			"Please sign: {title}", "{name},\n\n{operator} asks you to sign {title}. Read and sign it here:\n\n{link}\n\nThe link is yours alone: do not pass it on. It is good until {until}.\n",
			"{operator}: please sign {title}: {link}",
		},
		CodeSent: {"Your code for: {title}", "{name},\n\nyour code is {code}. It is good for ten minutes, once, and for {title} only.\n\n{operator}\n", "{operator}: your code is {code}"},
		Reminder: {
			"Reminder: please sign {title}", "{name},\n\n{title} still waits for your signature:\n\n{link}\n\nIt can be signed until {until}.\n\n{operator}\n",
			"{operator}: {title} waits for your signature: {link}",
		},
		Declined: {"Not signed: {title}", "{name},\n\nsomebody declined to sign {title}. Nothing more is asked of you.\n\n{operator}\n", "{operator}: {title} was declined. Nothing more is asked of you."},
		Done:     {"Signed: {title}", "{name},\n\neverybody has signed {title}. You find the document here:\n\n{link}\n\n{operator}\n", "{operator}: {title} is signed: {link}"},
		Expired:  {"Too late: {title}", "{name},\n\nnot everybody signed {title} in time. Nothing more is asked of you.\n\n{operator}\n", "{operator}: {title} was not signed in time."},
	},
	"it": {
		Invite: {
			"Richiesta di firma: {title}", "{name},\n\n{operator} ti chiede di firmare {title}. Leggi e firma qui:\n\n{link}\n\nIl collegamento è personale: non inoltrarlo. Vale fino al {until}.\n",
			"{operator}: firma {title}: {link}",
		},
		CodeSent: {"Il tuo codice per: {title}", "{name},\n\nil tuo codice è {code}. Vale dieci minuti, una volta sola e solo per {title}.\n\n{operator}\n", "{operator}: il tuo codice è {code}"},
		Reminder: {
			"Promemoria: firma {title}", "{name},\n\n{title} attende ancora la tua firma:\n\n{link}\n\nSi può firmare fino al {until}.\n\n{operator}\n",
			"{operator}: {title} attende la tua firma: {link}",
		},
		Declined: {"Non firmato: {title}", "{name},\n\nqualcuno ha rifiutato di firmare {title}. Non ti è chiesto altro.\n\n{operator}\n", "{operator}: {title} è stato rifiutato. Non ti è chiesto altro."},
		Done:     {"Firmato: {title}", "{name},\n\ntutti hanno firmato {title}. Trovi il documento qui:\n\n{link}\n\n{operator}\n", "{operator}: {title} è firmato: {link}"},
		Expired:  {"Tempo scaduto: {title}", "{name},\n\nnon tutti hanno firmato {title} in tempo. Non ti è chiesto altro.\n\n{operator}\n", "{operator}: {title} non è stato firmato in tempo."},
	},
}
