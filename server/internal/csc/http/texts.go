package http

import "rogito.dev/rogito/server/internal/keys"

// texts are what info and credentials say, in one language.
type texts struct {
	Service, PIN, OTP string
	Kinds             map[keys.Kind]string
}

var words = map[string]texts{
	"en": {
		Service: "Signatures and seals with keys that this server holds", PIN: "The password of the certificate", OTP: "The six digits of your authenticator app",
		Kinds: map[keys.Kind]string{keys.Automatic: "automatic signature", keys.OTP: "signature with one-time password", keys.ESeal: "electronic seal"},
	},
	"it": {
		Service: "Firme e sigilli con le chiavi custodite da questo server", PIN: "La password del certificato", OTP: "Le sei cifre dell'app di autenticazione",
		Kinds: map[keys.Kind]string{keys.Automatic: "firma automatica", keys.OTP: "firma con codice temporaneo", keys.ESeal: "sigillo elettronico"},
	},
}
