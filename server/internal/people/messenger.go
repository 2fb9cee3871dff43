package people

import (
	"context"
	"time"
)

// Kinds of messages.
const (
	Invite   = "invite"   // it is your turn: the link
	CodeSent = "code"     // a one-time code
	Reminder = "reminder" // it is still your turn
	Declined = "declined" // another person declined: nothing is asked of the recipient any more
	Done     = "done"     // everybody signed: the link to the document
	Expired  = "expired"  // not everybody signed in time
)

// Message is one to be sent, with its text: plain, in the person's language.
type Message struct {
	ID       string // the same for the same news
	Kind     string
	Channel  string // ledger.ByEmail, ledger.BySMS
	To       string // an address, or a number in E.164
	Name     string // of whom it goes to
	Subject  string // of a mail
	Text     string
	Logo     string // options.ui.sidebarLogo; empty: none
	Account  string
	Record   string
	Signer   string // id of the person
	Language string // it, en
	At       time.Time
}

// Messenger sends mail and SMS; in the sandbox it leaves them in the outbox.
type Messenger interface {
	// Offers says whether messages can go by a channel: sms needs sms.url, or a sandbox.
	Offers(channel string) bool
	// Send hands a message on and returns once it was taken. An error is tried again
	// later, unless it is job.ErrGiveUp. The text may contain a code: it must not be logged.
	Send(ctx context.Context, m Message) error
}
