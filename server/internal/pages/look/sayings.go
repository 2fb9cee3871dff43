package look

import (
	"fmt"
	"strings"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/fault"
)

// sayings are the faults that people meet, as pages say them: by the form that the
// fault was built from. What is not here is said by its code.
var sayings = map[string]Text{
	"no such certificate": T("This link is not valid.", "Questo collegamento non è valido."),
	"the certificate is %s: it is not identified by %s now":      T("This way of being identified is not open for the order now. Go back to its page.", "Questo modo di identificarsi non è aperto per l'ordine in questo momento. Torna alla sua pagina."),
	"this is not a sandbox":                                      T("Nobody is approved by a button here: choose how to be identified.", "Qui nessuno viene approvato con un pulsante: scegli come identificarti."),
	"the certificate is %s":                                      T("The order does not allow this any more. Go back to its page.", "L'ordine non lo permette più. Torna alla sua pagina."),
	"the certificate is not DONE any more":                       T("The certificate is not active any more.", "Il certificato non è più attivo."),
	"the order is not %s any more":                               T("The order has changed meanwhile: it was cancelled, or is being issued. Go back to its page.", "Nel frattempo l'ordine è cambiato: è stato annullato o è in emissione. Torna alla sua pagina."),
	"the certificate is %s: there is nothing to confirm":         T("There is nothing to confirm any more. Go back to the page of your order.", "Non c'è più nulla da confermare. Torna alla pagina del tuo ordine."),
	"what was shown is not what waits now: look at it again":     T("What the certificate will say has changed meanwhile. Read it again before you confirm.", "Nel frattempo ciò che dirà il certificato è cambiato. Rileggilo prima di confermare."),
	"what was looked at is not what waits now: look at it again": T("Something else waits by now. Load the page again and look at it.", "Nel frattempo è arrivato altro. Ricarica la pagina ed esaminalo."),
	"the statement was used already":                             T("This statement was used already. Download a new one.", "Questa dichiarazione è già stata usata. Scaricane una nuova."),
	"what was handed in before is being looked at":               T("We already have your files, and are looking at them. Nothing more is needed now.", "Abbiamo già i tuoi file e li stiamo esaminando. Per ora non serve altro."),
	"%s is missing":                     T("Something is missing: %s.", "Manca qualcosa: %s."),
	"%s cannot be read":                 T("What you sent did not arrive whole: %s. Send it again.", "Ciò che hai inviato non è arrivato per intero: %s. Invialo di nuovo."),
	"%s is wrong":                       T("Wrong: %s.", "Errato: %s."),
	"this link is not for a new device": T("This link is not for a new device.", "Questo collegamento non serve a registrare un nuovo dispositivo."),
	"the code of the old device is wrong or was used":             T("The code of the old device is wrong, or was used before. Wait for the next one.", "Il codice del vecchio dispositivo è errato o già usato. Attendi il prossimo."),
	"the link was used already":                                   T("This link was used already.", "Questo collegamento è già stato usato."),
	"username is missing":                                         T("The username is missing.", "Manca il nome utente."),
	"password is missing":                                         T("The password is missing.", "Manca la password."),
	"delegatePassword is missing":                                 T("The delegate's password is missing.", "Manca la password del delegato."),
	"the order waits for no username and password":                T("The order does not wait for a username and password now. Go back to its page.", "In questo momento l'ordine non attende nome utente e password. Torna alla sua pagina."),
	"username or password is wrong":                               T("The username or the password is wrong.", "Il nome utente o la password è errato."),
	"the key is not at a provider":                                T("The key is not kept at a provider: no code can be sent.", "La chiave non è presso un fornitore: nessun codice si può inviare."),
	"provider: %s":                                                T("The provider of the key answered: %s", "Il fornitore della chiave non ha accettato. Ha risposto: «%s»"),
	"credential: %s":                                              T("The provider does not show this credential. It answered: %s", "Il fornitore non mostra questa credenziale. Ha risposto: «%s»"),
	"no evidence is kept of this order":                           T("Nothing is kept of this order.", "Di questo ordine non è conservato nulla."),
	"the certificate is %s: there is nothing to review":           T("There is nothing to review any more.", "Non c'è più nulla da esaminare."),
	"nothing was handed in that waits for a review":               T("Nothing waits for a review: somebody has decided, or the order has ended.", "Nulla attende un esame: qualcuno ha già deciso, o l'ordine è finito."),
	"there is no such file":                                       T("There is no such file.", "Questo file non c'è."),
	"an administrator of another account must look at this order": T("Nobody decides on an order of their own account: an administrator of another account must look at it.", "Nessuno decide su un ordine del proprio conto: deve esaminarlo un amministratore di un altro conto."),
	"nobody logs in at the provider %s":                           T("Nobody logs in at the provider of this key.", "Presso il fornitore di questa chiave non si accede."),
	"the provider %s is not configured any more":                  T("The provider %s is not connected to this service any more. Tell whoever ordered the certificate.", "Il fornitore %s non è più collegato a questo servizio. Avvisa chi ha ordinato il certificato."),
	"there is no credential of yours at the provider":             T("The provider has no key for signing of yours.", "Presso il fornitore non c'è nessuna tua chiave di firma."),
	"the order waits for no credential in this browser":           T("The order does not wait for a credential in this browser. Open its page again.", "L'ordine non attende una credenziale in questo browser. Riapri la sua pagina."),
	"credential is missing":                                       T("Name the credential.", "Indica la credenziale."),
	"credential is none of yours at the provider":                 T("This credential is none of yours at the provider.", "Questa credenziale non è tua presso il fornitore."),
	"credential: its certificate expired on %s":                   T("The certificate of this credential expired on %s.", "Il certificato di questa credenziale è scaduto il %s."),
	"credential: its certificate is one of an authority":          T("The certificate of this credential is one of an authority: it cannot sign documents.", "Il certificato di questa credenziale è quello di un'autorità: non può firmare documenti."),
	"credential: its certificate is not for signing":              T("The certificate of this credential is not for signing.", "Il certificato di questa credenziale non è per firmare."),
	"credential: its key is none of %v":                           T("The key of this credential is of a kind that this service does not use.", "La chiave di questa credenziale è di un tipo che questo servizio non usa."),
	"credential: its certificate is %s, by the word of its issuer": T("The certificate of this credential is revoked or suspended, says its issuer.",
		"Il certificato di questa credenziale è revocato o sospeso, dice chi l'ha emesso."),
	"pin is missing: the credential asks for one":             T("The PIN is missing: this credential asks for one.", "Manca il PIN: questa credenziale lo chiede."),
	"kind must be automatic, otp or eseal":                    T("This kind of certificate does not exist.", "Questo tipo di certificato non esiste."),
	"identification by %s is not configured on this server":   T("This way of being identified is not offered here.", "Questo modo di identificarsi qui non è offerto."),
	"the certificate is %s: it cannot become %s":              T("The state of the certificate does not allow this.", "Lo stato del certificato non lo permette."),
	"the credentials were shown already":                      T("The credentials were shown already: they show once.", "Le credenziali sono già state mostrate: si vedono una volta sola."),
	"the identity provider or its federation does not answer": T("The identity provider does not answer. Try again in a moment, or choose another way.", "Il gestore di identità non risponde. Riprova tra poco, o scegli un altro modo."),
	"the identification cannot be completed now: try again in a moment": T("The identification cannot be completed now: try again in a moment.",
		"L'identificazione non può essere completata adesso: riprova tra poco."),
	"subject.%s was ordered, and identification by %s did not prove it": T("Your identification does not prove something that the order names.", "La tua identificazione non dimostra un dato indicato nell'ordine."),
	"%s has characters that nobody can read":                            T("A name or another attribute has characters that nobody can read.", "Un nome o un altro dato contiene caratteri che nessuno può leggere."),
	"the person identified is not the applicant: %s differs":            T("The person identified is not the one that the order names.", "La persona identificata non è quella indicata nell'ordine."),
	"identification by %s proved no name":                               T("Your identification proves no name.", "La tua identificazione non dimostra alcun nome."),
	"the document is not signed, or its signature is not valid":         T("The document is not signed, or its signature is not valid.", "Il documento non è firmato, o la sua firma non è valida."),
	"the document is not signed":                                        T("The document is not signed.", "Il documento non è firmato."),
	"the document cannot be read":                                       T("The document cannot be read.", "Il documento non si può leggere."),
	"the statement bears a signature older than itself":                 T("The statement bears a signature that is older than the statement itself.", "La dichiarazione porta una firma più vecchia della dichiarazione stessa."),
	"the statement must be signed with %s":                              T("The statement must be signed with %s.", "La dichiarazione va firmata con %s."),
	"the signer's certificate cannot be read":                           T("The signer's certificate cannot be read.", "Il certificato di chi ha firmato non si può leggere."),
	"the signer's certificate has a pseudonym: it proves no name":       T("The signer's certificate has a pseudonym: it proves no name.", "Il certificato di chi ha firmato ha uno pseudonimo: non dimostra alcun nome."),
	"the code is wrong; tries left: %s":                                 T("The code is wrong. Tries left: %s.", "Il codice è errato. Tentativi rimasti: %s."),
	"unknown action":                                                    T("The form was not complete. Load the page again.", "Il modulo non era completo. Ricarica la pagina."),
	"document is missing":                                               T("Choose the signed statement first.", "Prima scegli la dichiarazione firmata."),
	"document is too large or was cut short":                            T("The signed statement is too large, or did not arrive whole.", "La dichiarazione firmata è troppo grande, o non è arrivata per intero."),
	"files of this order are being taken in: wait a moment":             T("Your files are just being received. Wait a moment.", "Stiamo ricevendo i tuoi file. Attendi un momento."),
	"%s is neither a film nor a picture":                                T("This is no video and no picture: %s.", "Questo non è né un video né un'immagine: %s."),
	"what will be certified is confirmed in the browser that went through the identification: be identified again in this one": T(
		"Confirm in the browser in which you were identified, or be identified again in this one.",
		"Conferma nel browser in cui ti sei identificato, o identificati di nuovo in questo."),
	"the credentials show in the browser that went through the identification: be identified again in this one": T(
		"The credentials show in the browser in which you were identified. In this one, be identified again.",
		"Le credenziali si vedono nel browser in cui ti sei identificato. In questo, identificati di nuovo."),
	"a code of the old device is missing: without the old device, be identified again": T(
		"Give a code of the old device. If you do not have it any more, be identified again.",
		"Inserisci un codice del vecchio dispositivo. Se non lo hai più, identificati di nuovo."),
	"the code of the old device is from before this link was made: wait for the next code, half a minute at most": T(
		"This code is older than the link. Wait for the next one, half a minute at most.",
		"Questo codice è più vecchio del collegamento. Attendi il prossimo, al massimo mezzo minuto."),
	"username or password is too long, or has characters that nobody can read": T(
		"The username or the password is too long, or has characters that nobody can read.",
		"Il nome utente o la password è troppo lungo, o contiene caratteri che nessuno può leggere."),
	"the certificate is used with no one-time password that could be sent": T(
		"This certificate is used without codes that could be sent.", "Questo certificato si usa senza codici da inviare."),
	"credential or pin is too long, or has characters that nobody can read": T(
		"The credential or the PIN is too long, or has characters that nobody can read.",
		"La credenziale o il PIN è troppo lungo, o contiene caratteri che nessuno può leggere."),
	"the credential asks for no PIN: the operator takes it into use (rogito cert remote)": T(
		"This credential has no PIN: only the operator of this service can take it into use.",
		"Questa credenziale non ha PIN: solo il gestore di questo servizio può attivarla."),
	"credential: the provider wants a login for each signature (oauth2code), which a call cannot give": T(
		"The provider wants a login for each signature with this credential: it cannot be used here.",
		"Per ogni firma con questa credenziale il fornitore chiede un accesso: qui non si può usare."),
	"credential: it takes no one-time password, and certificates of the kind otp are never used without": T(
		"This credential takes no one-time password, and the certificate that was ordered needs one.",
		"Questa credenziale non prevede codici temporanei, e il certificato ordinato li richiede."),
	"credential: it asks for a one-time password, and only certificates of the kind otp are used with one": T(
		"This credential asks for a one-time password, and the certificate that was ordered is used without.",
		"Questa credenziale chiede un codice temporaneo, e il certificato ordinato si usa senza."),
	"the order is not the one that was bought: it was changed in the database": T(
		"The order is not the one that was bought. Tell the operator of this service.",
		"L'ordine non è quello acquistato. Avvisa il gestore di questo servizio."),
	"no statement of this order waits for a signature: download it again": T(
		"No statement waits for your signature. Download it, sign it and send it back.",
		"Nessuna dichiarazione attende la tua firma. Scaricala, firmala e inviala."),
	"the statement of this order has changed: download it again": T(
		"The statement has changed or is older than a day. Download it again and sign it.",
		"La dichiarazione è cambiata o ha più di un giorno. Scaricala di nuovo e firmala."),
	"the statement must be signed by itself, as PDF, .p7m or enveloping XML: not in a container": T(
		"Sign the statement by itself, as PDF or .p7m: not in a container with other files.",
		"Firma la dichiarazione da sola, come PDF o .p7m: non in un contenitore con altri file."),
	"the signed document is not the statement of this order: download it, sign it as it is, and send it back": T(
		"This is not the statement of your order. Download it, sign it as it is, and send it back.",
		"Questa non è la dichiarazione del tuo ordine. Scaricala, firmala così com'è e inviala."),
	"the statement is signed with a key that this server uses for its callers: that proves nobody. Sign with a key that you hold yourself": T(
		"The statement is signed with a key that this service keeps, which proves nothing about you. Sign with a key of your own.",
		"La dichiarazione è firmata con una chiave custodita da questo servizio, che di te non dimostra nulla. Firma con una chiave tua."),
	"the certificate of a person does not prove that the person may act for the organisation: sign with a seal of the organisation, or be identified by video with an extract of its register": T(
		"The certificate of a person does not prove that the person may act for the organisation. Sign with a seal of the organisation, or use the video with an extract of the register.",
		"Il certificato di una persona non dimostra che possa agire per l'organizzazione. Firma con un sigillo dell'organizzazione, o usa il video con una visura."),
	"the signature must not be visible on the page, where it could cover the statement: sign without a picture, or as .p7m": T(
		"The signature must not be visible on the page, where it could cover the statement. Sign without a picture, or as .p7m.",
		"La firma non deve essere visibile sulla pagina, dove potrebbe coprire la dichiarazione. Firma senza immagine, o come .p7m."),
	"the audit log says that the certificate is on hold, or has another password or device": T(
		"The certificate is on hold, or has another password or device by now.",
		"Il certificato è sospeso, o nel frattempo ha un'altra password o un altro dispositivo."),
	"the password or the certificate was changed meanwhile": T("The password or the certificate was changed meanwhile.", "Nel frattempo la password o il certificato è cambiato."),
	"the certificate is locked after wrong passwords or one-time passwords": T(
		"The certificate is locked after several wrong passwords or codes. Try again in a quarter of an hour.",
		"Il certificato è bloccato dopo diverse password o codici errati. Riprova tra un quarto d'ora."),
	"the certificate is locked after too many failures in a day; the operator can unlock it": T(
		"The certificate is locked after too many wrong passwords or codes in a day. The operator of this service can unlock it.",
		"Il certificato è bloccato dopo troppe password o codici errati in un giorno. Può sbloccarlo il gestore di questo servizio."),
	"the key is in use already, by another certificate here: revoke that one first": T(
		"Another certificate here uses this key already: it must be revoked first.",
		"Un altro certificato qui usa già questa chiave: prima va revocato."),
	"the key pair or the username is in use already: one key pair serves one kind": T(
		"This key is in use already, for certificates of another kind.", "Questa chiave è già in uso, per certificati di un altro tipo."),
}

// words that sayings contain, as people know them.
var words = map[string]Text{
	"video":        T("the video", "il video"),
	"photo":        T("the photo of the document", "la foto del documento"),
	"organization": T("the extract from the register", "la visura"),
	"document":     T("the signed statement", "la dichiarazione firmata"),
	"password":     T("the password", "la password"),

	"a certificate of a service on a trusted list": T("a certificate of a service on a trusted list", "un certificato di un servizio presente in un elenco di fiducia"),
	"a qualified certificate for seals":            T("a qualified certificate for seals", "un certificato qualificato di sigillo"),
	"a qualified certificate":                      T("a qualified certificate", "un certificato qualificato"),
}

// saying is a fault as pages say it.
func saying(f *fault.Error) (Text, bool) {
	t, ok := sayings[f.Format]
	if !ok || !strings.Contains(t.English, "%s") {
		return t, ok
	}
	var out Text
	for to, l := range map[*string]paper.Lang{&out.English: paper.English, &out.Italian: paper.Italian} {
		args := make([]any, len(f.Args))
		for i, a := range f.Args {
			args[i] = a
			if w, ok := words[fmt.Sprint(a)]; ok {
				args[i] = w.In(l)
			}
		}
		*to = fmt.Sprintf(t.In(l), args...)
	}
	return out, true
}
