package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/pec"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
)

func init() {
	add(groupFiles, "pec", "match the receipts of Italian certified mail with their messages", func() any { return new(pecCommand) })
}

type pecCommand struct {
	trustFlags
	Files []string `arg:"" name:"file" help:"messages (.eml), folders of them and zip archives"`
	JSON  bool     `xor:"form" help:"print one object a message"`
	CSV   bool     `name:"csv" xor:"form" help:"print a table with one row a message and recipient"`
}

func (*pecCommand) Help() string {
	return example(`Reads envelopes and receipts, and says of each message when it was accepted, and to whom it was delivered when, or why
not. Where the envelope and a complete receipt are both there, it also says whether the message in them is the same.

Only what a provider signed counts: a message whose signature is not good is counted and named, and nothing is taken from it.
Exits 0 if every signature is valid, 1 if one is not, 2 if that cannot be told, 3 on an error.`,
		"rogito pec mail/",
		"rogito pec mail.zip --csv > receipts.csv")
}

// certified is a message of a provider that was read and judged.
type certified struct {
	name    string
	facts   *ades.PEC
	content [sha256.Size]byte // of the message in it; zero where there is none
	code    int
	// headline is the verdict in words, err why there is none.
	headline, err string
}

// correspondence is a message and what became of it.
type correspondence struct {
	MessageID  string      `json:"messageId"`
	Subject    string      `json:"subject"`
	Sender     string      `json:"sender"`
	Sent       *time.Time  `json:"sent"`     // when its envelope was made
	Accepted   *time.Time  `json:"accepted"` // by the sender's provider
	Refused    string      `json:"refused,omitempty"`
	Recipients []*delivery `json:"recipients"`

	content [sha256.Size]byte
}

// delivery is what became of a message for one recipient.
type delivery struct {
	Address     string     `json:"address"`
	State       string     `json:"state"` // waiting, taken, delivered, late, failed
	At          *time.Time `json:"at"`
	Detail      string     `json:"detail,omitempty"`
	SameContent *bool      `json:"sameContent"` // null where there is nothing to compare

	content [sha256.Size]byte
}

func (c *pecCommand) Run(s *session) error {
	store, err := c.store(s)
	if err != nil {
		return err
	}
	v := &rogito.Verifier{Trust: store, Memory: commandMemory}
	files, err := expand(c.Files)
	if err != nil {
		return err
	}
	code, others := exitOK, 0
	all := map[string]*correspondence{}
	inOrder(s.walk(files, true), func(it item) certified { return c.one(s, v, it) }, func(m certified) {
		switch {
		case m.err != "":
			s.notef("%s: %s", m.name, m.err)
			code = worse(code, exitError)
		case m.facts == nil && m.code == exitOK:
			others++
		case m.code != exitOK:
			s.notef("%s: %s", m.name, m.headline)
			code = worse(code, m.code)
		default:
			note(all, m)
		}
	})
	if err := s.ctx.Err(); err != nil {
		return err
	}
	list := inTime(all)
	switch {
	case c.JSON:
		err = pecJSON(s.stdout, list)
	case c.CSV:
		err = pecCSV(s.stdout, list)
	default:
		pecText(s, list, others)
	}
	if err != nil || code == exitOK {
		return err
	}
	return exit{code: code}
}

// one reads and judges a file; others are read at the same time.
func (c *pecCommand) one(s *session, v *rogito.Verifier, it item) (m certified) {
	defer it.release()
	m.name = it.Name
	err := it.err
	if err == nil {
		err = it.load()
	}
	if err == nil && rogito.Detect(it.Source) != rogito.KindSMIME {
		return m
	}
	var r *report.Report
	if err == nil {
		r, err = v.Verify(s.ctx, it.Source, rogito.VerifyOptions{})
	}
	if err != nil {
		m.err = err.Error()
		return m
	}
	if len(r.Facts.Layers) == 0 || r.Facts.Layers[0].Document == nil {
		return m
	}
	d := r.Facts.Layers[0].Document
	m.facts, m.code = d.PEC, codeOf(r)
	lines := paper.Summarize(r, "en").Lines
	m.headline = strings.Join(lines[:], " ")
	if len(d.Content) == 1 && m.facts != nil {
		m.content = inside(d.Content[0].Source)
	}
	return m
}

// inside is the digest of the message in an envelope or receipt.
func inside(signed ades.Source) (sum [sha256.Size]byte) {
	raw, err := io.ReadAll(io.NewSectionReader(signed, 0, signed.Size()))
	if err != nil {
		return sum
	}
	files, err := message.Files(raw)
	if err != nil {
		return sum
	}
	for _, f := range files {
		if f.Name == pec.MailName {
			return sha256.Sum256(message.Canonical(bytes.TrimRight(f.Data, "\r\n")))
		}
	}
	return sum
}

// note adds what a message says to the correspondence that it belongs to.
func note(all map[string]*correspondence, m certified) {
	p := m.facts
	id := strings.Trim(p.MessageID, "<> ")
	if id == "" {
		id = p.ID // a receipt that refuses names no message
	}
	c := all[id]
	if c == nil {
		c = &correspondence{MessageID: id, Subject: p.Subject, Sender: p.Sender, Recipients: []*delivery{}}
		all[id] = c
	}
	at := p.Date.UTC()
	recipients := p.Recipients
	if p.Delivery != "" {
		recipients = []string{p.Delivery}
	}
	state := ""
	switch p.Type {
	case "posta-certificata":
		c.Sent, c.content, state = &at, m.content, "waiting"
	case "accettazione":
		c.Accepted, state = &at, "waiting"
	case "non-accettazione":
		c.Refused, state = cmp.Or(p.Detail, p.Error, "refused"), "failed"
	case "presa-in-carico":
		state = "taken"
	case "avvenuta-consegna":
		state = "delivered"
	case "preavviso-errore-consegna":
		state = "late"
	default:
		state = "failed"
	}
	for _, r := range recipients {
		c.deliver(r, state, at, p, m.content)
	}
}

// rank orders states: a later word does not take back that a message came.
var rank = []string{"waiting", "taken", "late", "failed", "delivered"}

func (c *correspondence) deliver(address, state string, at time.Time, p *ades.PEC, content [sha256.Size]byte) {
	i := slices.IndexFunc(c.Recipients, func(d *delivery) bool { return strings.EqualFold(d.Address, address) })
	if i < 0 {
		i = len(c.Recipients)
		c.Recipients = append(c.Recipients, &delivery{Address: address, State: "waiting"})
	}
	d := c.Recipients[i]
	if slices.Index(rank, state) <= slices.Index(rank, d.State) {
		return
	}
	d.State, d.At, d.Detail = state, &at, cmp.Or(p.Detail, p.Error)
	if state == "delivered" && p.Receipt == "completa" {
		d.content = content
	}
}

// inTime are all messages by their time, contents compared.
func inTime(all map[string]*correspondence) []*correspondence {
	list := make([]*correspondence, 0, len(all))
	for _, c := range all {
		for _, d := range c.Recipients {
			if none := [sha256.Size]byte{}; d.content != none && c.content != none {
				same := d.content == c.content
				d.SameContent = &same
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *correspondence) int {
		return cmp.Or(a.time().Compare(b.time()), cmp.Compare(a.MessageID, b.MessageID))
	})
	return list
}

func (c *correspondence) time() time.Time {
	for _, t := range []*time.Time{c.Sent, c.Accepted} {
		if t != nil {
			return *t
		}
	}
	for _, d := range c.Recipients {
		if d.At != nil {
			return *d.At
		}
	}
	return time.Time{}
}

func pecJSON(w io.Writer, list []*correspondence) error {
	for _, c := range list {
		if err := json.NewEncoder(w).Encode(c); err != nil {
			return err
		}
	}
	return nil
}

func pecCSV(w io.Writer, list []*correspondence) error {
	out := csv.NewWriter(w)
	when := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	_ = out.Write([]string{"messageId", "subject", "sender", "sent", "accepted", "refused", "recipient", "state", "at", "detail", "sameContent"})
	for _, c := range list {
		for _, d := range c.Recipients {
			same := ""
			if d.SameContent != nil {
				same = map[bool]string{true: "yes", false: "no"}[*d.SameContent]
			}
			row := []string{c.MessageID, c.Subject, c.Sender, when(c.Sent), when(c.Accepted), c.Refused, d.Address, d.State, when(d.At), d.Detail, same}
			for i := range row {
				row[i] = visible.Inert(row[i])
			}
			_ = out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}

func pecText(s *session, list []*correspondence, others int) {
	const minute = "2006-01-02 15:04 UTC"
	for _, c := range list {
		s.printf("%s\n  from %s, message %s\n", cmp.Or(c.Subject, "(no subject)"), c.Sender, c.MessageID)
		switch {
		case c.Refused != "":
			s.printf("  refused: %s\n", c.Refused)
		case c.Accepted != nil:
			s.printf("  accepted on %s\n", c.Accepted.Format(minute))
		case c.Sent != nil:
			s.printf("  sent on %s\n", c.Sent.Format(minute))
		}
		for _, d := range c.Recipients {
			line := d.State
			if d.At != nil {
				line += " on " + d.At.Format(minute)
			}
			if d.Detail != "" {
				line += ", " + d.Detail
			}
			if d.SameContent != nil {
				line += map[bool]string{true: ", the same message", false: ", ANOTHER MESSAGE than the one sent"}[*d.SameContent]
			}
			s.printf("  %s: %s\n", d.Address, line)
		}
	}
	s.printf("%d messages", len(list))
	if others > 0 {
		s.printf(", %d other files", others)
	}
	s.printf("\n")
}
