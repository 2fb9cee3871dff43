package identify

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Statement is a document made for one order, to be signed by its holder. Its
// bytes follow from these fields and the order.
type Statement struct {
	Nonce  string    `json:"nonce"`
	MadeAt time.Time `json:"madeAt"`
	Digest []byte    `json:"digest"` // SHA-256 of the bytes that were handed out
}

// statementLife is how long a statement may be signed.
const statementLife = 24 * time.Hour

// Until is when a statement stops being good.
func (s *Statement) Until() time.Time { return s.MadeAt.Add(statementLife) }

// NewStatement makes one for an order, and its bytes.
func (m *Methods) NewStatement(o Order) (*Statement, []byte) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce)
	s := &Statement{Nonce: hex.EncodeToString(nonce), MadeAt: m.now().Truncate(time.Second)}
	b := m.render(o, s)
	d := sha256.Sum256(b)
	s.Digest = d[:]
	return s, b
}

// Again returns the bytes of a statement that was made before; nil where it is
// too old or they would not be the same.
func (m *Methods) Again(o Order, s *Statement) []byte {
	if s == nil || m.now().After(s.MadeAt.Add(statementLife)) {
		return nil
	}
	b := m.render(o, s)
	if d := sha256.Sum256(b); string(d[:]) != string(s.Digest) {
		return nil
	}
	return b
}

func (m *Methods) render(o Order, s *Statement) []byte {
	var b strings.Builder
	line := func(it, en, value string) {
		fmt.Fprintf(&b, "%-62s %s\n", it+" / "+en+":", value)
	}
	b.WriteString(statementMark + s.Nonce + "\n\n")
	line("Server", "Server", m.Address)
	line("Ordine", "Order", o.ID)
	line("Codice unico", "Nonce", s.Nonce)
	line("Data", "Date", s.MadeAt.Format("2006-01-02 15:04:05")+" UTC")
	line("Valida fino a", "Good until", s.MadeAt.Add(statementLife).Format("2006-01-02 15:04:05")+" UTC")
	line("Certificato", "Certificate", o.KindName)
	line("Titolare", "Holder", o.Owner)
	o.Ordered.Each(func(name, value string) { line(italianNames[name], name, value) })
	b.WriteString(`
Chiedo un certificato per firme o sigilli elettronici con questi dati. Sono la
persona indicata, o rappresento l'organizzazione indicata. I dati che mancano
si leggono dal certificato con cui firmo. Questa dichiarazione vale solo per
questo ordine, una volta sola. Non firmarla se qualcun altro te l'ha mandata e
tu non hai chiesto un certificato: chi la riceve firmata ottiene un certificato
a tuo nome.

I ask for a certificate for electronic signatures or seals with these data. I am
the person named here, or represent the organisation named here. What is missing
is read from the certificate that I sign with. This statement is good for this
order only, once. Do not sign it if somebody else sent it to you and you did not
ask for a certificate: whoever gets it signed gets a certificate in your name.
`)
	return m.TextPDF("Dichiarazione di identificazione / Identification statement", b.String())
}

var italianNames = map[string]string{
	"fiscalCode": "Codice fiscale", "organizationIdentifier": "Identificativo dell'organizzazione", "surname": "Cognome", "givenName": "Nome",
	"organization": "Organizzazione", "dateOfBirth": "Data di nascita", "country": "Paese", "email": "Posta elettronica", "mobile": "Cellulare",
}
