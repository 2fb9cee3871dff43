package pec

import (
	"errors"
	"testing"
)

const facts = `<postacert tipo="accettazione" errore="nessuno"><intestazione><mittente>a@x</mittente><destinatari tipo="certificato">b@x</destinatari><oggetto>s</oggetto></intestazione><dati><gestore-emittente>P</gestore-emittente><data zona="+0100"><giorno>02/03/2026</giorno><ora>10:00:00</ora></data><identificativo>i</identificativo><msgid>m</msgid></dati></postacert>`

func mail(data string) []byte {
	return []byte("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/xml; name=daticert.xml\r\n\r\n" + data + "\r\n--b--\r\n")
}

func TestRead(t *testing.T) {
	p, err := Read(mail(facts))
	if err != nil {
		t.Fatal(err)
	}
	if p.Type != "accettazione" || p.Sender != "a@x" || len(p.Recipients) != 1 || p.MessageID != "m" || p.Error != "" || p.Date.UTC().Hour() != 9 {
		t.Errorf("%+v", p)
	}
	if _, err := Read([]byte("Content-Type: text/plain\r\n\r\nx")); !errors.Is(err, ErrNone) {
		t.Errorf("a plain message: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(facts))
	f.Add([]byte("<postacert><intestazione/><dati/></postacert>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Read(mail(string(data))); (p == nil) != (err != nil) {
			t.Errorf("%v, %v", p, err)
		}
	})
}
