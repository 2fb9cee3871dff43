package csc

import "rogito.dev/rogito/server/internal/keys"

// texts in one language: of the page, and of what info and credentials say.
type texts struct {
	Service, PIN, OTP string
	Kinds             map[keys.Kind]string

	Title, Sandbox, Asks, Goes, LogIn      string
	Signatures, Documents, Digest, Purpose string
	Username, Password, Code, CodeHelp     string
	Allow, Deny, Warning, Problem          string
	Problems                               map[string]string
}

var words = map[string]texts{
	"en": {
		Service: "Signatures and seals with keys that this server holds", PIN: "The password of the certificate", OTP: "The six digits of your authenticator app",
		Kinds: map[keys.Kind]string{keys.Automatic: "automatic signature", keys.OTP: "signature with one-time password", keys.ESeal: "electronic seal"},
		Title: "Consent", Sandbox: "SANDBOX: for trying out. Nothing here binds anybody.",
		Asks: "An application asks", Goes: "The answer goes to",
		LogIn:      "It wants to see your certificate. It cannot sign without asking you again.",
		Signatures: "It wants to sign in your name. Number of signatures:", Documents: "Documents", Digest: "Digest", Purpose: "Purpose, in the words of the application",
		Username: "Username of the certificate", Password: "Password", Code: "One-time code", CodeHelp: "Only if your certificate has one: the six digits of your authenticator app.",
		Allow: "Consent", Deny: "Refuse", Warning: "Consent only if you began this yourself and know the application.", Problem: "That did not work",
		Problems: map[string]string{
			"credentials": "Username or password are wrong, or they are not those of the certificate that is asked for.",
			"otp":         "The one-time code is wrong or was used already. Wait for the next one.",
			"locked":      "The certificate is locked after wrong passwords or codes. Try again later.",
			"unusable":    "The certificate is expired, suspended or revoked.",
			"request":     "The application asked in a wrong way, or its request is over. Go back and begin again.",
			"later":       "Something is wrong on our side. Try again in a moment.",
		},
	},
	"it": {
		Service: "Firme e sigilli con le chiavi custodite da questo server", PIN: "La password del certificato", OTP: "Le sei cifre dell'app di autenticazione",
		Kinds: map[keys.Kind]string{keys.Automatic: "firma automatica", keys.OTP: "firma con codice temporaneo", keys.ESeal: "sigillo elettronico"},
		Title: "Consenso", Sandbox: "SANDBOX: ambiente di prova. Nulla di ciò che fai qui ha valore legale.",
		Asks: "Un'applicazione chiede", Goes: "La risposta va a",
		LogIn:      "Vuole vedere il tuo certificato. Non può firmare senza chiedertelo di nuovo.",
		Signatures: "Vuole firmare a tuo nome. Numero di firme:", Documents: "Documenti", Digest: "Impronta", Purpose: "Scopo, con le parole dell'applicazione",
		Username: "Nome utente del certificato", Password: "Password", Code: "Codice temporaneo", CodeHelp: "Solo se il tuo certificato ne ha uno: le sei cifre dell'app di autenticazione.",
		Allow: "Acconsento", Deny: "Rifiuto", Warning: "Acconsenti solo se hai iniziato tu e conosci l'applicazione.", Problem: "Non ha funzionato",
		Problems: map[string]string{
			"credentials": "Nome utente o password non sono giusti, o non sono del certificato richiesto.",
			"otp":         "Il codice temporaneo è sbagliato o già usato. Aspetta il prossimo.",
			"locked":      "Il certificato è bloccato dopo password o codici sbagliati. Riprova più tardi.",
			"unusable":    "Il certificato è scaduto, sospeso o revocato.",
			"request":     "L'applicazione ha chiesto in modo sbagliato, o la sua richiesta è scaduta. Torna indietro e ricomincia.",
			"later":       "C'è un problema da parte nostra. Riprova tra poco.",
		},
	},
}
