package console

import (
	"net/http"

	"golang.org/x/text/language"
)

// texts of a page, in one language.
type texts struct {
	Title, Sandbox, Holder, KindName              string
	Approve, ApproveHelp                          string
	SignatureHelp, SignatureFile, Send            string
	VideoHelp, VideoFile, PhotoFile               string
	Wait, Reload                                  string
	RevealHelp, Reveal                            string
	Shown, Username, Password, Secret, ScanQR     string
	DeviceHelp, DevicePassword, DeviceSend        string
	End, Problem, TooLarge, OnlyOnce, NotToOthers string
	Kinds                                         map[string]string
}

var translations = map[string]texts{
	"en": {
		Title: "Your signing certificate", Sandbox: "SANDBOX: for trying out. Nothing here binds anybody.", Holder: "Holder", KindName: "Kind",
		Approve: "Approve", ApproveHelp: "In the sandbox nobody is identified: this button is enough.",
		SignatureHelp: "Upload any document that you have signed with a valid electronic signature in your name.",
		SignatureFile: "Signed document", Send: "Send",
		VideoHelp: "Upload a short video in which you say your name and today's date, and a photo of an identity document. An operator will look at them.",
		VideoFile: "Video", PhotoFile: "Photo of the document",
		Wait: "We are looking at what you sent. Come back to this page later.", Reload: "Look again",
		RevealHelp: "Your certificate is ready. The credentials are shown once: have something to write at hand.", Reveal: "Show the credentials",
		Shown: "Your credentials", Username: "Username", Password: "Password", Secret: "Secret for one-time passwords", ScanQR: "Scan this with an authenticator app.",
		DeviceHelp: "Give the password of the certificate to enrol a new device for one-time passwords. The old one stops working.", DevicePassword: "Password", DeviceSend: "Enrol",
		End: "There is nothing to do here: the link was used, or it is not valid.", Problem: "That did not work",
		TooLarge: "What you sent is too large.", OnlyOnce: "They are shown only now. Keep them safe.", NotToOthers: "Nobody will ever ask you for them.",
		Kinds: map[string]string{"automatic": "automatic signature", "otp": "signature with one-time password", "eseal": "electronic seal"},
	},
	"it": {
		Title: "Il tuo certificato di firma", Sandbox: "SANDBOX: ambiente di prova. Nulla di ciò che fai qui ha valore legale.", Holder: "Titolare", KindName: "Tipo",
		Approve: "Approva", ApproveHelp: "Nella sandbox nessuno viene identificato: basta questo pulsante.",
		SignatureHelp: "Carica un documento qualsiasi che hai firmato con una firma elettronica valida a tuo nome.",
		SignatureFile: "Documento firmato", Send: "Invia",
		VideoHelp: "Carica un breve video in cui dici il tuo nome e la data di oggi, e la foto di un documento d'identità. Un operatore li esaminerà.",
		VideoFile: "Video", PhotoFile: "Foto del documento",
		Wait: "Stiamo esaminando ciò che hai inviato. Torna più tardi su questa pagina.", Reload: "Ricarica",
		RevealHelp: "Il tuo certificato è pronto. Le credenziali sono mostrate una sola volta: preparati a scriverle.", Reveal: "Mostra le credenziali",
		Shown: "Le tue credenziali", Username: "Nome utente", Password: "Password", Secret: "Segreto per i codici temporanei", ScanQR: "Inquadra il codice con un'app di autenticazione.",
		DeviceHelp: "Inserisci la password del certificato per registrare un nuovo dispositivo per i codici temporanei. Quello vecchio smetterà di funzionare.", DevicePassword: "Password", DeviceSend: "Registra",
		End: "Qui non c'è nulla da fare: il collegamento è già stato usato o non è valido.", Problem: "Non ha funzionato",
		TooLarge: "Ciò che hai inviato è troppo grande.", OnlyOnce: "Sono mostrate solo adesso. Conservale al sicuro.", NotToOthers: "Nessuno te le chiederà mai.",
		Kinds: map[string]string{"automatic": "firma automatica", "otp": "firma con codice temporaneo", "eseal": "sigillo elettronico"},
	},
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Italian})

func pickLanguage(r *http.Request) string {
	_, i := language.MatchStrings(languages, r.Header.Get("Accept-Language"))
	return []string{"en", "it"}[i]
}
