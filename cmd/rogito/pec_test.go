package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// certifiedMail is what a provider writes (RFC 6109): facts, the message where
// the kind has one, and a signature over both.
type certifiedMail struct {
	kind, receipt  string
	id, subject    string
	recipients     []string
	delivery, fail string
	at             time.Time
	mail           string // in it; "" for none
	header         string // in place of X-Trasporto or X-Ricevuta
	reference      string // in place of the header that names the message
	data           string // in place of daticert.xml
	line           string // in place of the subject line
}

// lines are what stands before the subject, for each kind.
var lines = map[string]string{
	"posta-certificata": "POSTA CERTIFICATA", "accettazione": "ACCETTAZIONE", "non-accettazione": "AVVISO DI NON ACCETTAZIONE", "presa-in-carico": "PRESA IN CARICO",
	"avvenuta-consegna": "CONSEGNA", "errore-consegna": "AVVISO DI MANCATA CONSEGNA", "preavviso-errore-consegna": "AVVISO DI MANCATA CONSEGNA PER SUP. TEMPO MASSIMO",
	"rilevazione-virus": "PROBLEMA DI SICUREZZA",
}

func (m certifiedMail) entity() []byte {
	var x strings.Builder
	errore := "nessuno"
	if m.fail != "" {
		errore = "no-dest"
	}
	fmt.Fprintf(&x, `<?xml version="1.0" encoding="UTF-8"?><postacert tipo="%s" errore="%s"><intestazione><mittente>anna@pec.example</mittente>`, m.kind, errore)
	for _, r := range m.recipients {
		fmt.Fprintf(&x, `<destinatari tipo="certificato">%s</destinatari>`, r)
	}
	fmt.Fprintf(&x, `<risposte>anna@pec.example</risposte><oggetto>%s</oggetto></intestazione><dati><gestore-emittente>PROVIDER PEC S.P.A.</gestore-emittente><data zona="%s"><giorno>%s</giorno><ora>%s</ora></data><identificativo>opec%s@pec.example</identificativo><msgid>&lt;%s&gt;</msgid>`,
		m.subject, m.at.Format("-0700"), m.at.Format("02/01/2006"), m.at.Format("15:04:05"), m.id, m.id)
	if m.receipt != "" {
		fmt.Fprintf(&x, `<ricevuta tipo="%s"/>`, m.receipt)
	}
	if m.delivery != "" {
		fmt.Fprintf(&x, `<consegna>%s</consegna>`, m.delivery)
	}
	if m.fail != "" {
		fmt.Fprintf(&x, `<errore-esteso>%s</errore-esteso>`, m.fail)
	}
	x.WriteString(`</dati></postacert>`)
	data := x.String()
	if m.data != "" {
		data = m.data
	}
	var b strings.Builder
	b.WriteString("Content-Type: multipart/mixed; boundary=\"in\"\r\n\r\n--in\r\nContent-Type: multipart/alternative; boundary=\"alt\"\r\n\r\n--alt\r\nContent-Type: text/plain; charset=\"iso-8859-1\"\r\n\r\nRicevuta\r\n--alt--\r\n")
	fmt.Fprintf(&b, "--in\r\nContent-Type: application/xml; name=\"daticert.xml\"\r\nContent-Disposition: inline; filename=\"daticert.xml\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n", base64.StdEncoding.EncodeToString([]byte(data)))
	if m.mail != "" {
		fmt.Fprintf(&b, "--in\r\nContent-Type: message/rfc822; name=\"postacert.eml\"\r\nContent-Disposition: inline; filename=\"postacert.eml\"\r\n\r\n%s\r\n", m.mail)
	}
	b.WriteString("--in--\r\n")
	return []byte(b.String())
}

// sealed is the message with the signature of its provider.
func (b *bench) sealed(name string, m certifiedMail) string {
	b.t.Helper()
	entity := m.entity()
	signature := b.detached(entity)
	header := "X-Ricevuta: " + m.kind
	if m.kind == "posta-certificata" {
		header = "X-Trasporto: posta-certificata"
	}
	if m.header != "" {
		header = m.header
	}
	reference := "X-Riferimento-Message-ID: <" + m.id + ">"
	if m.reference != "" {
		reference = m.reference
	}
	line := "Subject: " + lines[m.kind] + ": " + m.subject
	if m.line != "" {
		line = m.line
	}
	out := fmt.Sprintf("From: posta-certificata@pec.example\r\nTo: anna@pec.example\r\n%s\r\nMIME-Version: 1.0\r\n%s\r\n%s\r\nContent-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=\"sha-256\"; boundary=\"out\"\r\n\r\n--out\r\n%s\r\n--out\r\nContent-Type: application/pkcs7-signature; name=\"smime.p7s\"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"smime.p7s\"\r\n\r\n%s\r\n--out--\r\n",
		line, header, reference, entity, base64.StdEncoding.EncodeToString(signature))
	return b.write(name, []byte(out))
}

// detached signs in CMS, beside the content: each content once, since most forgeries are
// outside of what is signed.
func (b *bench) detached(content []byte) []byte {
	b.t.Helper()
	if p7s := b.signed[string(content)]; p7s != nil {
		return p7s
	}
	in := b.write("sign/entity", content)
	b.sign("--format", "cades", "--packaging", "detached", "--force", "--out", in+".p7s", in)
	p7s, err := os.ReadFile(in + ".p7s")
	if err != nil {
		b.t.Fatal(err)
	}
	b.signed[string(content)] = p7s
	return p7s
}

func letter(attachment string, data []byte) string {
	return fmt.Sprintf("From: anna@pec.example\r\nTo: bruno@pec.example\r\nSubject: Contract\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"m\"\r\n\r\n--m\r\nContent-Type: text/plain\r\n\r\nHere it is.\r\n--m\r\nContent-Type: application/pkcs7-mime; name=\"%s\"\r\nContent-Disposition: attachment; filename=\"%s\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--m--", attachment, attachment, base64.StdEncoding.EncodeToString(data))
}

func TestPEC(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := b.write("contract.txt", []byte("pay 100"))
	b.sign("--format", "cades", "--packaging", "attached", text)
	p7m, err := os.ReadFile(text + ".p7m")
	if err != nil {
		t.Fatal(err)
	}
	forged := bytes.Replace(p7m, []byte("pay 100"), []byte("pay 900"), 1)
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.FixedZone("", 3600))
	two := []string{"bruno@pec.example", "carla@pec.example"}
	mail := letter("contract.txt.p7m", p7m)
	base := certifiedMail{id: "1@pec.example", subject: "Contract", recipients: two, at: at}
	with := func(change func(*certifiedMail)) certifiedMail {
		m := base
		change(&m)
		return m
	}
	envelope := with(func(m *certifiedMail) { m.kind, m.receipt, m.mail = "posta-certificata", "completa", mail })
	delivered := with(func(m *certifiedMail) {
		m.kind, m.receipt, m.delivery, m.mail, m.at = "avvenuta-consegna", "completa", two[0], mail, at.Add(time.Minute)
	})
	b.sealed("mail/envelope.eml", envelope)
	b.sealed("mail/accepted.eml", with(func(m *certifiedMail) { m.kind = "accettazione" }))
	b.sealed("mail/delivered.eml", delivered)
	b.sealed("mail/late.eml", with(func(m *certifiedMail) {
		m.kind, m.delivery, m.fail, m.at = "preavviso-errore-consegna", two[1], "no answer for 12 hours", at.Add(12*time.Hour)
	}))
	b.sealed("mail/failed.eml", with(func(m *certifiedMail) {
		m.kind, m.delivery, m.fail, m.at = "errore-consegna", two[1], "no such address", at.Add(24*time.Hour)
	}))
	b.sealed("mail/other.eml", with(func(m *certifiedMail) {
		m.kind, m.receipt, m.delivery, m.id = "avvenuta-consegna", "sintetica", two[0], "2@pec.example"
	}))
	b.sealed("mail/taken.eml", with(func(m *certifiedMail) { m.kind, m.id, m.recipients = "presa-in-carico", "2@pec.example", two[1:] }))
	b.sealed("mail/virus.eml", with(func(m *certifiedMail) {
		m.kind, m.id, m.fail, m.recipients = "rilevazione-virus", "3@pec.example", "a virus", two[:1]
	}))
	b.sealed("mail/refused.eml", with(func(m *certifiedMail) {
		m.kind, m.id, m.fail, m.recipients = "non-accettazione", "4@pec.example", "not formally right", two[:1]
	}))
	b.write("mail/notes.txt", []byte("not a message"))

	flags := []string{"--no-lists", "--no-network", "--trust", "../../sample/signer.pem"}
	code, out, notes := b.run(append([]string{"pec", "--json", b.path("mail")}, flags...)...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, notes)
	}
	found := map[string]*correspondence{}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		c := new(correspondence)
		if err := json.Unmarshal([]byte(line), c); err != nil {
			t.Fatal(err)
		}
		found[c.MessageID] = c
	}
	first := found["1@pec.example"]
	if len(found) != 4 || first == nil || first.Sent == nil || first.Accepted == nil || !first.Accepted.Equal(at) || len(first.Recipients) != 2 {
		t.Fatalf("%s", out)
	}
	if d := first.Recipients[0]; d.Address != two[0] || d.State != "delivered" || d.SameContent == nil || !*d.SameContent || !d.At.Equal(at.Add(time.Minute)) {
		t.Errorf("first recipient: %+v", d)
	}
	if d := first.Recipients[1]; d.Address != two[1] || d.State != "failed" || d.Detail != "no such address" || d.SameContent != nil {
		t.Errorf("second recipient: %+v", d)
	}
	if c := found["2@pec.example"]; c.Recipients[0].State == c.Recipients[1].State || found["3@pec.example"].Recipients[0].State != "failed" || found["4@pec.example"].Refused != "not formally right" {
		t.Errorf("%s", out)
	}
	if _, out, _ := b.run(append([]string{"pec", b.path("mail")}, flags...)...); !strings.Contains(out, "bruno@pec.example: delivered on 2026-03-02 09:01 UTC, the same message") || !strings.Contains(out, "4 messages, 1 other files") {
		t.Errorf("text:\n%s", out)
	}
	if _, out, _ := b.run(append([]string{"pec", "--csv", b.path("mail")}, flags...)...); strings.Count(out, "\n") != 7 {
		t.Errorf("table:\n%s", out)
	}

	// The p7m in the message of the envelope is judged too.
	if code, out := b.verify(b.path("mail/envelope.eml")); code != exitOK || !strings.Contains(out, "2 signatures") {
		t.Errorf("envelope: exit %d, %s", code, out)
	}
	inner := envelope
	inner.mail = letter("contract.txt.p7m", forged)
	if code, out := b.verify(b.sealed("forged/inner.eml", inner)); code != exitInvalid {
		t.Errorf("a forged p7m inside: exit %d, %s", code, out)
	}
	swapped := delivered
	swapped.mail = letter("contract.txt.p7m", []byte("another"))
	b.sealed("mail/delivered.eml", swapped)
	if _, out, _ := b.run(append([]string{"pec", b.path("mail")}, flags...)...); !strings.Contains(out, "ANOTHER MESSAGE") {
		t.Errorf("another message in the receipt:\n%s", out)
	}

	// Forged headers, facts and messages are never valid, and count for nothing.
	wrong := map[string]certifiedMail{
		"a delivery that was accepted only": with(func(m *certifiedMail) { m.kind, m.header = "accettazione", "X-Ricevuta: avvenuta-consegna" }),
		"an error shown as a delivery":      with(func(m *certifiedMail) { m.kind, m.header = "errore-consegna", "X-Ricevuta: avvenuta-consegna" }),
		"a receipt shown as a message":      with(func(m *certifiedMail) { m.kind, m.header = "avvenuta-consegna", "X-Trasporto: posta-certificata" }),
		"a message shown as a receipt":      with(func(m *certifiedMail) { m.kind, m.header = "posta-certificata", "X-Ricevuta: accettazione" }),
		"both headers": with(func(m *certifiedMail) {
			m.kind, m.header = "posta-certificata", "X-Trasporto: posta-certificata\r\nX-Ricevuta: accettazione"
		}),
		"no header": with(func(m *certifiedMail) { m.kind, m.header = "accettazione", "X-Other: x" }),
		"a receipt for another message": with(func(m *certifiedMail) {
			m.kind, m.reference = "avvenuta-consegna", "X-Riferimento-Message-ID: <9@pec.example>"
		}),
		"an unknown kind":            with(func(m *certifiedMail) { m.kind = "consegnato" }),
		"facts that are no XML":      with(func(m *certifiedMail) { m.kind, m.data = "accettazione", "<postacert" }),
		"facts with a document type": with(func(m *certifiedMail) { m.kind, m.data = "accettazione", `<!DOCTYPE p [<!ENTITY x "y">]><postacert/>` }),
		"facts without a date": with(func(m *certifiedMail) {
			m.kind, m.data = "accettazione", `<postacert tipo="accettazione"><intestazione/><dati/></postacert>`
		}),
	}
	kinds := slices.Sorted(maps.Keys(lines))
	for _, kind := range kinds {
		for _, shown := range kinds {
			if kind == shown {
				continue
			}
			field := "X-Ricevuta: "
			if shown == "posta-certificata" {
				field = "X-Trasporto: "
			}
			wrong[kind+" shown as "+shown] = with(func(m *certifiedMail) { m.kind, m.header = kind, field+shown })
			if lines[kind] != strings.TrimSuffix(lines[shown], " PER SUP. TEMPO MASSIMO") && lines[shown] != strings.TrimSuffix(lines[kind], " PER SUP. TEMPO MASSIMO") {
				wrong[kind+" with the subject line of "+shown] = with(func(m *certifiedMail) { m.kind, m.line = kind, "Subject: "+lines[shown]+": Contract" })
			}
		}
		wrong[kind+" with two fields"] = with(func(m *certifiedMail) {
			m.kind, m.header = kind, "X-Ricevuta: "+kind+"\r\nX-Ricevuta: presa-in-carico"
		})
		if kind == "presa-in-carico" {
			delete(wrong, kind+" with two fields")
		}
		wrong[kind+" with another subject"] = with(func(m *certifiedMail) { m.kind, m.line = kind, "Subject: "+lines[kind]+": Invoice" })
		wrong[kind+" with two subjects"] = with(func(m *certifiedMail) {
			m.kind, m.line = kind, "Subject: "+lines[kind]+": Contract\r\nSubject: "+lines[kind]+": Invoice"
		})
	}
	// What stations on the way do to a subject line is no forgery.
	for i, line := range []string{
		"[EXTERNAL] ACCETTAZIONE: Contract", "Fwd: ACCETTAZIONE: Contract", "=?utf-8?Q?ACCETTAZIONE=3A_Contract?=", "accettazione:  contract", "ACCETTAZIONE: Contract [spam]",
	} {
		if code, out := b.verify(b.sealed(fmt.Sprintf("right/%d.eml", i), with(func(m *certifiedMail) { m.kind, m.line = "accettazione", "Subject: "+line }))); code != exitOK {
			t.Errorf("%s: exit %d, %s", line, code, out)
		}
	}
	n := 0
	t.Logf("%d forged messages", len(wrong))
	for name, m := range wrong {
		n++
		file := b.sealed(fmt.Sprintf("wrong/%d.eml", n), m)
		if code, out := b.verify(file); code != exitInvalid {
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
	}
	good, err := os.ReadFile(b.sealed("wrong/good.eml", delivered))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"the text":              {"Ricevuta\r\n", "Ricevuto\r\n"},
		"the letter":            {"Here it is.", "Here is it."},
		"the recipient":         {"To: bruno@pec.example", "To: carla@pec.example"},
		"a boundary":            {"--in--", "--in--\r\n--in--"},
		"the name of the facts": {"filename=\"daticert.xml\"", "filename=\"daticert.xm\""},
	} {
		n++
		changed := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if name == "the recipient" { // that of the letter, which is signed
			i := bytes.LastIndex(good, []byte(change[0]))
			changed = append(append(bytes.Clone(good[:i]), change[1]...), good[i+len(change[0]):]...)
		}
		if code, out := b.verify(b.write(fmt.Sprintf("wrong/%d.eml", n), changed)); code != exitInvalid {
			t.Errorf("%s changed: exit %d, %s", name, code, out)
		}
	}
	os.Remove(b.path("wrong/good.eml"))
	if code, out, _ := b.run(append([]string{"pec", b.path("wrong")}, flags...)...); code != exitInvalid || !strings.Contains(out, "0 messages") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// An unsigned mail is opened: what is attached is valid for a part.
func TestMailWithAttachments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := b.write("contract.txt", []byte("pay 100"))
	b.sign("--format", "cades", "--packaging", "attached", text)
	p7m, err := os.ReadFile(text + ".p7m")
	if err != nil {
		t.Fatal(err)
	}
	if code, out := b.verify(b.write("good.eml", []byte(letter("contract.txt.p7m", p7m)))); code != exitUndetermined || !strings.Contains(out, "VALID FOR A PART") {
		t.Errorf("exit %d, %s", code, out)
	}
	forged := bytes.Replace(p7m, []byte("pay 100"), []byte("pay 900"), 1)
	if code, out := b.verify(b.write("forged.eml", []byte(letter("contract.txt.p7m", forged)))); code != exitInvalid || !strings.Contains(out, "NOT VALID") {
		t.Errorf("forged: exit %d, %s", code, out)
	}
	if code, out := b.verify(b.write("plain.eml", []byte(letter("contract.txt", []byte("pay 100"))))); code != exitInvalid || !strings.Contains(out, "NOT SIGNED") {
		t.Errorf("unsigned: exit %d, %s", code, out)
	}
}
