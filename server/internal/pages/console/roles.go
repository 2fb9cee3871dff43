package console

import (
	"net/http"
	"slices"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/pages/look"
)

// entry is a page or a form, with the roles that may open it. Who logged in with a token has
// no role: the scopes of the token say what it may, as they do for every person too.
type entry struct {
	page  page
	roles []member.Role
	scope string // that it needs, as "GET signatures"; empty: the page asks by itself
}

// mounted are the pages and forms that need a log-in.
func (d *Pages) mounted() map[string]entry {
	return map[string]entry{
		"GET /console/{$}": {d.home, everybody, ""},

		"GET /console/sign":             {d.showSign, signers, ""},
		"POST /console/sign":            {d.sign, signers, ""},
		"POST /console/page":            {d.page, signers, ""},
		"POST /console/sign/{id}/retry": {withForm(d.retry), signers, ""},
		"GET /console/sign/{id}":        {d.outcome, signers, ""},

		"GET /console/invite":  {d.showInvite, signers, ""},
		"POST /console/invite": {d.invite, signers, ""},

		"GET /console/records":                                   {d.records, everybody, "GET signatures"},
		"GET /console/records.csv":                               {d.table, everybody, "GET signatures"},
		"GET /console/records/{id}":                              {d.record, everybody, ""},
		"GET /console/records/{id}/signed":                       {d.download, everybody, "GET signatures"},
		"GET /console/records/{id}/signed/{n}":                   {d.downloadOne, everybody, "GET signatures"},
		"GET /console/records/{id}/certificate":                  {d.certificate, everybody, "GET signatures"},
		"GET /console/records/{id}/certificate.pdf":              {d.certificatePDF, everybody, "GET signatures"},
		"POST /console/records/{id}/callbacks/{callback}/resend": {withForm(d.resend), signers, "POST callbacks"},
		"POST /console/records/{id}/approve":                     {withForm(d.approve), signers, "POST approvals"},
		"POST /console/records/{id}/refuse":                      {withForm(d.refuse), signers, "DELETE approvals"},
		"POST /console/records/{id}/signers/{signer}/remind":     {withForm(d.remind), signers, "POST EU-SES"},
		"GET /console/records/{id}/stop":                         {d.asks("stop"), signers, "DELETE signatures"},
		"POST /console/records/{id}/stop":                        {d.asks("stop"), signers, "DELETE signatures"},
		"GET /console/records/{id}/delete":                       {d.asks("record"), owners, "DELETE signatures"},
		"POST /console/records/{id}/delete":                      {d.asks("record"), owners, "DELETE signatures"},

		"GET /console/templates":              {d.templates, everybody, "GET templates"},
		"GET /console/templates/{id}/delete":  {d.asks("template"), signers, "DELETE templates"},
		"POST /console/templates/{id}/delete": {d.asks("template"), signers, "DELETE templates"},

		"GET /console/certificates":                   {d.certificates, everybody, "GET certificates"},
		"GET /console/certificates/new":               {d.showOrder, owners, "POST certificates"},
		"POST /console/certificates/new":              {withForm(d.order), owners, "POST certificates"},
		"GET /console/certificates/{id}/link":         {d.showLink, owners, ""},
		"POST /console/certificates/{id}/link":        {withForm(d.sendLink), owners, "POST certificates"},
		"GET /console/certificates/{id}/revoke":       {d.asks("revoke"), owners, "POST certificates"},
		"POST /console/certificates/{id}/revoke":      {d.asks("revoke"), owners, "POST certificates"},
		"GET /console/certificates/{id}/cancel":       {d.asks("cancel"), owners, "POST certificates"},
		"POST /console/certificates/{id}/cancel":      {d.asks("cancel"), owners, "POST certificates"},
		"POST /console/certificates/{id}/{action}":    {withForm(d.change), owners, "POST certificates"},
		"POST /console/certificates/{id}/review":      {withForm(d.review), reviewers, "POST certificates"},
		"GET /console/certificates/{id}/review":       {d.showReview, reviewers, "GET certificates"},
		"GET /console/certificates/{id}/evidence/{n}": {d.evidence, reviewers, "GET certificates"},

		"GET /console/account":                     {d.account, everybody, ""},
		"GET /console/account/tokens/{id}/revoke":  {d.asks("token"), owners, "DELETE tokens"},
		"POST /console/account/tokens/{id}/revoke": {d.asks("token"), owners, "DELETE tokens"},
		"GET /console/account/tokens/new":          {d.newToken, owners, "POST tokens"},
		"POST /console/account/tokens/new":         {withForm(d.makeToken), owners, "POST tokens"},
		"GET /console/health":                      {d.health, owners, ""},

		"GET /console/people":                     {d.people, owners, ""},
		"POST /console/people":                    {withForm(d.invitePerson), owners, "POST people"},
		"POST /console/people/{id}/role":          {withForm(d.changeRole), owners, "POST people"},
		"POST /console/people/{id}/again":         {withForm(d.inviteAgain), owners, "POST people"},
		"GET /console/people/{id}/remove":         {d.asks("person"), owners, "POST people"},
		"POST /console/people/{id}/remove":        {d.asks("person"), owners, "POST people"},
		"GET /console/sessions":                   {d.sessions, everybody, ""},
		"GET /console/passkeys":                   {d.passkeys, everybody, ""},
		"POST /console/passkeys":                  {withForm(d.addPasskey), everybody, ""},
		"GET /console/passkeys/{passkey}/remove":  {d.asks("passkey"), everybody, ""},
		"POST /console/passkeys/{passkey}/remove": {d.asks("passkey"), everybody, ""},
		"POST /console/sessions/{id}/end":         {withForm(d.endSession), everybody, ""},
	}
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

// mayOpen reports whether the visitor's role may open a page, named by its pattern.
func (d *Pages) mayOpen(v *visit, pattern string) bool {
	return v.Member == nil || slices.Contains(d.entries[pattern].roles, v.Member.Role)
}

func notYours() error {
	f := look.Refusal(fault.ScopeLacking, look.T("Your role does not allow this. An owner of the account can do it, or give you another role.",
		"Il tuo ruolo non lo consente. Può farlo un titolare del conto, o darti un altro ruolo."))
	f.Status = http.StatusForbidden
	return f
}
