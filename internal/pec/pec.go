// Package pec reads what a provider of Italian certified mail (PEC) says of a
// message: daticert.xml, which it signs beside the message (RFC 6109, 4.4; DM 2
// November 2005).
package pec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/xmldom"
)

// DataName is the file with the facts, and MailName the message they are about.
const (
	DataName = "daticert.xml"
	MailName = "postacert.eml"
)

// maxData bounds daticert.xml: it lists every recipient.
const maxData = 4 << 20

// Types are the words of daticert's tipo.
var types = []string{
	"posta-certificata", "accettazione", "non-accettazione", "presa-in-carico", "avvenuta-consegna",
	"errore-consegna", "preavviso-errore-consegna", "rilevazione-virus",
}

// ErrNone means that a message is no certified mail.
var ErrNone = errors.New("no certified mail")

// Read finds the facts in the signed part of a message. It returns ErrNone where
// there are none.
func Read(signed []byte) (*ades.PEC, error) {
	m, err := message.Parse(signed)
	if err != nil {
		return nil, ErrNone
	}
	var found *message.Entity
	for _, p := range m.Parts {
		if strings.EqualFold(p.Filename(), DataName) {
			if found != nil {
				return nil, errors.New("two files " + DataName)
			}
			found = p
		}
	}
	if found == nil {
		return nil, ErrNone
	}
	data, err := found.Decode()
	if err != nil {
		return nil, err
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%d bytes", len(data))
	}
	return parse(data)
}

// parse reads daticert.xml.
func parse(data []byte) (*ades.PEC, error) {
	d, err := xmldom.Parse(string(data), xmldom.Limits{})
	if err != nil {
		return nil, err
	}
	defer d.Release()
	root := d.Root()
	head, facts := root.Child("", "intestazione"), root.Child("", "dati")
	if root.Name.Local != "postacert" || head == nil || facts == nil {
		return nil, errors.New("not the facts of a certified mail")
	}
	text := func(n *xmldom.Node, name string) string { return strings.TrimSpace(n.Child("", name).Text()) }
	p := &ades.PEC{
		Type: root.Attr("tipo"), Error: root.Attr("errore"), Sender: text(head, "mittente"), Subject: text(head, "oggetto"),
		Provider: text(facts, "gestore-emittente"), ID: text(facts, "identificativo"), MessageID: text(facts, "msgid"),
		Delivery: text(facts, "consegna"), Detail: text(facts, "errore-esteso"),
	}
	if r := facts.Child("", "ricevuta"); r != nil {
		p.Receipt = r.Attr("tipo")
	}
	if p.Error == "nessuno" {
		p.Error = ""
	}
	for _, n := range head.Children("", "destinatari") {
		p.Recipients = append(p.Recipients, strings.TrimSpace(n.Text()))
	}
	if !slices.Contains(types, p.Type) {
		return nil, fmt.Errorf("the type %q of a certified mail is not known", clip(p.Type))
	}
	when := facts.Child("", "data")
	if when == nil {
		return nil, errors.New("its date is missing")
	}
	p.Date, err = time.Parse("02/01/2006 15:04:05 -0700", text(when, "giorno")+" "+text(when, "ora")+" "+when.Attr("zona"))
	if err != nil {
		return nil, errors.New("its date cannot be read")
	}
	return p, nil
}

func clip(s string) string { return s[:min(len(s), 40)] }

// Differs returns how the unsigned header of a message contradicts what the provider signed, or
// nil. Mail programs show and sort by the header: all fields of a name are checked, since programs
// differ in which one they use.
func Differs(top *message.Entity, p *ades.PEC) error {
	for name, want := range map[string]bool{"X-Trasporto": p.Type == "posta-certificata", "X-Ricevuta": p.Type != "posta-certificata"} {
		found := top.Fields(name)
		if want != (len(found) > 0) || slices.ContainsFunc(found, func(v string) bool { return !strings.EqualFold(v, p.Type) }) {
			return finding.PECHeader.New(name)
		}
	}
	for _, id := range top.Fields("X-Riferimento-Message-ID") {
		if p.MessageID != "" && bare(id) != bare(p.MessageID) {
			return finding.PECHeader.New("X-Riferimento-Message-ID")
		}
	}
	for _, shown := range top.Fields("Subject") {
		if otherSubject(shown, p) {
			return finding.PECHeader.New("Subject")
		}
	}
	return nil
}

// subjects are the prefixes of the subject for each type of message, letters only.
var subjects = map[string]string{
	"posta-certificata": "postacertificata", "accettazione": "accettazione", "non-accettazione": "nonaccettazione",
	"presa-in-carico": "presaincarico", "avvenuta-consegna": "consegna", "errore-consegna": "mancataconsegna",
	"preavviso-errore-consegna": "mancataconsegna", "rilevazione-virus": "problemadisicurezza",
}

// leastSubject is how much of a long subject must remain if it was truncated.
const leastSubject = 16

// otherSubject reports whether a subject line is that of another message, or of another type. Mail
// servers prepend words, truncate it, and damage non-ASCII letters: the rest must match.
func otherSubject(shown string, p *ades.PEC) bool {
	shown = message.Decoded(shown)
	if strings.Contains(shown, "=?") { // of an alphabet that is not known
		return false
	}
	have, want := letters(shown), letters(p.Subject)
	at := strings.LastIndex(have, want)
	for n := len(want) - 1; at < 0 && n >= leastSubject; n-- {
		if strings.HasSuffix(have, want[:n]) {
			at = len(have) - n
		}
	}
	if at < 0 {
		return have != ""
	}
	before := have[:at]
	if own := subjects[p.Type]; strings.Contains(before, own) {
		// The word of one type may contain that of another.
		return p.Type == "avvenuta-consegna" && strings.Contains(before, "mancata") || p.Type == "accettazione" && strings.Contains(before, "nonaccettazione")
	}
	for _, other := range subjects {
		if strings.Contains(before, other) {
			return true
		}
	}
	return false
}

// letters are the ASCII letters and digits of a text, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

func bare(id string) string { return strings.Trim(strings.TrimSpace(id), "<>") }
