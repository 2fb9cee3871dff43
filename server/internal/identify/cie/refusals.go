package cie

import "rogito.dev/rogito/server/internal/identify"

// again is the way on.
const (
	againEnglish = " Please begin again from the page of your order, or choose another way to identify yourself."
	againItalian = " Ricominci dalla pagina del suo ordine, oppure scelga un altro modo di identificarsi."
)

// sentences for people, by the reason: English, Italian.
var sentences = map[string][2]string{
	// Before anybody is sent on.
	"provider":   {"This server does not know that identity provider.", "Questo server non conosce quel gestore di identità."},
	"statement":  {"The identity provider's configuration in the federation is not valid.", "La configurazione del gestore di identità nella federazione non è valida."},
	"chain":      {"The identity provider is not vouched for by the federation of CIE.", "La federazione CIE non garantisce per il gestore di identità."},
	"trust-mark": {"The identity provider has no valid trust mark of the federation of CIE.", "Il gestore di identità non ha un trust mark valido della federazione CIE."},
	"policy":     {"The identity provider does not keep to the rules of the federation of CIE.", "Il gestore di identità non rispetta le regole della federazione CIE."},
	"metadata":   {"The identity provider's configuration in the federation is not usable.", "La configurazione del gestore di identità nella federazione non è utilizzabile."},

	// What came back.
	"answer":    {"The answer of the identity provider is not complete.", "La risposta del gestore di identità non è completa."},
	"state":     {"The answer does not belong to a request of this server.", "La risposta non appartiene a una richiesta di questo server."},
	"late":      {"The answer came too late.", "La risposta è arrivata troppo tardi."},
	"issuer":    {"The answer does not come from the identity provider that was asked.", "La risposta non viene dal gestore di identità a cui è stata fatta la richiesta."},
	"client":    {"The identity provider does not accept this server at present.", "Il gestore di identità al momento non accetta questo server."},
	"code":      {"The identity provider does not accept the answer: it was used already, or has expired.", "Il gestore di identità non accetta la risposta: è già stata usata oppure è scaduta."},
	"tokens":    {"The identity provider confirmed nothing that this server understands.", "Il gestore di identità non ha confermato nulla che questo server comprenda."},
	"id-token":  {"The identity provider's confirmation is not signed as it must be.", "La conferma del gestore di identità non è firmata come deve."},
	"audience":  {"The identity provider's confirmation was made for another service.", "La conferma del gestore di identità è destinata a un altro servizio."},
	"nonce":     {"The identity provider's confirmation answers another request.", "La conferma del gestore di identità risponde a un'altra richiesta."},
	"at_hash":   {"The identity provider's confirmation does not fit what came with it.", "La conferma del gestore di identità non corrisponde a ciò che l'accompagna."},
	"expired":   {"The identity provider's confirmation has expired.", "La conferma del gestore di identità è scaduta."},
	"time":      {"The identity provider's confirmation is not of the time of the request.", "La conferma del gestore di identità non è del momento della richiesta."},
	"level":     {"The identification was of a lower level than is needed.", "L'identificazione è avvenuta con un livello di sicurezza inferiore a quello richiesto."},
	"subject":   {"What the identity provider says is about two different people, or about nobody.", "Ciò che dice il gestore di identità riguarda due persone diverse, oppure nessuna."},
	"userinfo":  {"The personal data of the identity provider are not signed as they must be.", "I dati personali del gestore di identità non sono firmati come devono."},
	"unsigned":  {"The personal data of the identity provider are not signed.", "I dati personali del gestore di identità non sono firmati."},
	"claims":    {"The identity provider did not give name and tax code, or gave some that contradict each other.", "Il gestore di identità non ha fornito nome e codice fiscale, oppure ne ha forniti di contraddittori."},
	"undefined": {"The identity provider answered with an error that the rules do not know.", "Il gestore di identità ha risposto con un errore che le regole non prevedono."},

	// Errors that a provider may answer with: RFC 6749 section 4.1.2.1, OpenID
	// Connect Core 1.0 section 3.1.2.6, OpenID Federation 1.0 section 8.9.
	"access_denied":                     {"The identity provider refused: the identification was cancelled, or the card or level does not suffice.", "Il gestore di identità ha rifiutato: l'identificazione è stata annullata, oppure la carta o il livello non bastano."},
	"rejected_by_user":                  {"You did not agree that your data be passed on.", "Non ha acconsentito alla trasmissione dei suoi dati."},
	"consent_required":                  {"You did not agree that your data be passed on.", "Non ha acconsentito alla trasmissione dei suoi dati."},
	"login_required":                    {"You were not identified at the identity provider.", "Non si è identificato presso il gestore di identità."},
	"interaction_required":              {"The identity provider needs you to do something that was not done.", "Il gestore di identità richiede un'operazione che non è stata fatta."},
	"server_error":                      {"The identity provider has a fault. Please try later.", "Il gestore di identità ha un guasto. Riprovi più tardi."},
	"temporarily_unavailable":           {"The identity provider cannot serve at present. Please try later.", "Il gestore di identità al momento non è disponibile. Riprovi più tardi."},
	"invalid_request":                   {"The identity provider did not take the request, or you cancelled it.", "Il gestore di identità non ha accettato la richiesta, oppure l'ha annullata lei."},
	"invalid_scope":                     {"The identity provider did not take the request (invalid_scope).", "Il gestore di identità non ha accettato la richiesta (invalid_scope)."},
	"invalid_request_object":            {"The identity provider did not take the request (invalid_request_object).", "Il gestore di identità non ha accettato la richiesta (invalid_request_object)."},
	"unauthorized_client":               {"The identity provider does not accept this server (unauthorized_client).", "Il gestore di identità non accetta questo server (unauthorized_client)."},
	"invalid_client":                    {"The identity provider does not accept this server (invalid_client).", "Il gestore di identità non accetta questo server (invalid_client)."},
	"unsupported_response_type":         {"The identity provider did not take the request (unsupported_response_type).", "Il gestore di identità non ha accettato la richiesta (unsupported_response_type)."},
	"request_not_supported":             {"The identity provider did not take the request (request_not_supported).", "Il gestore di identità non ha accettato la richiesta (request_not_supported)."},
	"request_uri_not_supported":         {"The identity provider did not take the request (request_uri_not_supported).", "Il gestore di identità non ha accettato la richiesta (request_uri_not_supported)."},
	"registration_not_supported":        {"The identity provider did not take the request (registration_not_supported).", "Il gestore di identità non ha accettato la richiesta (registration_not_supported)."},
	"missing_trust_anchor":              {"The identity provider does not find this server in the federation (missing_trust_anchor).", "Il gestore di identità non trova questo server nella federazione (missing_trust_anchor)."},
	"validation_failed":                 {"The identity provider does not find this server in the federation (validation_failed).", "Il gestore di identità non trova questo server nella federazione (validation_failed)."},
	"unmet_authentication_requirements": {"The identification that is needed was not possible: the card or the level does not suffice.", "L'identificazione richiesta non è stata possibile: la carta o il livello non bastano."},
}

// refuse is a refusal for one of the reasons above.
func refuse(reason string) *identify.Refusal {
	s := sentences[reason]
	return &identify.Refusal{Reason: reason, English: s[0] + againEnglish, Italian: s[1] + againItalian}
}

// said is the refusal of a provider that answered with an error.
func said(failure string) *identify.Refusal {
	if _, known := sentences[failure]; !known {
		failure = "undefined"
	}
	return refuse(failure)
}
