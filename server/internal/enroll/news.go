package enroll

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
)

// NewsKind is the job that informs a holder of what happened to an order.
const NewsKind = "holder-news"

// News is a message to a holder. It is in both languages, since theirs is not known.
type News struct{ ID, To, Subject, Text string }

// What messages are about, beside states.
const (
	newsReceived = "received" // files wait for a person who looks at them
	newsConfirm  = "confirm"  // what will be certified waits for the holder's word
	newsRefused  = "refused"  // an identification for other credentials
	newsShown    = "shown"    // the credentials
	newsDevice   = "device"   // a new one was enrolled
	newsResumed  = "resumed"  // a suspension is over
)

// notify queues a message to the holder, where the order has their address. There is none about
// states that the holder's own click caused and that pass in a moment.
func (s *Service) notify(ctx context.Context, tx *store.Tx, c *Certificate, what string) error {
	if _, told := news[what]; !told || s.config.Tell == nil || c.Subject.Email == "" {
		return nil
	}
	at := store.Millis(s.config.Now())
	return s.config.Tell(ctx, tx, job.Item{Kind: NewsKind, ID: fmt.Sprintf("%s %s %d", c.ID, what, at), Account: c.AccountID, Detail: fmt.Sprintf("%s %s %d", c.ID, what, at)})
}

// SendNews sends one. Names, addresses and reasons are looked up now: the queue has none.
func (s *Service) SendNews(ctx context.Context, i job.Item) error {
	parts := strings.Fields(i.Detail)
	if len(parts) != 3 || s.config.Send == nil {
		return fmt.Errorf("%w: news to nobody", job.ErrGiveUp)
	}
	c, err := s.ByID(ctx, parts[0])
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	what := parts[1]
	t, ok := news[what]
	if !ok || c.Subject.Email == "" {
		return nil
	}
	why := &Reason{English: "Whoever ordered it has given it up, or it was refused too often.", Italian: "Chi l'ha ordinato vi ha rinunciato, o è stato rifiutato troppe volte."}
	if what == string(Cancelled) || what == newsRefused {
		if said, err := s.refusalOf(ctx, c); err != nil {
			return err
		} else if said != nil {
			why = said
		}
	}
	link := c.Link
	if c.State == Cancelled {
		link = "" // it leads to no order
	}
	fill := func(text, reason string) string {
		return strings.NewReplacer("{name}", c.Owner, "{operator}", s.config.Operator, "{link}", link, "{why}", reason,
			"{address}", c.ShownTo, "{at}", c.ShownAt.UTC().Format("2006-01-02 15:04 UTC")).Replace(text)
	}
	return s.config.Send(ctx, News{
		ID: strings.Join(parts, "-"), To: c.Subject.Email, Subject: t.it[0] + " / " + t.en[0],
		Text: fill(t.it[1], why.Italian) + "\n--\n\n" + fill(t.en[1], why.English) + "\n" + s.config.Operator + "\n",
	})
}

const (
	enNotYou = "If that was not you, have the certificate revoked at once by whoever ordered it or by the operator of this service."
	itNotYou = "Se non eri tu, fai revocare subito il certificato da chi l'ha ordinato o dal gestore di questo servizio."
)

// news are the messages: subject and text.
var news = map[string]struct{ en, it [2]string }{
	newsReceived: {
		[2]string{"We have what you sent", "{name},\n\nwe have what you sent to prove who you are. A person looks at it now; we write to you when it is decided.\n\n{link}\n"},
		[2]string{"Abbiamo ricevuto ciò che hai inviato", "{name},\n\nabbiamo ricevuto ciò che hai inviato per dimostrare chi sei. Ora lo esamina una persona; ti scriviamo quando è deciso.\n\n{link}\n"},
	},
	newsConfirm: {
		[2]string{"Please confirm what your certificate will say", "{name},\n\nyou were identified. Read what your certificate will say and confirm it, in the browser that you used before:\n\n{link}\n"},
		[2]string{"Conferma che cosa dirà il tuo certificato", "{name},\n\nti sei identificato. Leggi che cosa dirà il tuo certificato e confermalo, nel browser che hai usato prima:\n\n{link}\n"},
	},
	newsRefused: {
		[2]string{"Your identification was refused", "{name},\n\nyour identification was refused. {why}\nYour certificate stays as it is. You can try again:\n\n{link}\n"},
		[2]string{"La tua identificazione è stata rifiutata", "{name},\n\nla tua identificazione è stata rifiutata. {why}\nIl tuo certificato resta com'è. Puoi riprovare:\n\n{link}\n"},
	},
	newsShown: {
		[2]string{"Your credentials were shown", "{name},\n\nthe credentials of your certificate were shown on {at} to the address {address}. They are not shown again.\n" + enNotYou + "\n"},
		[2]string{"Le tue credenziali sono state mostrate", "{name},\n\nle credenziali del tuo certificato sono state mostrate il {at} all'indirizzo {address}. Non saranno mostrate di nuovo.\n" + itNotYou + "\n"},
	},
	newsDevice: {
		[2]string{"A new device for your certificate", "{name},\n\na new device for one-time passwords was enrolled for your certificate. The old one does not work any more.\n" + enNotYou + "\n"},
		[2]string{"Un nuovo dispositivo per il tuo certificato", "{name},\n\nper il tuo certificato è stato registrato un nuovo dispositivo per i codici temporanei. Quello vecchio non funziona più.\n" + itNotYou + "\n"},
	},
	string(Done): {
		[2]string{"Your certificate is active", "{name},\n\nyour certificate for electronic signatures is active. Your credentials show once, in the browser in which you were identified:\n\n{link}\n"},
		[2]string{"Il tuo certificato è attivo", "{name},\n\nil tuo certificato per firme elettroniche è attivo. Le credenziali si vedono una volta sola, nel browser in cui ti sei identificato:\n\n{link}\n"},
	},
	string(Cancelled): {
		[2]string{"Your order has ended", "{name},\n\nthe order of your certificate has ended, and nothing was issued. {why}\nWhoever ordered it can order it again.\n"},
		[2]string{"Il tuo ordine è terminato", "{name},\n\nl'ordine del tuo certificato è terminato e nulla è stato emesso. {why}\nChi l'ha ordinato può ordinarlo di nuovo.\n"},
	},
	string(Suspended): {
		[2]string{"Your certificate is suspended", "{name},\n\nyour certificate is suspended: nothing can be signed with it until it is resumed.\n"},
		[2]string{"Il tuo certificato è sospeso", "{name},\n\nil tuo certificato è sospeso: finché non viene riattivato non si può firmare.\n"},
	},
	newsResumed: {
		[2]string{"Your certificate is active again", "{name},\n\nthe suspension of your certificate is over: it signs again.\n"},
		[2]string{"Il tuo certificato è di nuovo attivo", "{name},\n\nla sospensione del tuo certificato è finita: si può di nuovo firmare.\n"},
	},
	string(Revoked): {
		[2]string{"Your certificate is revoked", "{name},\n\nyour certificate is revoked for good. What was signed with it before stays as it is.\n"},
		[2]string{"Il tuo certificato è revocato", "{name},\n\nil tuo certificato è revocato per sempre. Ciò che è stato firmato prima resta com'è.\n"},
	},
	string(Expired): {
		[2]string{"Your certificate has expired", "{name},\n\nyour certificate has expired: nothing can be signed with it any more.\n"},
		[2]string{"Il tuo certificato è scaduto", "{name},\n\nil tuo certificato è scaduto: non si può più firmare.\n"},
	},
}
