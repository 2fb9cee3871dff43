package spid

import (
	"fmt"

	"rogito.dev/rogito/server/internal/identify"
)

// text is a sentence in both languages.
type text struct{ en, it string }

const (
	againEN = " Go back and start SPID again"
	againIT = " Torna indietro e avvia di nuovo SPID"
	otherEN = ", or choose another provider or another way to be identified."
	otherIT = ", oppure scegli un altro gestore o un altro modo di identificarti."
	faultEN = " This is not your fault: choose another way to be identified, or tell the people who run this service."
	faultIT = " Non dipende da te: scegli un altro modo di identificarti o avvisa chi gestisce questo servizio."
)

// refusals of ours, by the reason that logs and audit see.
var refusals = map[string]text{
	"malformed":   {"The answer of the identity provider is not one that SPID allows." + againEN + otherEN, "La risposta del gestore dell'identità non è conforme alle regole di SPID." + againIT + otherIT},
	"encrypted":   {"The answer of the identity provider is encrypted, which SPID does not allow." + againEN + otherEN, "La risposta del gestore dell'identità è cifrata, cosa che SPID non prevede." + againIT + otherIT},
	"provider":    {"This identity provider cannot be asked at the moment. Go back and choose another one.", "Questo gestore dell'identità al momento non è disponibile. Torna indietro e scegline un altro."},
	"signature":   {"The answer is not signed by the identity provider that you chose, and is not believed." + againEN + otherEN, "La risposta non è firmata dal gestore dell'identità che hai scelto e non viene accettata." + againIT + otherIT},
	"issuer":      {"The answer is not from the identity provider that you chose, and is not believed." + againEN + otherEN, "La risposta non proviene dal gestore dell'identità che hai scelto e non viene accettata." + againIT + otherIT},
	"request":     {"The answer does not belong to the request that was made from this page." + againEN + ".", "La risposta non corrisponde alla richiesta fatta da questa pagina." + againIT + "."},
	"destination": {"The answer was meant for another address, and is not believed." + againEN + otherEN, "La risposta era destinata a un altro indirizzo e non viene accettata." + againIT + otherIT},
	"audience":    {"The answer was meant for another service, and is not believed." + againEN + otherEN, "La risposta era destinata a un altro servizio e non viene accettata." + againIT + otherIT},
	"expired":     {"The answer came too late." + againEN + ".", "La risposta è arrivata troppo tardi." + againIT + "."},
	"future":      {"The answer is dated in the future: the clock of the identity provider, or that of this service, is wrong." + faultEN, "La risposta ha una data futura: l'orologio del gestore dell'identità o di questo servizio è sbagliato." + faultIT},
	"subject":     {"The answer does not say for whom it is in the way that SPID prescribes." + againEN + otherEN, "La risposta non indica il soggetto come prescrive SPID." + againIT + otherIT},
	"level":       {"You were identified at a lower level than this service needs." + againEN + " with credentials of the level that is asked for, or choose another way to be identified.", "L'identificazione è avvenuta a un livello inferiore a quello richiesto." + againIT + " con credenziali del livello richiesto o scegli un altro modo di identificarti."},
	"attributes":  {"The answer lacks data that this service needs: name, surname, tax code or date of birth." + againEN + " and agree that they are sent, or choose another way to be identified.", "Nella risposta mancano dati necessari: nome, cognome, codice fiscale o data di nascita." + againIT + " acconsentendo all'invio, o scegli un altro modo di identificarti."},
	"status":      {"The identity provider did not identify you and did not say why." + againEN + otherEN, "Il gestore dell'identità non ti ha identificato e non ha detto perché." + againIT + otherIT},
	"logout":      {"The request to log out is not believed. Close your browser to be safe.", "La richiesta di uscita non è valida. Per sicurezza chiudi il browser."},
}

// codes are AgID's error codes (Tabella messaggi di anomalia), by number.
var codes = map[int]text{
	1:  {"The identity provider says that it identified you, in an answer that says the contrary." + againEN + otherEN, "Il gestore dell'identità dichiara di averti identificato in una risposta che dice il contrario." + againIT + otherIT},
	2:  {"The identity provider's system is not available. Try again later" + otherEN, "Il sistema del gestore dell'identità non è disponibile. Riprova più tardi" + otherIT},
	3:  {"The identity provider's system has failed. Try again later" + otherEN, "Il sistema del gestore dell'identità ha avuto un errore. Riprova più tardi" + otherIT},
	4:  {"The identity provider could not read how our request was sent." + faultEN, "Il gestore dell'identità non ha riconosciuto il formato del binding della nostra richiesta." + faultIT},
	5:  {"The identity provider could not verify the signature of our request." + faultEN, "Il gestore dell'identità non ha potuto verificare la firma della nostra richiesta." + faultIT},
	6:  {"The identity provider did not accept the HTTP method of our request." + faultEN, "Il gestore dell'identità non ha accettato il metodo HTTP della nostra richiesta." + faultIT},
	7:  {"The identity provider found the signature of our request wrong." + faultEN, "Il gestore dell'identità ha trovato errata la firma della nostra richiesta." + faultIT},
	8:  {"The identity provider found that our request does not follow SAML." + faultEN, "Il gestore dell'identità ha trovato la nostra richiesta non conforme a SAML." + faultIT},
	9:  {"The identity provider did not accept the version in our request." + faultEN, "Il gestore dell'identità non ha accettato la versione indicata nella nostra richiesta." + faultIT},
	10: {"The identity provider does not know this service as the sender of the request." + faultEN, "Il gestore dell'identità non riconosce questo servizio come mittente della richiesta." + faultIT},
	11: {"The identity provider did not accept the identifier of our request." + faultEN, "Il gestore dell'identità non ha accettato l'identificativo della nostra richiesta." + faultIT},
	12: {"The identity provider did not accept the level that we asked for." + faultEN, "Il gestore dell'identità non ha accettato il livello da noi richiesto." + faultIT},
	13: {"The identity provider did not accept the time of our request." + againEN + otherEN, "Il gestore dell'identità non ha accettato l'orario della nostra richiesta." + againIT + otherIT},
	14: {"The identity provider found that our request was meant for another." + faultEN, "Il gestore dell'identità ha trovato la nostra richiesta destinata ad altri." + faultIT},
	15: {"The identity provider found that our request asks for no interaction, which SPID does not allow." + faultEN, "Il gestore dell'identità ha trovato nella nostra richiesta il divieto di interazione, che SPID non ammette." + faultIT},
	16: {"The identity provider does not know the address for the answer." + faultEN, "Il gestore dell'identità non riconosce l'indirizzo a cui rispondere." + faultIT},
	17: {"The identity provider did not accept the kind of name that we asked for." + faultEN, "Il gestore dell'identità non ha accettato il formato del nome da noi richiesto." + faultIT},
	18: {"The identity provider does not know the set of data that we asked for." + faultEN, "Il gestore dell'identità non riconosce l'insieme di dati da noi richiesto." + faultIT},
	19: {"Wrong credentials were entered too many times. Wait, recover your credentials at the identity provider, and start SPID again.", "Le credenziali sono state sbagliate troppe volte. Attendi, recupera le credenziali presso il gestore dell'identità e avvia di nuovo SPID."},
	20: {"You have no SPID credentials of the level that this service needs. Ask your identity provider for them, or choose another way to be identified.", "Non hai credenziali SPID del livello richiesto da questo servizio. Chiedile al tuo gestore dell'identità o scegli un altro modo di identificarti."},
	21: {"Entering the credentials took too long." + againEN + ".", "Il tempo per inserire le credenziali è scaduto." + againIT + "."},
	22: {"You did not agree that your data are sent to this service." + againEN + " and agree, or choose another way to be identified.", "Non hai acconsentito all'invio dei tuoi dati a questo servizio." + againIT + " e acconsenti, o scegli un altro modo di identificarti."},
	23: {"Your SPID identity is suspended or revoked, or its credentials are blocked. Turn to your identity provider, or choose another way to be identified.", "La tua identità SPID è sospesa o revocata, o le credenziali sono bloccate. Rivolgiti al tuo gestore dell'identità o scegli un altro modo di identificarti."},
	24: {"The identity provider refused, with a code that SPID has reserved." + againEN + otherEN, "Il gestore dell'identità ha rifiutato con un codice riservato da SPID." + againIT + otherIT},
	25: {"You cancelled the identification." + againEN + ", or choose another way to be identified.", "Hai annullato l'identificazione." + againIT + " o scegli un altro modo di identificarti."},
	26: {"The identity provider refused, with code 26." + againEN + otherEN, "Il gestore dell'identità ha rifiutato con il codice 26." + againIT + otherIT},
	27: {"The identity provider refused, with code 27." + againEN + otherEN, "Il gestore dell'identità ha rifiutato con il codice 27." + againIT + otherIT},
	28: {"The identity provider refused, with code 28." + againEN + otherEN, "Il gestore dell'identità ha rifiutato con il codice 28." + againIT + otherIT},
	29: {"The identity provider refused, with code 29." + againEN + otherEN, "Il gestore dell'identità ha rifiutato con il codice 29." + againIT + otherIT},
	30: {"The SPID identity that you used is not of the kind that this service needs: use one of a natural person." + againEN + ", or choose another way to be identified.", "L'identità SPID usata non è del tipo richiesto: usa quella di una persona fisica." + againIT + " o scegli un altro modo di identificarti."},
}

func refuse(reason string) *identify.Refusal {
	s := refusals[reason]
	return &identify.Refusal{Reason: reason, English: s.en, Italian: s.it}
}

// refuseCode is what a code of AgID's says, or that there is none of that
// number.
func refuseCode(n int) *identify.Refusal {
	s, ok := codes[n]
	if !ok {
		return refuse("status")
	}
	return &identify.Refusal{Reason: fmt.Sprintf("nr%02d", n), English: s.en, Italian: s.it}
}
