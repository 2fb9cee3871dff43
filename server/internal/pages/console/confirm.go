package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// act is what cannot be undone. It is asked about on a page of its own, which names
// the thing and says what is lost; only the form of that page does it.
type act struct {
	// find is the thing, or why it cannot be done to it.
	find  func(d *Pages, v *visit, id string) (*target, error)
	title look.Text // with the name of the thing
	loss  look.Text // what cannot be undone
	do    look.Text // on the button
	// reasons to choose from; none: it wants no reason.
	reasons []reason
	carry   func(d *Pages, v *visit, t *target, reason string) (address, notice string, err error)
}

// target is what an act is done to.
type target struct {
	ID, Name string
	Facts    []fact
	Back     string // the page that one comes from
}

// reason of an act, by the word that is written down.
type reason struct {
	Word string
	Name look.Text
}

// revocations are the reasons of RFC 5280, 5.3.1 that the certificate of a person or
// an organisation can have; the others are of authorities, or no end.
var revocations = []reason{
	{"keyCompromise", look.T("Somebody else may know the password or have the key", "Altri possono conoscere la password o avere la chiave")},
	{"affiliationChanged", look.T("The holder left, or the name or the organisation changed", "Il titolare non è più in carica, o nome o organizzazione sono cambiati")},
	{"superseded", look.T("Another certificate takes its place", "Un altro certificato prende il suo posto")},
	{"cessationOfOperation", look.T("It is not needed any more", "Non serve più")},
	{"privilegeWithdrawn", look.T("The holder may not sign any more", "Il titolare non può più firmare")},
	{enroll.Unspecified, look.T("Another reason", "Altro motivo")},
}

var acts = map[string]*act{
	"revoke": {
		find: certificateIn(enroll.Done, enroll.Suspended), reasons: revocations,
		title: look.T("Revoke the certificate of %s?", "Revocare il certificato di %s?"),
		loss: look.T("The certificate is revoked for good and its key is erased. Nobody can sign with it again, and no one can bring it back. Documents that were signed before stay signed. If you are not sure, suspend it instead.",
			"Il certificato è revocato per sempre e la sua chiave è cancellata. Nessuno potrà più firmare con esso né ripristinarlo. I documenti già firmati restano firmati. Nel dubbio, sospendilo."),
		do: look.T("Revoke for good", "Revoca per sempre"),
		carry: func(d *Pages, v *visit, t *target, reason string) (string, string, error) {
			_, err := d.Enroll.RevokeFor(v.ctx(), v.accountID(), t.ID, reason)
			return "/console/certificates", "revoke", err
		},
	},
	"cancel": {
		find:  certificateIn(enroll.Ordered, enroll.Registering),
		title: look.T("Cancel the order for %s?", "Annullare l'ordine per %s?"),
		loss: look.T("The link of the holder ends and what was handed in is erased. The price goes back to the wallet. A new order begins from the start.",
			"Il collegamento del titolare finisce e ciò che ha inviato viene cancellato. Il prezzo torna nel portafoglio. Un nuovo ordine ricomincia da capo."),
		do: look.T("Cancel the order", "Annulla l'ordine"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			_, err := d.Enroll.Cancel(v.ctx(), v.accountID(), t.ID, "cancelled by its buyer")
			return "/console/certificates", "cancel", err
		},
	},
	"token": {
		find:  (*Pages).tokenNamed,
		title: look.T("Revoke the token %s?", "Revocare il token %s?"),
		loss: look.T("Programs that use this token, or one that it made, are refused at once. A revoked token never works again: they need a new one.",
			"I programmi che usano questo token, o uno creato da esso, sono rifiutati subito. Un token revocato non funziona più: ne serve uno nuovo."),
		do: look.T("Revoke the token", "Revoca il token"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			if err := d.Accounts.DeleteToken(v.ctx(), v.Caller, t.ID); err != nil {
				return "", "", err
			}
			if t.ID == v.Caller.TokenID {
				d.setCookie(v.w, v.r, "")
				return "/console/login?ended=" + account.SessionToken, "", nil
			}
			return "/console/account", "token", nil
		},
	},
	"stop": {
		find:  (*Pages).requestThatWaits,
		title: look.T("Cancel the request %s?", "Annullare la richiesta %s?"),
		loss: look.T("Nobody can sign any more, the links of the signers end, and whoever was invited is told. Signatures that were given already do not count.",
			"Nessuno potrà più firmare, i link dei firmatari finiscono e chi era stato invitato viene avvisato. Le firme già date non valgono."),
		do: look.T("Cancel the request", "Annulla la richiesta"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			return "/console/records/" + t.ID, "stop", d.Signing.Delete(v.ctx(), v.accountID(), t.ID)
		},
	},
	"record": {
		find:  (*Pages).recordThatEnded,
		title: look.T("Delete the record %s?", "Eliminare la pratica %s?"),
		loss: look.T("The documents, signed ones too, and the history are deleted. Nobody can get them back from here: download what you want to keep first.",
			"I documenti, anche quelli firmati, e la storia vengono eliminati. Da qui nessuno potrà riaverli: scarica prima ciò che vuoi conservare."),
		do: look.T("Delete the record", "Elimina la pratica"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			return "/console/records", "record", d.Signing.Delete(v.ctx(), v.accountID(), t.ID)
		},
	},
	"person": {
		find:  (*Pages).personNamed,
		title: look.T("Remove %s?", "Rimuovere %s?"),
		loss: look.T("The person is logged out everywhere and cannot log in again. Tokens that the person made in the console end too, and programs that use them are refused. What the person signed or decided stays. To come back, the person has to be invited anew.",
			"La persona viene disconnessa ovunque e non può più accedere. Finiscono anche i token che ha creato nella console, e i programmi che li usano sono rifiutati. Ciò che ha firmato o deciso resta. Per tornare deve essere invitata di nuovo."),
		do: look.T("Remove the person", "Rimuovi la persona"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			return "/console/people", "person", d.Members.Remove(v.ctx(), v.Caller, t.ID)
		},
	},
	"passkey": {
		find:  (*Pages).passkeyNamed, // of one's own, whatever one's role
		title: look.T("Remove the passkey of %s?", "Rimuovere la passkey del %s?"),
		loss: look.T("Nobody can log in with it any more. Also delete it on the phone or computer that has it. Sessions that are open stay open.",
			"Nessuno potrà più accedere con essa. Eliminala anche dal telefono o dal computer che la contiene. Le sessioni aperte restano aperte."),
		do: look.T("Remove the passkey", "Rimuovi la passkey"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			return "/console/passkeys", "unkeyed", d.Members.RemovePasskey(v.ctx(), v.Member, t.ID)
		},
	},
	"template": {
		find:  (*Pages).templateNamed,
		title: look.T("Delete the template %s?", "Eliminare il modello %s?"),
		loss: look.T("The document and its places are deleted. Requests that were made from it go on.",
			"Il documento e i suoi posti vengono eliminati. Le richieste già create da esso proseguono."),
		do: look.T("Delete the template", "Elimina il modello"),
		carry: func(d *Pages, v *visit, t *target, _ string) (string, string, error) {
			return "/console/templates", "template", d.People.DropTemplate(v.ctx(), v.accountID(), t.ID)
		},
	},
}

// confirmPage asks whether to do what cannot be undone.
type confirmPage struct {
	look.Head
	As      string
	Thing   *target
	Loss    look.Text
	Do      look.Text
	Reasons []look.Option
	Problem string // with the reason
}

// asks is the page of an act, and does it where its form says so.
func (d *Pages) asks(name string) page {
	a := acts[name]
	return func(v *visit) error {
		sent := v.r.Method == http.MethodPost
		chosen := ""
		if sent {
			f, err := form(v)
			if err != nil {
				return err
			}
			sent, chosen = f.Get("confirmed") == "true", f.Get("reason")
		}
		t, err := a.find(d, v, cmp.Or(v.r.PathValue("id"), v.r.PathValue("passkey")))
		if err != nil {
			return err
		}
		p := &confirmPage{Head: d.head(v, a.title.With(t.Name)), As: v.accountID(), Thing: t, Loss: a.loss, Do: a.do}
		if len(a.reasons) > 0 {
			l := look.Language(v.r)
			p.Reasons = []look.Option{{Value: "", Name: look.T("Choose a reason", "Scegli un motivo").In(l)}}
			known := false
			for _, r := range a.reasons {
				known = known || r.Word == chosen
				p.Reasons = append(p.Reasons, look.Option{Value: r.Word, Name: r.Name.In(l), Selected: r.Word == chosen})
			}
			if sent && !known {
				sent, p.Problem = false, look.T("Choose why.", "Scegli il motivo.").In(l)
			}
		}
		switch {
		case sent:
			to, notice, err := a.carry(d, v, t, chosen)
			if err != nil {
				return err
			}
			if notice == "" {
				seeOther(v.w, v.r, to)
				return nil
			}
			return d.done(v, to, notice)
		case v.r.Method == http.MethodPost:
			p.Alert = look.T("Nothing was done yet: look at what is lost, and confirm.", "Nulla è stato ancora fatto: leggi che cosa si perde e conferma.")
			d.pages.Render(v.w, v.r, http.StatusUnprocessableEntity, "confirm", p)
		default:
			d.pages.Render(v.w, v.r, http.StatusOK, "confirm", p)
		}
		return nil
	}
}

// certificateIn finds a certificate or an order that is in one of these states.
func certificateIn(states ...enroll.State) func(d *Pages, v *visit, id string) (*target, error) {
	return func(d *Pages, v *visit, id string) (*target, error) {
		c, err := d.Enroll.Find(v.ctx(), v.accountID(), id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(states, c.State) {
			return nil, fault.New(fault.WrongState, "the certificate is %s", c.State)
		}
		names, err := d.Keys.Usernames(v.ctx(), v.accountID())
		if err != nil {
			return nil, err
		}
		l := look.Language(v.r)
		t := &target{ID: c.ID, Name: owner(c), Back: "/console/certificates"}
		t.Facts = append(t.Facts, fact{look.T("Holder", "Titolare"), owner(c)}, fact{look.T("Kind", "Tipo"), kindNames[c.Kind].In(l)}, fact{look.T("State", "Stato"), certificateStates[c.State].In(l)})
		if names[c.ID] != "" {
			t.Facts = append(t.Facts, fact{look.T("Username", "Nome utente"), names[c.ID]})
		}
		if !c.NotAfter.IsZero() {
			t.Facts = append(t.Facts, fact{look.T("Valid until", "Valido fino al"), l.Day(c.NotAfter, d.Site.Zone)})
		} else {
			t.Facts = append(t.Facts, fact{look.T("Ordered on", "Ordinato il"), l.Day(c.CreatedAt, d.Site.Zone)})
		}
		return t, nil
	}
}

func (d *Pages) tokenNamed(v *visit, id string) (*target, error) {
	t, err := d.Accounts.FindToken(v.ctx(), v.accountID(), id)
	if err != nil {
		return nil, err
	}
	facts := []fact{
		{look.T("Ends in", "Finisce con"), "…" + t.LastFour},
		{look.T("Scopes", "Permessi"), strings.Join(t.Scopes, ", ")},
		{look.T("Requests so far", "Richieste finora"), look.Number(look.Language(v.r), t.Stats.TotalRequests)},
	}
	if t.ID == v.Caller.TokenID {
		facts = append(facts, fact{look.T("Note", "Nota"), look.T("It is the token that you are logged in with: this session ends too.", "È il token con cui hai fatto l'accesso: finisce anche questa sessione.").In(look.Language(v.r))})
	}
	return &target{ID: t.ID, Name: cmp.Or(t.Name, "…"+t.LastFour), Back: "/console/account", Facts: facts}, nil
}

func (d *Pages) requestThatWaits(v *visit, id string) (*target, error) {
	r, err := d.Signing.Find(v.ctx(), v.accountID(), id)
	if err != nil {
		return nil, err
	}
	if !r.ByPeople() || r.State.Final() {
		return nil, fault.New(fault.WrongState, "the record is %s: there is nothing to cancel", r.State)
	}
	return d.recordThing(v, r), nil
}

func (d *Pages) recordThatEnded(v *visit, id string) (*target, error) {
	r, err := d.Signing.Find(v.ctx(), v.accountID(), id)
	if err != nil {
		return nil, err
	}
	if !r.State.Final() {
		return nil, look.Refusal(fault.WrongState, look.T("This record has not ended yet: it cannot be deleted.", "Questa pratica non è ancora finita: non si può eliminare."))
	}
	return d.recordThing(v, r), nil
}

func (d *Pages) recordThing(v *visit, r *ledger.Record) *target {
	t := &target{ID: r.ID, Name: titled(r), Back: "/console/records/" + r.ID}
	l := look.Language(v.r)
	t.Facts = append(t.Facts, fact{look.T("State", "Stato"), stateOf(r).Name.In(l)}, fact{look.T("Asked for", "Richiesta"), l.Date(r.CreatedAt, d.Site.Zone)})
	for _, f := range r.Inputs {
		if len(t.Facts) < 12 && f.Label != "" {
			t.Facts = append(t.Facts, fact{look.T("File", "Nome del file"), f.Label})
		}
	}
	return t
}

func (d *Pages) templateNamed(v *visit, id string) (*target, error) {
	t, err := d.People.FindTemplate(v.ctx(), v.accountID(), id)
	if err != nil {
		return nil, err
	}
	return &target{ID: t.ID, Name: t.Name, Back: "/console/templates", Facts: []fact{{look.T("File", "Nome del file"), t.File}, {look.T("Places", "Posti"), strings.Join(t.Places, ", ")}}}, nil
}

// templatesPage lists the documents that were kept to be asked for again.
type templatesPage struct {
	look.Head
	Notice    look.Text
	MayDelete bool
	Rows      []*people.Template
}

func (d *Pages) templates(v *visit) error {
	p := &templatesPage{Head: d.head(v, look.T("Templates", "Modelli")), Notice: notices[v.r.URL.Query().Get("done")], MayDelete: d.may(v, http.MethodDelete, "templates")}
	var err error
	if p.Rows, err = d.People.ListTemplates(v.ctx(), v.accountID(), "", 0, mostTemplates); err != nil {
		return err
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "templates", p)
	return nil
}
