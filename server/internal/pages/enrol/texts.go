package enrol

import (
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
)

// titles of the steps: each has one of its own.
var titles = map[string]look.Text{
	"start":      look.T("Your signing certificate", "Il tuo certificato di firma"),
	"renew":      look.T("A new device for codes", "Un nuovo dispositivo per i codici"),
	"choose":     look.T("How do you want to prove who you are?", "Come vuoi dimostrare chi sei?"),
	"spid":       look.T("Prove who you are with SPID", "Dimostra chi sei con SPID"),
	"cie":        look.T("Prove who you are with your identity card (CIE)", "Dimostra chi sei con la carta d'identità (CIE)"),
	"cns":        look.T("Prove who you are with a smart card (CNS)", "Dimostra chi sei con una carta (CNS)"),
	"video":      look.T("A video and your identity document", "Un video e il tuo documento d'identità"),
	"signature":  look.T("Sign a statement", "Firma una dichiarazione"),
	"login":      look.T("Your key at the provider", "La tua chiave presso il fornitore"),
	"credential": look.T("Your key at the provider", "La tua chiave presso il fornitore"),
	"account":    look.T("Your key at the provider", "La tua chiave presso il fornitore"),
	"depart":     look.T("To your identity provider", "Verso il tuo gestore di identità"),
	"confirm":    look.T("Is this right?", "È tutto giusto?"),
	"wait":       look.T("We are looking at what you sent", "Stiamo esaminando ciò che hai inviato"),
	"work":       look.T("Your certificate is being issued", "Il tuo certificato è in emissione"),
	"reveal":     look.T("Your certificate is ready", "Il tuo certificato è pronto"),
	"device":     look.T("A new device for codes", "Un nuovo dispositivo per i codici"),
	"shown":      look.T("Your credentials", "Le tue credenziali"),
	"end":        look.T("Your signing certificate", "Il tuo certificato di firma"),
	"refused":    look.T("Your order has ended", "Il tuo ordine è terminato"),
	"problem":    look.T("That did not work", "Non ha funzionato"),
}

// places of the steps in the journey of four.
var places = map[string]int{
	"start": 1, "choose": 2, "spid": 2, "cie": 2, "cns": 2, "video": 2, "signature": 2, "wait": 2, "confirm": 3, "reveal": 4, "shown": 4,
}

// kinds of certificates, and what each is for.
var kinds = map[keys.Kind]struct{ Name, Use look.Text }{
	keys.Automatic: {
		look.T("automatic signature", "firma automatica"),
		look.T("Programs sign in your name with it, as long as they have your password. No code is asked for each time.", "I programmi firmano a tuo nome finché hanno la tua password. Non viene chiesto un codice ogni volta."),
	},
	keys.OTP: {
		look.T("signature with one-time password", "firma con codice temporaneo"),
		look.T("You sign with a password and a code that an app on your telephone shows.", "Firmi con una password e con un codice mostrato da un'app sul tuo telefono."),
	},
	keys.ESeal: {
		look.T("electronic seal", "sigillo elettronico"),
		look.T("Documents bear the name of the organisation. You act as who represents it.", "I documenti portano il nome dell'organizzazione. Tu agisci come suo rappresentante."),
	},
}

// ways are the methods in the order in which they are offered: what takes the least time
// first. Need is what must be at hand.
var ways = []way{
	{Method: "spid", Name: look.Same("SPID"), Need: look.T("Your SPID credentials of level 2 or higher.", "Le tue credenziali SPID di livello 2 o superiore."), Time: look.T("About 3 minutes.", "Circa 3 minuti.")},
	{Method: "cie", Name: look.T("Electronic identity card (CIE)", "Carta d'identità elettronica (CIE)"), Need: look.T("Your card with its PIN, or the app CieID.", "La carta con il suo PIN, oppure l'app CieID."), Time: look.T("About 3 minutes.", "Circa 3 minuti.")},
	{
		Method: "cns", Name: look.T("Smart card (CNS, health card)", "Carta con chip (CNS, tessera sanitaria)"),
		Need: look.T("Your card with its PIN, and a card reader on this computer.", "La carta con il suo PIN, e un lettore di carte su questo computer."), Time: look.T("About 5 minutes.", "Circa 5 minuti."),
	},
	{
		Method: "video", Name: look.T("Video and identity document", "Video e documento d'identità"),
		Need: look.T("A camera with a microphone, and an identity document that has not expired.", "Una fotocamera con microfono, e un documento d'identità non scaduto."),
		Time: look.T("About 5 minutes. Then a person looks at it: come back later.", "Circa 5 minuti. Poi una persona lo esamina: torni più tardi."),
	},
	{
		Method: "signature", Name: look.T("Electronic signature that you have already", "Firma elettronica che hai già"),
		Need: look.T("A qualified electronic signature in your name, and the program that you sign with.", "Una firma elettronica qualificata a tuo nome, e il programma con cui firmi."), Time: look.T("About 5 minutes.", "Circa 5 minuti."),
	},
}

// way is a method as the page offers it.
type way struct {
	Method           string
	Name, Need, Time look.Text
	Address          string
	First            bool // the one that takes the least time
}

// attributes that a certificate can name.
var attributes = map[string]look.Text{
	"fiscalCode": look.T("Fiscal code", "Codice fiscale"), "organizationIdentifier": look.T("Identifier of the organisation", "Identificativo dell'organizzazione"),
	"surname": look.T("Surname", "Cognome"), "givenName": look.T("Given name", "Nome"), "organization": look.T("Organisation", "Organizzazione"),
	"dateOfBirth": look.T("Date of birth", "Data di nascita"), "country": look.T("Country", "Paese"), "email": look.T("E-mail", "Posta elettronica"), "mobile": look.T("Mobile", "Cellulare"),
}

var holder = look.T("Holder", "Titolare")

// factors that allowed a new device.
var factors = map[string]look.Text{
	"code":           look.T("with the password and a code of the old device", "con la password e un codice del vecchio dispositivo"),
	"identification": look.T("with the password, after another identification", "con la password, dopo una nuova identificazione"),
}

// The texts for an identification that did not succeed.
var (
	differs   = look.T("The person identified is not the one that the order names. What differs: %s.", "La persona identificata non è quella indicata nell'ordine. Non corrisponde: %s.")
	notProven = look.T("Your identification does not prove something that the order names: %s.", "La tua identificazione non dimostra un dato indicato nell'ordine: %s.")
	tooLarge  = look.T("What you sent is too large, or did not arrive whole. A video of a minute and a photo are enough: 120 MB in all.", "Ciò che hai inviato è troppo grande, o non è arrivato per intero. Bastano un video di un minuto e una foto: 120 MB in tutto.")
)
