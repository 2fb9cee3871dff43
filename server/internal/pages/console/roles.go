package console

import (
	"net/http"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/pages/look"
)

// mayOpen is who may open which page or send which form: the one place where roles are
// judged. A page that is not here is for owners alone. Whoever logged in with a token has
// no role: the scopes of the token say what it may, as they do for every person too.
var mayOpen = map[string][]member.Role{
	"GET /console/{$}": everybody,

	"GET /console/sign":             signers,
	"POST /console/sign":            signers,
	"POST /console/page":            signers,
	"GET /console/sign/{id}":        signers,
	"POST /console/sign/{id}/retry": signers,
	"GET /console/invite":           signers,
	"POST /console/invite":          signers,

	"GET /console/records":                                   everybody,
	"GET /console/records.csv":                               everybody,
	"GET /console/records/{id}":                              everybody,
	"GET /console/records/{id}/signed":                       everybody,
	"GET /console/records/{id}/signed/{n}":                   everybody,
	"GET /console/records/{id}/certificate":                  everybody,
	"GET /console/records/{id}/certificate.pdf":              everybody,
	"POST /console/records/{id}/callbacks/{callback}/resend": signers,
	"POST /console/records/{id}/approve":                     signers,
	"POST /console/records/{id}/refuse":                      signers,
	"POST /console/records/{id}/signers/{signer}/remind":     signers,
	"GET /console/records/{id}/stop":                         signers,
	"POST /console/records/{id}/stop":                        signers,
	"GET /console/records/{id}/delete":                       owners,
	"POST /console/records/{id}/delete":                      owners,

	"GET /console/templates":              everybody,
	"GET /console/templates/{id}/delete":  signers,
	"POST /console/templates/{id}/delete": signers,

	"GET /console/certificates":                   everybody,
	"GET /console/certificates/new":               owners,
	"POST /console/certificates/new":              owners,
	"GET /console/certificates/{id}/link":         owners,
	"POST /console/certificates/{id}/link":        owners,
	"POST /console/certificates/{id}/{action}":    owners,
	"POST /console/certificates/{id}/review":      reviewers,
	"GET /console/certificates/{id}/review":       reviewers,
	"GET /console/certificates/{id}/evidence/{n}": reviewers,
	"GET /console/certificates/{id}/revoke":       owners,
	"POST /console/certificates/{id}/revoke":      owners,
	"GET /console/certificates/{id}/cancel":       owners,
	"POST /console/certificates/{id}/cancel":      owners,

	"GET /console/account":                     everybody,
	"GET /console/account/tokens/new":          owners,
	"POST /console/account/tokens/new":         owners,
	"GET /console/account/tokens/{id}/revoke":  owners,
	"POST /console/account/tokens/{id}/revoke": owners,

	"GET /console/people":              owners,
	"POST /console/people":             owners,
	"POST /console/people/{id}/role":   owners,
	"POST /console/people/{id}/again":  owners,
	"GET /console/people/{id}/remove":  owners,
	"POST /console/people/{id}/remove": owners,

	"GET /console/passkeys":                   everybody,
	"POST /console/passkeys":                  everybody,
	"GET /console/passkeys/{passkey}/remove":  everybody,
	"POST /console/passkeys/{passkey}/remove": everybody,

	"GET /console/sessions":           everybody,
	"POST /console/sessions/{id}/end": everybody,
	"GET /console/health":             owners,
}

var (
	owners    = []member.Role{member.Owner}
	signers   = []member.Role{member.Owner, member.Signer}
	reviewers = []member.Role{member.Owner, member.Reviewer}
	everybody = member.Roles
)

// roles in words.
var roles = map[member.Role]struct{ Name, May look.Text }{
	member.Owner:    {look.T("Owner", "Titolare del conto"), look.T("may do everything", "può fare tutto")},
	member.Signer:   {look.T("Signer", "Firmatario"), look.T("signs, and asks others to sign", "firma e invita altri a firmare")},
	member.Reviewer: {look.T("Reviewer", "Revisore"), look.T("decides on identifications", "decide sulle identificazioni")},
	member.Reader:   {look.T("Reader", "Lettore"), look.T("looks, and changes nothing", "consulta, senza modificare nulla")},
}

// opens says whether somebody may open a page by its pattern.
func (v *visit) opens(pattern string) bool {
	if v.Member == nil {
		return true
	}
	allowed, ok := mayOpen[pattern]
	if !ok {
		allowed = owners
	}
	for _, r := range allowed {
		if r == v.Member.Role {
			return true
		}
	}
	return false
}

var notYours = look.Refusal(fault.ScopeLacking, look.T("Your role does not allow this. An owner of the account can do it, or give you another role.",
	"Il tuo ruolo non lo consente. Può farlo un titolare del conto, o darti un altro ruolo."))

// judge is asked before every page.
func (v *visit) judge(pattern string) error {
	if v.opens(pattern) {
		return nil
	}
	f := *notYours
	f.Status = http.StatusForbidden
	return &f
}
