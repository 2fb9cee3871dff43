package console

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
)

// reviewPage is what an administrator decides on.
type reviewPage struct {
	look.Head
	As      string
	W       *enroll.Waiting
	Kind    look.Text
	Facts   []fact
	LeftOut []look.Text
	Problem look.Text
	Files   []evidenceFile
	Code    string // that is read aloud in the video
	Checks  []check
	Reasons []look.Option
	Change  bool
}

// check is what a reviewer has looked at before an approval.
type check struct {
	Word string
	Text look.Text
	Seal bool // for the seal of an organisation only
	Film bool // for a video only
}

// checklist is what an approval says was looked at.
var checklist = []check{
	{Word: "face", Film: true, Text: look.T("The face in the video is the one on the document.", "Il viso nel video è quello del documento.")},
	{Word: "words", Film: true, Text: look.T("The person reads the text aloud: name, date and code.", "La persona legge il testo ad alta voce: nome, data e codice.")},
	{Word: "alive", Film: true, Text: look.T("The video was made by this person, now: no screen or picture is filmed.", "Il video è stato fatto da questa persona, adesso: non sono ripresi schermi o immagini.")},
	{Word: "document", Film: true, Text: look.T("The document is readable, genuine as far as can be seen, and has not expired.", "Il documento è leggibile, autentico per quanto si vede, e non è scaduto.")},
	{Word: "data", Text: look.T("Names, fiscal code and date of birth are those of the order.", "Nome, codice fiscale e data di nascita sono quelli dell'ordine.")},
	{Word: "organization", Seal: true, Text: look.T("The extract names the organisation, and the person as who may act for it.", "La visura indica l'organizzazione, e la persona come chi può agire per essa.")},
}

// checksOf are those of the list that an order asks for.
func checksOf(w *enroll.Waiting) (all []check) {
	for _, c := range checklist {
		if (!c.Seal || w.Certificate.Kind == keys.ESeal) && (!c.Film || w.Method == "video") {
			all = append(all, c)
		}
	}
	return all
}

type fact struct {
	Name  look.Text
	Value string
}

type evidenceFile struct {
	Name, Address, Type string
}

// evidenceTypes are what is shown in the page; other files are downloaded.
var evidenceTypes = map[string]string{
	".mp4": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg", ".jpeg": "image/jpeg", ".png": "image/png", ".gif": "image/gif",
}

// waiting is what waits for a decision, for an administrator.
func (d *Pages) waiting(v *visit) (*enroll.Waiting, error) {
	if !v.Caller.Admin {
		return nil, fault.New(fault.AdminOnly, "this page is for administrators only")
	}
	return d.Enroll.Waiting(v.ctx(), v.r.PathValue("id"))
}

func (d *Pages) showReview(v *visit) error {
	w, err := d.waiting(v)
	if err != nil {
		return err
	}
	p := &reviewPage{
		Head: d.head(v, look.T("Review of an identification", "Esame di un'identificazione")), As: v.accountID(), W: w, Kind: kindNames[w.Certificate.Kind],
		Change: d.may(v, http.MethodPost, "certificates"),
	}
	p.Checks = checksOf(w)
	if w.Method == "video" {
		p.Code = w.Certificate.VideoCode()
	}
	for _, r := range enroll.Reasons {
		said := look.Text{English: r.English, Italian: r.Italian}
		switch r.Word {
		case "organization-unproven":
			if w.Certificate.Kind != keys.ESeal {
				continue
			}
		case "other":
			said = look.T("Another reason: the holder is told to ask whoever ordered.", "Altro motivo: al titolare si dice di chiedere a chi ha ordinato.")
		}
		p.Reasons = append(p.Reasons, look.Option{Value: r.Word, Name: said.In(look.Language(v.r))})
	}
	if w.Problem != nil {
		p.Problem = look.Sentence(w.Problem)
	}
	if c := w.Certified; c != nil {
		if c.CommonName != "" {
			p.Facts = append(p.Facts, fact{look.T("Name in the certificate", "Nome nel certificato"), c.CommonName})
		}
		c.Attributes.Each(func(name, value string) { p.Facts = append(p.Facts, fact{attribute(name), value}) })
		for _, name := range c.LeftOut {
			p.LeftOut = append(p.LeftOut, attribute(name))
		}
	}
	for i, name := range w.Files {
		p.Files = append(p.Files, evidenceFile{name, "/console/certificates/" + w.Certificate.ID + "/evidence/" + strconv.Itoa(i) + "?of=" + w.Digest, evidenceTypes[path.Ext(name)]})
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "review", p)
	return nil
}

func attribute(name string) look.Text {
	if t, ok := attributes[name]; ok {
		return t
	}
	return look.Same(name)
}

// IsFilm and IsPicture say how a file is shown.
func (f evidenceFile) IsFilm() bool    { return strings.HasPrefix(f.Type, "video/") }
func (f evidenceFile) IsPicture() bool { return strings.HasPrefix(f.Type, "image/") }

// evidence hands out a file of what waits; only of what the page showed.
func (d *Pages) evidence(v *visit) error {
	w, err := d.waiting(v)
	if err != nil {
		return err
	}
	if of := v.r.URL.Query().Get("of"); of != w.Digest {
		return look.Refusal(fault.WrongState, look.T("Something else waits by now: load the page again.", "Nel frattempo è arrivato altro: ricarica la pagina."))
	}
	n, err := strconv.Atoi(v.r.PathValue("n"))
	if err != nil {
		n = -1
	}
	b, err := d.Enroll.File(v.ctx(), w, n, v.reviewer())
	if err != nil {
		return err
	}
	kind := evidenceTypes[path.Ext(w.Files[n])]
	c := &api.Content{Type: kind, Name: w.Files[n], Inline: kind != "", Reader: b, Modified: w.HandedInAt}
	if kind == "" {
		c.Type = "application/octet-stream"
	}
	look.Headers(v.w)
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	d.Send(v.w, v.r, c)
	return nil
}

// reviewer is who decides on what others handed in.
func (v *visit) reviewer() enroll.Reviewer {
	return enroll.Reviewer{Account: v.accountID(), Token: v.Caller.TokenID}
}

// review writes a decision down. It is of what the page showed: the digest says
// which. An approval says that everything on the list was looked at, a refusal why.
func (d *Pages) review(v *visit, f url.Values) error {
	id := v.r.PathValue("id")
	if !v.Caller.Admin {
		return fault.New(fault.AdminOnly, "this page is for administrators only")
	}
	if f.Get("digest") == "" || !slices.Contains([]string{"true", "false"}, f.Get("approve")) {
		return fault.New(fault.BadField, "the form is not complete")
	}
	w, err := d.Enroll.Waiting(v.ctx(), id)
	if err != nil {
		return err
	}
	verdict := enroll.Verdict{Approve: f.Get("approve") == "true", Digest: f.Get("digest")}
	if verdict.Approve {
		for _, c := range checksOf(w) {
			if !slices.Contains(f["checked"], c.Word) {
				return look.Refusal(fault.BadField, look.T("Nothing was decided: tick everything that you have looked at. What is not right is refused.", "Nulla è stato deciso: spunta tutto ciò che hai esaminato. Ciò che non è giusto si rifiuta."))
			}
			verdict.Checked = append(verdict.Checked, c.Word)
		}
	} else if !slices.ContainsFunc(enroll.Reasons, func(r enroll.Reason) bool { return r.Word == f.Get("reason") }) {
		return look.Refusal(fault.BadField, look.T("Nothing was decided: choose why you refuse. The holder is told.", "Nulla è stato deciso: scegli perché rifiuti. Il titolare ne viene informato."))
	}
	if verdict.Reason = f.Get("reason"); f.Get("note") != "" {
		verdict.Reason += ": " + clip(f.Get("note"), 1000)
	}
	if _, err := d.Enroll.Review(v.ctx(), id, v.reviewer(), verdict); err != nil {
		return err
	}
	return d.done(v, "/console/certificates", "review")
}
