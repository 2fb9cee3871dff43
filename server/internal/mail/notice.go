package mail

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"strings"

	"rogito.dev/rogito/server/internal/job"
)

// Kinds of notices.
const (
	Approval       = "approval"       // a signature waits for another token's approval
	Identification = "identification" // a video waits for an operator
)

// Notice is the job that mails a notice. It holds the id of what waits, and no names or addresses:
// those are looked up when it is sent.
type Notice struct {
	About   string
	ID      string
	Account string
}

// Kind names the job in the queue.
const Kind = "mail"

// Attempts bound the tries: some six minutes in all.
const Attempts = 6

// Item is the notice as the queue has it.
func (n Notice) Item() job.Item {
	return job.Item{Kind: Kind, ID: n.About + "-" + n.ID, Account: n.Account, Detail: n.About + " " + n.ID}
}

// Worker sends notices.
type Worker struct {
	Sender *Sender
	// To are the recipients; that there are none is no error.
	To func(context.Context, Notice) ([]string, error)
	// Link leads to what waits.
	Link func(Notice) string
}

// Work sends one. What the server refuses for good (RFC 5321, 4.2.1) is not tried again.
func (w *Worker) Work(ctx context.Context, i job.Item) error {
	n := Notice{Account: i.Account}
	n.About, n.ID, _ = strings.Cut(i.Detail, " ")
	to, err := w.To(ctx, n)
	if err != nil || len(to) == 0 {
		return err
	}
	t := texts[n.About]
	err = w.Sender.Send(ctx, Message{ID: n.About + "-" + n.ID, To: to, Subject: t.subject, Text: t.text + "\n" + w.Link(n) + "\n"})
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 500 {
		return fmt.Errorf("%w: %w", job.ErrGiveUp, err)
	}
	return err
}

// texts are in both languages, since the reader's is not known.
var texts = map[string]struct{ subject, text string }{
	Approval: {
		"A signature waits for your approval / Una firma attende la tua approvazione",
		"A signature was asked for that needs the approval of a second token.\nWithout it, it ends in an error after a day.\n\n" +
			"È stata richiesta una firma che necessita dell'approvazione di un secondo token.\nSenza approvazione, dopo un giorno termina in errore.\n",
	},
	Identification: {
		"An identification waits for review / Un'identificazione attende la revisione",
		"A video and documents were handed in for a certificate, and wait for an operator's decision.\n\n" +
			"Sono stati consegnati un video e i documenti per un certificato: attendono la decisione di un operatore.\n",
	},
}
