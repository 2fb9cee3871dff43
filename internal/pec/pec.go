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
	d, err := xmldom.Parse(data, xmldom.Limits{})
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

// Differs says how the header of a message, which nobody signed, disagrees with
// what the provider signed, or nil. Mail programs show and sort by the header.
func Differs(top *message.Entity, p *ades.PEC) error {
	transport, receipt := strings.ToLower(top.Field("X-Trasporto")), strings.ToLower(top.Field("X-Ricevuta"))
	switch {
	case p.Type == "posta-certificata" && (transport != "posta-certificata" || receipt != ""):
		return finding.PECHeader.New("X-Trasporto")
	case p.Type != "posta-certificata" && (receipt != p.Type || transport != ""):
		return finding.PECHeader.New("X-Ricevuta")
	}
	if id := top.Field("X-Riferimento-Message-ID"); id != "" && p.MessageID != "" && bare(id) != bare(p.MessageID) {
		return finding.PECHeader.New("X-Riferimento-Message-ID")
	}
	return nil
}

func bare(id string) string { return strings.Trim(strings.TrimSpace(id), "<>") }
