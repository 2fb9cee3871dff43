package desk

import (
	"rogito.dev/rogito/server/internal/console/look"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
)

// chip is a state in a word, with the class that colours it.
type chip struct {
	Class string
	Name  look.Text
}

var recordStates = map[signing.State]chip{
	signing.WaitValidation: {"undetermined", look.T("Being checked", "In controllo")},
	signing.WaitSign:       {"undetermined", look.T("Waiting", "In attesa")},
	signing.Done:           {"valid", look.T("Signed", "Firmato")},
	signing.Error:          {"invalid", look.T("Failed", "Non riuscita")},
}

var waitsForApproval = chip{"undetermined", look.T("Waiting for approval", "In attesa di approvazione")}

func stateOf(r *signing.Record) chip {
	if r.Approval == "WAITING" && !r.State.Final() {
		return waitsForApproval
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
var formats = map[string]look.Text{
	"pades": look.T("In the PDF (PAdES)", "Nel PDF (PAdES)"),
	"cades": look.T("In an envelope (CAdES)", "In una busta (CAdES)"),
	"xades": look.T("XML or container (XAdES)", "XML o contenitore (XAdES)"),
	"pkcs1": look.T("Raw value (PKCS#1)", "Valore grezzo (PKCS#1)"),
}

// events of the audit log, as far as people know them by name.
var events = map[string]look.Text{
	"request":    look.T("Asked for", "Richiesta"),
	"input":      look.T("Document received", "Documento ricevuto"),
	"validation": look.T("Document checked", "Documento controllato"),
	"key-use":    look.T("Key used", "Chiave usata"),
	"time-stamp": look.T("Time-stamp", "Marca temporale"),
	"timestamp":  look.T("Time-stamp", "Marca temporale"),
	"signed":     look.T("Signed", "Firmato"),
	"signature":  look.T("Signature made", "Firma apposta"),
	"callback":   look.T("Notice sent", "Notifica inviata"),
	"download":   look.T("Downloaded", "Scaricato"),
	"approval":   look.T("Approved", "Approvato"),
	"error":      look.T("Failed", "Non riuscita"),
	"retention":  look.T("Files deleted", "File cancellati"),
}

// attributes of a person, as a review shows them.
var attributes = map[string]look.Text{
	"fiscalCode": look.T("Fiscal code", "Codice fiscale"), "organizationIdentifier": look.T("Identifier of the organisation", "Identificativo dell'organizzazione"),
	"surname": look.T("Surname", "Cognome"), "givenName": look.T("Given name", "Nome"), "organization": look.T("Organisation", "Organizzazione"),
	"dateOfBirth": look.T("Date of birth", "Data di nascita"), "country": look.T("Country", "Paese"), "email": look.T("E-mail", "Posta elettronica"), "mobile": look.T("Mobile", "Cellulare"),
}
