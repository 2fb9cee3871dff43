package completion

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// fewPeople are listed on the first page; of more it has their number, and the annex all.
const fewPeople = 4

var (
	personStates = map[ledger.PersonState]look.Text{
		ledger.PersonNew: look.T("not invited yet", "non ancora invitato"), ledger.PersonNotified: look.T("invited", "invitato"),
		ledger.PersonViewed: look.T("has seen the documents", "ha visto i documenti"), ledger.PersonAuthenticated: look.T("authenticated", "autenticato"),
		ledger.PersonSigned: look.T("signed", "ha firmato"), ledger.PersonDeclined: look.T("declined", "ha rifiutato"), ledger.PersonExpired: look.T("was too late", "non ha firmato in tempo"),
	}
	personRoles = map[string]look.Text{
		ledger.RoleSigner: look.T("signer", "firmatario"), ledger.RoleApprover: look.T("approver", "approvatore"), ledger.RoleViewer: look.T("gets a copy", "riceve una copia"),
	}
	// personSteps are what the timeline tells of a signer, by its number.
	personSteps = map[string]look.Text{
		"viewed":     look.T("Signer %d was shown the documents", "Al firmatario %d sono stati mostrati i documenti"),
		"read":       look.T("Signer %d was shown the last page", "Al firmatario %d è stata mostrata l'ultima pagina"),
		"code-given": look.T("Signer %d gave the code that was sent", "Il firmatario %d ha dato il codice inviato"),
		"identified": look.T("Signer %d was identified", "Il firmatario %d è stato identificato"),
		"refused":    look.T("An identification of signer %d was refused", "Un'identificazione del firmatario %d è stata rifiutata"),
		"signs":      look.T("Signer %d agreed and asked for the signature", "Il firmatario %d ha acconsentito e chiesto la firma"),
		"signed":     look.T("The signature of signer %d was made", "La firma del firmatario %d è stata apposta"),
		"failed":     look.T("The signature of signer %d could not be made", "La firma del firmatario %d non si è potuta apporre"),
		"declined":   look.T("Signer %d declined", "Il firmatario %d ha rifiutato"),
		"expired":    look.T("Signer %d was too late", "Il firmatario %d non ha firmato in tempo"),
		"replaced":   look.T("Somebody else was asked in the place of signer %d", "Un altro è stato chiesto al posto del firmatario %d"),
		"edited":     look.T("Signer %d changed their own data", "Il firmatario %d ha modificato i propri dati"),
	}
)

// people are those who were asked to sign: who, what they proved, when, from where, and
// what they were shown.
func (c *Certificate) people(v *view, in func(look.Text) string) {
	all := c.record.Persons
	if len(all) > fewPeople {
		signed := 0
		for _, p := range all {
			if p.State == ledger.PersonSigned {
				signed++
			}
		}
		v.Who = append(v.Who, Pair{in(look.T("Signers", "Firmatari")), in(look.T("%d of %d have signed; they are listed below", "hanno firmato %d su %d; sono elencati più avanti").With(signed, len(all)))})
	}
	for i, p := range all {
		text := p.FullName() + " (" + in(personRoles[p.Role]) + "): " + in(personStates[p.State])
		if !p.SignedAt.IsZero() {
			text += ", " + v.Lang.Date(p.SignedAt, v.zone)
		}
		if proofs := c.proofs(p, v.Lang); proofs != "" {
			text += "; " + proofs
		}
		one := Pair{fmt.Sprintf("%s %d", in(look.T("Signer", "Firmatario")), i+1), text}
		if len(all) <= fewPeople {
			v.Who = append(v.Who, one)
		} else {
			v.people = append(v.people, one)
		}
		s := section{fmt.Sprintf("%s %d", in(look.T("Signer", "Firmatario")), i+1), []Pair{
			{"id", p.ID},
			{"name", p.Name},
			{"surname", p.Surname},
			{"role", p.Role},
			{"state", string(p.State)},
			{in(look.T("Proven", "Provato")), c.proofs(p, v.Lang)},
		}}
		if !p.AskedAt.IsZero() {
			s.Pairs = append(s.Pairs, Pair{in(look.T("Code asked for", "Codice chiesto")), stamp(p.AskedAt) + ", " + p.Asked})
		}
		if !p.SureAt.IsZero() {
			s.Pairs = append(s.Pairs, Pair{in(look.T("Confirmed", "Confermato")), stamp(p.SureAt) + ", " + p.Sure})
		}
		if !p.SignedAt.IsZero() {
			s.Pairs = append(s.Pairs, Pair{"signedAt", stamp(p.SignedAt)})
		}
		if p.Reason != "" {
			s.Pairs = append(s.Pairs, Pair{in(look.T("Reason", "Motivo")), p.Reason})
		}
		for k, d := range p.Shown {
			s.Pairs = append(s.Pairs, Pair{fmt.Sprintf("%s %d, SHA-256", in(look.T("Shown: document", "Mostrato: documento")), k+1), d.SHA256})
		}
		if p.Proof != nil {
			for _, f := range c.record.Evidence {
				if slices.Contains(slices.Collect(maps.Values(p.Proof.Files)), f.Traits()) {
					s.Pairs = append(s.Pairs, Pair{in(look.T("Evidence", "Evidenza")), f.Label + ", SHA-256 " + f.SHA256})
				}
			}
		}
		v.Annex = append(v.Annex, s)
	}
}

// proofs are what a person has shown of who they are.
func (c *Certificate) proofs(p *ledger.Person, lang paper.Lang) string {
	var all []string
	for _, channel := range []string{ledger.ByEmail, ledger.BySMS} {
		if code := p.Codes[channel]; code != nil && code.Proven != "" {
			all = append(all, look.T("a code sent to %s", "un codice inviato a %s").With(code.Proven).In(lang))
		}
	}
	if p.Proof != nil {
		all = append(all, look.T("identified by %s", "identificato con %s").With(strings.TrimSpace(strings.ToUpper(p.Proof.Method)+" "+p.Proof.Issuer)).In(lang))
	}
	if p.Username != "" && p.State == ledger.PersonSigned {
		all = append(all, look.T("with a certificate of their own", "con un certificato proprio").In(lang))
	}
	return strings.Join(all, "; ")
}
