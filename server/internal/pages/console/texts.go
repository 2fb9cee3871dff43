package console

import (
	"regexp"
	"strings"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// chip is a state in a word, with the class that colours it.
type chip struct {
	Class string
	Name  look.Text
}

var recordStates = map[ledger.State]chip{
	ledger.WaitValidation: {"undetermined", look.T("Being checked", "In controllo")},
	ledger.WaitSigners:    {"undetermined", look.T("Waiting for signers", "In attesa dei firmatari")},
	ledger.WaitSign:       {"undetermined", look.T("Waiting", "In attesa")},
	ledger.Done:           {"valid", look.T("Signed", "Firmato")},
	ledger.Error:          {"invalid", look.T("Failed", "Non riuscita")},
}

var waitsForApproval = chip{"undetermined", look.T("Waiting for approval", "In attesa di approvazione")}

func stateOf(r *ledger.Record) chip {
	if r.Approval == "WAITING" && !r.State.Final() {
		return waitsForApproval
	}
	if r.Tally.Partly() {
		return chip{"undetermined", partly(r.Tally)}
	}
	return recordStates[r.State]
}

var kindNames = map[keys.Kind]look.Text{
	keys.Automatic: look.T("automatic signature", "firma automatica"),
	keys.OTP:       look.T("signature with one-time password", "firma con codice temporaneo"),
	keys.ESeal:     look.T("electronic seal", "sigillo elettronico"),
}

func kindOf(certificateType string) look.Text {
	for k, name := range kindNames {
		if k.CertificateType() == certificateType {
			return name
		}
	}
	switch certificateType {
	case "EU-SES":
		return look.T("people sign, with a code", "firmano persone, con un codice")
	case "EU-AES":
		return look.T("people sign, identified", "firmano persone identificate")
	}
	return look.Same(certificateType)
}

var certificateStates = map[enroll.State]look.Text{
	enroll.Ordered:     look.T("Ordered", "Ordinato"),
	enroll.Registering: look.T("Being identified", "In identificazione"),
	enroll.Working:     look.T("Being issued", "In emissione"),
	enroll.Done:        look.T("Active", "Attivo"),
	enroll.Suspended:   look.T("Suspended", "Sospeso"),
	enroll.Expired:     look.T("Expired", "Scaduto"),
	enroll.Revoked:     look.T("Revoked", "Revocato"),
	enroll.Cancelled:   look.T("Cancelled", "Annullato"),
}

func certificateChip(s enroll.State) chip {
	class := "undetermined"
	switch s {
	case enroll.Done:
		class = "valid"
	case enroll.Expired, enroll.Revoked, enroll.Cancelled:
		class = "invalid"
	}
	return chip{class, certificateStates[s]}
}

// formats as people know them.
var formats = map[request.SignatureType]look.Text{
	request.PAdES: look.T("In the PDF (PAdES)", "Nel PDF (PAdES)"),
	request.CAdES: look.T("In an envelope (CAdES)", "In una busta (CAdES)"),
	request.XAdES: look.T("XML or container (XAdES)", "XML o contenitore (XAdES)"),
	request.JAdES: look.T("JSON (JAdES)", "JSON, cioè JAdES"),
	request.PKCS1: look.T("Raw value (PKCS#1)", "Valore grezzo (PKCS#1)"),
}

// events of the audit log of a record.
var events = map[string]look.Text{
	"request":    look.T("Asked for", "Richiesta"),
	"input":      look.T("Document received", "Documento ricevuto"),
	"validation": look.T("Document checked", "Documento controllato"),
	"key-use":    look.T("Key used", "Chiave usata"),
	"timestamp":  look.T("Time-stamp", "Marca temporale"),
	"signed":     look.T("Signed", "Firmato"),
	"signature":  look.T("Signature made", "Firma apposta"),
	"callback":   look.T("Notice sent", "Notifica inviata"),
	"download":   look.T("Downloaded", "Scaricato"),
	"approval":   look.T("Approved", "Approvato"),
	"error":      look.T("Failed", "Non riuscita"),
	"retry":      look.T("Tried again", "Nuovo tentativo"),
	"retention":  look.T("Files deleted", "File cancellati"),
	"erased":     look.T("Details erased", "Dettagli cancellati"),
	"signer":     look.T("Signer", "Firmatario"),
	"closing":    look.T("Complete", "Completato"),
	"audit-lost": look.T("An entry is missing", "Manca una voce"),
}

// attributes of a person, as a review shows them.
var attributes = map[string]look.Text{
	"fiscalCode": look.T("Fiscal code", "Codice fiscale"), "organizationIdentifier": look.T("Identifier of the organisation", "Identificativo dell'organizzazione"),
	"surname": look.T("Surname", "Cognome"), "givenName": look.T("Given name", "Nome"), "organization": look.T("Organisation", "Organizzazione"),
	"dateOfBirth": look.T("Date of birth", "Data di nascita"), "country": look.T("Country", "Paese"), "email": look.T("E-mail", "Posta elettronica"), "mobile": look.T("Mobile", "Cellulare"),
}

// remark is what is to be said of a visible signature, as people read it.
func remark(r ledger.Remark) look.Text {
	in := func(lang string) string {
		text, ok := finding.Text(lang, r.Code, r.Values, nil)
		if !ok { // of another version
			text = r.Text
		}
		return punctuated(text)
	}
	return look.Text{English: in("en"), Italian: in("it")}
}

// logs are the sentences of the audit log, which keeps them in English, as people read them.
var logs = []struct {
	form *regexp.Regexp
	text look.Text
}{
	{regexp.MustCompile(`^what was not signed was tried again$`), look.T("What was not signed became a record of its own", "Ciò che non era stato firmato è diventato una pratica a sé")},
	{regexp.MustCompile(`^this is the rest of another record$`), look.T("This is the rest of another record", "Questo è il resto di un'altra pratica")},
	{regexp.MustCompile(`^new signature request from (.*)$`), look.T("From the address %s", "Dall'indirizzo %s")},
	{regexp.MustCompile(`^input document \d+ with MD5 \w+ and SHA-256 (\w+)$`), look.T("SHA-256 %s", "Impronta SHA-256 %s")},
	{regexp.MustCompile(`^validated document with MD5 \w+ and SHA-256 (\w+)$`), look.T("To be signed: SHA-256 %s", "Da firmare: impronta SHA-256 %s")},
	{regexp.MustCompile(`^signed document with MD5 \w+ and SHA-256 (\w+)$`), look.T("Signed document: SHA-256 %s", "Documento firmato: impronta SHA-256 %s")},
	{regexp.MustCompile(`^(\d+) documents validated$`), look.T("%s documents", "%s documenti")},
	{regexp.MustCompile(`^private key used$`), look.T("The private key was used once", "La chiave privata è stata usata una volta")},
	{regexp.MustCompile(`^signed with (\w+), level (\w+)$`), look.T("With %s, level %s", "Con %s, livello %s")},
	{regexp.MustCompile(`^\w+ downloaded from (.*)$`), look.T("To the address %s", "All'indirizzo %s")},
	{regexp.MustCompile(`^input document \d+ is remote$`), look.T("To be fetched", "Da scaricare")},
	{regexp.MustCompile(`^time-stamped at (.*)$`), look.T("At %s", "Il %s")},
	{regexp.MustCompile(`^callback attempt (\d+): (.*)$`), look.T("Attempt %s: %s", "Tentativo %s: %s")},
	{regexp.MustCompile(`^approved by another token$`), look.T("By another token", "Da un altro token")},
	{regexp.MustCompile(`^an entry was taken away before it had its place$`), look.T("It was taken away before it had its place in the log", "È stata tolta prima che avesse un posto nel registro")},
	{regexp.MustCompile(`^signer (\d+) of (\d+) is asked to sign$`), look.T("Signer %s of %s is asked", "Firmatario %s di %s: richiesta preparata")},
	{regexp.MustCompile(`^(\w+) sent by (\w+)$`), look.T("Message sent: %s, by %s", "Messaggio inviato: %s, via %s")},
	{regexp.MustCompile(`^the (\w+) by (\w+) could not be sent; it is tried again$`), look.T("A message could not be sent and is tried again: %s, by %s", "Un messaggio non è partito e si riprova: %s, via %s")},
	{regexp.MustCompile(`^a code was made to be sent by (\w+)$`), look.T("A code was sent by %s", "Un codice è stato inviato via %s")},
	{regexp.MustCompile(`^a code is tried, the (\w+) since the last good one$`), look.T("A code was given (the %s try)", "È stato inserito un codice (tentativo: %s)")},
	{regexp.MustCompile(`^the code sent by (\w+) was given$`), look.T("The code by %s was right", "Il codice via %s era giusto")},
	{regexp.MustCompile(`^identified by (\w+)$`), look.T("Identified by %s", "Identificato con %s")},
	{regexp.MustCompile(`^identification by (\w+) refused$`), look.T("Identification by %s did not count", "Identificazione con %s non accettata")},
	{regexp.MustCompile(`^the document has the places of the signer's fields$`), look.T("The places to sign are found", "I posti della firma sono stabiliti")},
	{regexp.MustCompile(`^the documents were shown$`), look.T("Opened the document", "Ha aperto il documento")},
	{regexp.MustCompile(`^the documents were shown again, as they are now$`), look.T("Opened the document as it is now", "Ha aperto il documento com'è ora")},
	{regexp.MustCompile(`^the last page of document (\d+) was shown$`), look.T("Read document %s to its last page", "Ha letto il documento %s fino all'ultima pagina")},
	{regexp.MustCompile(`^the signer agreed, and asked for the signature$`), look.T("Agreed and signed", "Ha accettato e firmato")},
	{regexp.MustCompile(`^the signer declined$`), look.T("Declined", "Ha rifiutato")},
	{regexp.MustCompile(`^the signer changed: (.*)$`), look.T("Corrected: %s", "Ha corretto: %s")},
	{regexp.MustCompile(`^a reminder (?:is due|was asked for)$`), look.T("A reminder", "Un promemoria")},
	{regexp.MustCompile(`^somebody else is asked in the place of signer (\d+)$`), look.T("Somebody else in the place of signer %s", "Un'altra persona al posto del firmatario %s")},
	{regexp.MustCompile(`^everybody has signed$`), look.T("Everybody has signed", "Tutti hanno firmato")},
	{regexp.MustCompile(`^documents deleted at the end of their retention$`), look.T("At the end of their retention", "Alla fine della conservazione")},
}

// logText is a sentence of the audit log in both languages. One that is not in logs stays.
func logText(log string) look.Text {
	for _, known := range logs {
		if found := known.form.FindStringSubmatch(log); found != nil {
			var values []any
			for _, v := range found[1:] {
				values = append(values, v)
			}
			return known.text.With(values...)
		}
	}
	return look.Same(log)
}

var products = strings.NewReplacer("test money", "denaro di prova", "refund: ", "rimborso: ", "signature", "firma", "certificate", "certificato", "lookup", "quotazione", "credit", "ricarica")

// movement is what a movement of the wallet is for.
func movement(text string) look.Text {
	return look.Text{English: text, Italian: products.Replace(text)}
}
