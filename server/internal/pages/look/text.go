package look

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/text/language"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/fault"
)

// Text is a text in both languages. In Go it is written with [T], in a template
// with {{t "English" "Italiano"}}; a test reads both and finds what is missing.
type Text struct{ English, Italian string }

// T is a text in both languages; both are literals.
func T(english, italian string) Text { return Text{english, italian} }

// Same is a text that is the same in both languages: a name, a term of a standard, a text of a
// user.
func Same(text string) Text { return Text{text, text} }

// In is the text in a language.
func (t Text) In(l paper.Lang) string {
	if l == paper.Italian {
		return t.Italian
	}
	return t.English
}

// With fills in the verbs of both texts, as fmt.Sprintf does.
func (t Text) With(args ...any) Text {
	return Text{fmt.Sprintf(t.English, args...), fmt.Sprintf(t.Italian, args...)}
}

// IsZero says that there is nothing to say.
func (t Text) IsZero() bool { return t == Text{} }

// said carries both languages behind a fault, whose own text is English.
type said struct{ Text }

func (s said) Error() string { return s.English }

// Refusal is a fault with its text in both languages.
func Refusal(code fault.Code, t Text) *fault.Error {
	return fault.New(code, "%s", t.English).Because(said{t})
}

// Sentence is the text of an error in both languages. An error that is no fault is an accident,
// whose cause is not shown.
func Sentence(err error) Text {
	var both said
	var f *fault.Error
	switch {
	case errors.As(err, &both):
		return both.Text
	case !errors.As(err, &f):
		return accident
	}
	if text, ok := saying(f); ok {
		return text
	}
	text := Text{f.Text, italian[f.Code]}
	if text.Italian == "" { // no English sentence in an Italian page
		text.Italian = fmt.Sprintf("Il server ha rifiutato la richiesta (codice %d).", int(f.Code))
	}
	return text
}

var accident = T("Something went wrong on our side. Nothing was done. Try again in a moment.", "Qualcosa è andato storto da parte nostra. Nulla è stato fatto. Riprova tra poco.")

// italian are the codes that pages meet. In English the fault says it itself,
// with the name of the field.
var italian = map[fault.Code]string{
	fault.BadBody:              "Ciò che hai inviato non si può leggere fino in fondo. Riprova.",
	fault.TooLarge:             "Ciò che hai inviato è troppo grande per questo server.",
	fault.NoRoute:              "Questa pagina non esiste.",
	fault.UnsupportedMedia:     "Il modulo non è stato inviato come previsto. Ricarica la pagina e riprova.",
	fault.Internal:             accident.Italian,
	fault.Unavailable:          "Il servizio non è disponibile in questo momento. Riprova tra poco.",
	fault.WrongCredentials:     "Nome utente o password del certificato errati.",
	fault.CertificateLocked:    "Il certificato è bloccato per troppi tentativi errati. Riprova più tardi.",
	fault.CertificateNotUsable: "Questo certificato non si può usare: è sospeso, revocato o scaduto.",
	fault.NotSignable:          "Questo documento non si può firmare così com'è.",
	fault.TimestampFailed:      "La marca temporale non si è potuta ottenere. Riprova tra poco.",
	fault.RevocationMissing:    "Non si è potuto sapere se il certificato è revocato. Riprova tra poco.",
	fault.WrongOTP:             "Il codice temporaneo è errato o già usato.",
	fault.WrongCertificateKind: "Questo certificato è di un altro tipo.",
	fault.SigningFailed:        "La firma non è riuscita.",
	fault.NotApproved:          "La firma non è stata approvata.",
	fault.WrongToken:           "Il token non è valido, è scaduto o è stato revocato.",
	fault.ScopeLacking:         "Questo token non ha il permesso per farlo.",
	fault.AddressNotAllowed:    "Questo token non vale dal tuo indirizzo.",
	fault.SecurityLevel:        "Il livello di sicurezza del certificato chiede di più.",
	fault.LimitReached:         "Troppe richieste in poco tempo. Aspetta un minuto e riprova.",
	fault.AdminOnly:            "Solo un amministratore può farlo.",
	fault.NotFound:             "Non c'è, o non è tuo.",
	fault.MalformedID:          "Questo indirizzo non è completo.",
	fault.Deleted:              "Non c'è più: è stato cancellato.",
	fault.WrongState:           "Lo stato attuale non lo permette.",
	fault.NotReady:             "Non è ancora pronto.",
	fault.BadQuery:             "Un valore nell'indirizzo non va bene.",
	fault.BadLatitude:          "La latitudine non va bene.",
	fault.BadLongitude:         "La longitudine non va bene.",
	fault.BadCoordinate:        "Le coordinate non vanno bene.",
	fault.UnknownSemester:      "Questo semestre non c'è.",
	fault.NoPublication:        "Su questo server non ci sono ancora quotazioni.",
	fault.BadField:             "Un campo del modulo non va bene.",
	fault.NotTheApplicant:      "La persona identificata non è quella indicata nell'ordine.",
	fault.IdentityRefused:      "Il gestore di identità ha rifiutato, o l'identificazione è stata interrotta.",
	fault.NoIdentification:     "Questo modo di identificarsi non è attivo su questo server.",
	fault.NoCredit:             "Il credito non basta.",
	fault.BadDocuments:         "Manca il documento, o non si può leggere.",
	fault.BadSignatureType:     "Questo tipo di firma non c'è.",
	fault.BadOption:            "Un'opzione della firma non va bene.",
	fault.NoUsername:           "Scegli il certificato.",
	fault.NoPassword:           "Serve la password del certificato.",
	fault.NoOTP:                "Serve il codice temporaneo.",
	fault.BadVerifyDocument:    "Scegli il documento firmato da verificare.",
	fault.BadVerifyDate:        "La data non va bene: scrivila come 2026-11-15.",
	fault.BadPDFPassword:       "Il PDF è protetto: la password manca o è errata.",
	fault.BadDetachedContent:   "Il documento originale non si può leggere.",
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Italian})

// langCookie remembers the language that was chosen with ?lang=.
const langCookie = "rogito-lang"

// Language is the one of a request: what ?lang= asks for, then what was chosen
// before, then what the browser prefers.
func Language(r *http.Request) paper.Lang {
	if l, ok := chosen(r); ok {
		return l
	}
	if c, err := r.Cookie(langCookie); err == nil && (c.Value == "it" || c.Value == "en") {
		return paper.Lang(c.Value)
	}
	return Preferred(r.Header.Get("Accept-Language"))
}

// Preferred is the language that a header Accept-Language asks for.
func Preferred(header string) paper.Lang {
	_, i := language.MatchStrings(languages, header)
	return []paper.Lang{paper.English, paper.Italian}[i]
}

func chosen(r *http.Request) (paper.Lang, bool) {
	l := paper.Lang(r.URL.Query().Get("lang"))
	return l, l == paper.English || l == paper.Italian
}

// otherLanguage is the address of the same page in a language. Only its path
// and query are ours to repeat.
func otherLanguage(u *url.URL, l paper.Lang) string {
	q := u.Query()
	q.Set("lang", string(l))
	return (&url.URL{Path: "/" + strings.TrimLeft(u.Path, "/"), RawQuery: q.Encode()}).String() // two slashes would name another host
}
