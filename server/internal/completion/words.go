package completion

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// detail of an event, as far as people ask for it. The members are those of the
// events that package signing writes.
type detail struct {
	Address      string `json:"address"`
	Index        int    `json:"index"`
	What         string `json:"what"` // of a signer
	Position     int    `json:"position"`
	SHA256       string `json:"sha256"`
	URL          string `json:"url"`
	Documents    int    `json:"documents"`
	Serial       string `json:"certificateSerialNumber"`
	Digest       string `json:"digest"`
	Level        string `json:"level"`
	Attempt      int    `json:"attempt"`
	Status       int    `json:"status"`
	Imprint      string `json:"imprint"`
	SerialNumber string `json:"serialNumber"`
	Kind         string `json:"kind"`
	Algorithm    struct {
		Name string
	} `json:"algorithm"`
	Certificates     [][]byte `json:"certificates"`
	ToBeSignedDigest string   `json:"toBeSignedDigest"`
	Revocation       []struct {
		Kind   string `json:"kind"`
		SHA256 string `json:"sha256"`
	} `json:"revocation"`
}

func detailOf(e *audit.Entry) (log string, d detail) {
	log, raw := e.Text()
	if len(raw) > 0 {
		_ = json.Unmarshal([]byte(raw), &d) // what is of another form is not shown
	}
	return log, d
}

// happened says what an event is in the words of people, and what else they may
// want to know of it. A kind without words here is shown as in the log.
func (c *Certificate) happened(e *audit.Entry, lang paper.Lang) (what look.Text, more string) {
	log, d := detailOf(e)
	if log == "" {
		return look.T("The details of this step were erased", "I dettagli di questo passo sono stati cancellati"), ""
	}
	switch e.Kind {
	case ledger.KindPerson:
		step := personSteps[d.What]
		if step == (look.Text{}) {
			step = look.T("Signer %d went on", "Il firmatario %d è andato avanti")
		}
		return step.With(d.Position + 1), d.Address
	case "closing":
		return look.T("Everybody has signed", "Hanno firmato tutti"), ""
	case "request":
		return look.T("The request to sign arrived from %s", "La richiesta di firma è arrivata da %s").With(d.Address), ""
	case "input":
		if d.SHA256 == "" {
			return look.T("Document %d was to be fetched from another server", "Il documento %d era da prelevare da un altro server").With(d.Index + 1), d.URL
		}
		return look.T("Document %d was taken in", "Il documento %d è stato acquisito").With(d.Index + 1), "SHA-256 " + d.SHA256
	case "validation":
		more := ""
		if d.SHA256 != "" {
			more = "SHA-256 " + d.SHA256
		}
		return look.T("What is to be signed was checked and made ready", "Ciò che va firmato è stato controllato e preparato"), more
	case "approval":
		return look.T("A second person approved the signature, from %s", "Una seconda persona ha approvato la firma, da %s").With(d.Address), ""
	case "key-use":
		return look.T("The signer's key was used, once the signer's credentials were checked", "La chiave del firmatario è stata usata, dopo la verifica delle sue credenziali"), "SHA-256 " + d.Digest
	case "signature":
		how := d.Algorithm.Name
		if d.Level != "" {
			how += ", " + d.Level
		}
		return look.T("The signature was made", "La firma è stata apposta"), how
	case "timestamp":
		return look.T("A time-stamp was added", "È stata aggiunta una marca temporale"), c.stamped(log, lang)
	case "signed":
		return look.T("The signed document was checked and stored", "Il documento firmato è stato controllato e conservato"), "SHA-256 " + d.SHA256
	case "error":
		return look.T("The signature ended in an error", "La firma è terminata con un errore"), c.record.ErrorMessage
	case "download":
		if strings.HasPrefix(log, ledger.ValidatedDocument) {
			return look.T("The document before signing was downloaded from %s", "Il documento prima della firma è stato scaricato da %s").With(d.Address), ""
		}
		return look.T("The signed document was downloaded from %s", "Il documento firmato è stato scaricato da %s").With(d.Address), ""
	case "callback":
		status := look.T("no answer", "nessuna risposta")
		if d.Status != 0 {
			status = look.Same(fmt.Sprintf("HTTP %d", d.Status))
		}
		return look.Text{
			English: fmt.Sprintf("The caller's server was told of the outcome (attempt %d: %s)", d.Attempt, status.English),
			Italian: fmt.Sprintf("L'esito è stato comunicato al server del richiedente (tentativo %d: %s)", d.Attempt, status.Italian),
		}, ""
	case ledger.KindRetry:
		return look.T("What was not signed and what was tried again are two records", "Ciò che non era stato firmato e il nuovo tentativo sono due pratiche"), ""
	case "retention":
		return look.T("The documents were deleted at the end of their retention", "I documenti sono stati cancellati alla fine del periodo di conservazione"), ""
	case audit.KindErased:
		return look.T("The details of earlier steps were erased", "I dettagli dei passi precedenti sono stati cancellati"), ""
	case audit.KindLost:
		return look.T("An entry of the log was taken away before it had its place", "Una voce del registro è stata tolta prima che avesse il suo posto"), ""
	}
	return look.Same(log), ""
}

// stamped is the time of a time-stamp as people read it.
func (c *Certificate) stamped(log string, lang paper.Lang) string {
	text := strings.TrimPrefix(log, "time-stamped at ")
	at, err := time.Parse("2006-01-02 15:04:05.000-07:00", text)
	if err != nil {
		return text
	}
	return lang.Date(at, lang.Zone(c.of.Zone))
}

// methods of identification.
var methods = map[string]look.Text{
	"spid":      look.T("SPID, the Italian digital identity", "SPID, identità digitale"),
	"cie":       look.T("electronic identity card (CIE)", "carta d'identità elettronica (CIE)"),
	"cns":       look.T("national services card (CNS)", "carta nazionale dei servizi (CNS)"),
	"signature": look.T("a statement signed with a certificate that they had before", "dichiarazione firmata con un certificato già in loro possesso"),
	"video":     look.T("a video and an identity document, looked at by an operator", "video e documento d'identità, esaminati da un operatore"),
	"sandbox":   look.T("nobody was identified: this is a certificate for tests", "nessuna identificazione: è un certificato di prova"),
}

// identified says how the holder of the certificate was identified.
func (c *Certificate) identified(lang paper.Lang) string {
	if c.signer == nil {
		return look.T("not known here any more", "non più noto a questo server").In(lang)
	}
	if p := c.proof; p != nil {
		text := p.Method
		if m, ok := methods[p.Method]; ok {
			text = m.In(lang)
		}
		for _, part := range []string{p.Issuer, p.Level} {
			if part != "" {
				text += ", " + part
			}
		}
		return text + ", " + lang.Day(p.At, lang.Zone(c.of.Zone))
	}
	switch m, ok := methods[c.signer.Identification]; {
	case c.signer.Provider == "import":
		return look.T("by the issuer of the certificate, which the holder brought along", "dall'emittente del certificato, portato dal titolare").In(lang)
	case c.of.Sandbox:
		return methods["sandbox"].In(lang)
	case ok:
		return m.In(lang)
	}
	return look.T("no evidence is kept here", "qui non sono conservate prove").In(lang)
}

// verdict is the class, the word and the sentence of the panel on top.
func (c *Certificate) verdict(lang paper.Lang) (class, word, text, term string) {
	say := func(class string, word, text look.Text) (string, string, string, string) {
		return class, word.In(lang), text.In(lang), ""
	}
	signed := look.T("Signed", "Firmato")
	switch {
	case c.report != nil && c.record.Options.Batch:
		return c.archive(lang)
	case c.report != nil:
		a := paper.AnswersTo(c.report, lang)
		return a.Class, a.Word, a.Rely, a.Kind
	case c.record.State == ledger.Error:
		return say("invalid", look.T("Not signed", "Non firmato"), look.T("The request ended in error %d: %s", "La richiesta è terminata con l'errore %d: %s").With(c.record.ErrorNumber, c.record.ErrorMessage))
	case c.why == notSigned:
		return say("undetermined", look.T("Not signed yet", "Non ancora firmato"), look.T("The request waits: %s.", "La richiesta è in attesa: %s.").With(c.record.State))
	case c.why == gone:
		return say("undetermined", signed, look.T("The signed document is not kept here any more, so it was not checked again. It was checked when it was made.", "Il documento firmato non è più conservato qui, perciò non è stato verificato di nuovo. Era stato controllato al momento della firma."))
	case c.why == protected:
		return say("undetermined", signed, look.T("The document is protected by a password, which is not kept, so it was not checked again. It was checked when it was made.", "Il documento è protetto da una password, che non viene conservata: non è stato verificato di nuovo. Era stato controllato al momento della firma."))
	}
	return say("undetermined", signed, look.T("These are signature values alone, without a certificate: they were checked when they were made.", "Sono soli valori di firma, senza certificato: sono stati controllati al momento della firma."))
}

// archive is the verdict on documents that were signed each on its own: the
// archive that they come in is not signed as such.
func (c *Certificate) archive(lang paper.Lang) (class, word, text, term string) {
	made, hold := 0, 0
	for _, e := range c.entries {
		if e.Kind == "signature" {
			made++
		}
	}
	parties := paper.Parties(c.report, lang)
	for _, p := range parties {
		if p.Class == "valid" || p.Class == "trial" {
			hold++
		}
	}
	a := paper.AnswersTo(c.report, lang)
	switch {
	case hold == len(parties) && hold > 0 && hold < made: // more than a verification opens
		return "undetermined", look.T("Signed", "Firmato").In(lang), look.T("%d of the %d signatures in the archive were checked again, and hold. Each was checked when it was made.", "%d delle %d firme nell'archivio sono state verificate di nuovo e sono valide. Ognuna era stata controllata al momento della firma.").With(hold, made).In(lang), ""
	case hold < len(parties) || len(parties) < made || made == 0:
		return a.Class, a.Word, a.Rely, a.Kind
	case made < len(c.record.Inputs):
		return "undetermined", look.T("Signed in part", "Firmato in parte").In(lang), look.T("%d of %d documents were signed; their signatures hold.", "%d documenti su %d sono stati firmati; le loro firme sono valide.").With(made, len(c.record.Inputs)).In(lang), ""
	}
	class, word = "valid", lang.T("Valid")
	sentence := look.T("Every one of the %d signatures in the archive holds.", "Ognuna delle %d firme nell'archivio è valida.").With(len(parties)).In(lang)
	if c.of.Sandbox {
		class, sentence = "trial", lang.T("Only as a trial: a test certificate binds nobody.")+" "+sentence
	}
	return class, word, sentence, a.Kind
}
