package completion

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// view is a certificate in one language, ready to be set: the page and the PDF
// show the same.
type view struct {
	Lang                    paper.Lang
	Page                    string // title of the page
	Title, About            string
	Class, Word, Text, Term string // the verdict

	WhatTitle, WhoTitle, CheckTitle, TimelineTitle, AnnexTitle string
	DocumentsTitle, PartiesTitle                               string

	What      []Pair
	Who       []Pair
	Documents []document
	Parties   []paper.Party
	Timeline  []step
	CheckText string
	Check     string // address
	Annex     []section
	Log       []entry

	// Names of columns.
	NameColumn, SizeColumn, DigestColumn, SignerColumn, WhenColumn, VerdictColumn string
	LogTitle, IDColumn, AtColumn, DetailColumn                                    string

	people           []Pair // who were asked, where they are many
	producer, record string
	made             time.Time
	zone             *time.Location
	more, all        look.Text // documents that do not fit the first page
	attached         look.Text
}

// Pair is a label with its value.
type Pair struct{ Label, Value string }

type document struct{ Number, Name, Size, SHA256 string }

type step struct{ Day, Time, What, More string }

type section struct {
	Title string
	Pairs []Pair
}

// entry of the audit log.
type entry struct{ ID, At, Log, Sequence, Digest string }

func nameOf(f *ledger.File) string {
	if f.Label != "" {
		return f.Label
	}
	return f.Name
}

func (c *Certificate) view(lang paper.Lang) *view {
	in := func(t look.Text) string { return t.In(lang) }
	r := c.record
	if c.report != nil {
		c.report.Zone = lang.Zone(c.of.Zone)
	}
	v := &view{
		Lang: lang, Page: in(look.T("Signature Data", "Dati della firma")), Title: in(look.T("Certificate of completion", "Certificato di completamento")),
		About:     in(look.T("of the electronic signature %s", "della firma elettronica %s")),
		WhatTitle: in(look.T("What was signed", "Che cosa è stato firmato")), WhoTitle: in(look.T("Who signed", "Chi ha firmato")), CheckTitle: in(look.T("Check it yourself", "Verifica di persona")),
		TimelineTitle: in(look.T("What happened", "Che cosa è accaduto")), AnnexTitle: in(look.T("Technical annex", "Allegato tecnico")), DocumentsTitle: in(look.T("Documents", "Documenti")), PartiesTitle: in(look.T("Signatures in the document", "Firme nel documento")),
		NameColumn: in(look.T("Document", "Documento")), SizeColumn: in(look.T("Size", "Dimensione")), DigestColumn: "SHA-256", SignerColumn: in(look.T("Signer", "Firmatario")), WhenColumn: in(look.T("When", "Quando")), VerdictColumn: in(look.T("Verdict", "Esito")),
		CheckText: in(look.T("Open this address, or point your telephone at the code, and choose the signed document.", "Apri questo indirizzo, o inquadra il codice con il telefono, e scegli il documento firmato.")),
		Check:     c.of.Check(r.ID), producer: c.of.Producer, record: r.ID, made: c.made, zone: lang.Zone(c.of.Zone),
		LogTitle: in(look.T("Audit data", "Dati del registro")), IDColumn: in(look.T("Operation ID", "Operazione")), AtColumn: in(look.T("Operation Timestamp", "Data e ora")), DetailColumn: in(look.T("Operation Detail", "Dettaglio")),
		more:     look.T("and %d more, listed below", "e altri %d, elencati più avanti"),
		all:      look.T("%d documents, listed below", "%d documenti, elencati più avanti"),
		attached: look.T("The whole audit trail is attached as %s.", "L'intero registro è allegato come %s."),
	}
	v.About = strings.Replace(v.About, "%s", r.ID, 1)
	v.Class, v.Word, v.Text, v.Term = c.verdict(lang)
	v.What = []Pair{{in(look.T("Title", "Titolo")), r.Title}, {in(look.T("Description", "Descrizione")), r.Description}}
	for i, f := range r.Inputs {
		v.Documents = append(v.Documents, document{strconv.Itoa(i + 1), nameOf(f), lang.Size(f.Size), f.SHA256})
	}
	if f := r.Signed; f != nil {
		v.What = append(v.What, Pair{in(look.T("Signed document", "Documento firmato")), f.Name + ", " + lang.Size(f.Size)}, Pair{"SHA-256", f.SHA256})
	}
	c.who(v, in)
	for i, e := range c.entries {
		at := time.UnixMilli(e.CreatedAt)
		log, _ := e.Text()
		one := entry{ID: e.ID, At: stamp(at), Log: log, Digest: hex.EncodeToString(e.Digest), Sequence: "–"}
		if e.Seq >= 0 {
			one.Sequence = strconv.FormatInt(e.Seq, 10)
		}
		v.Log = append(v.Log, one)
		if i == 0 || e.Kind != c.entries[i-1].Kind {
			v.Timeline = append(v.Timeline, c.steps(lang, i)...)
		}
	}
	c.annex(v, in)
	if c.record.ByPeople() {
		c.people(v, in)
	}
	return v
}

// fewSteps of one kind in a row are listed one by one; of more there is one, with
// their number. The annex has them all.
const fewSteps = 4

// steps are the events from i on that are of one kind.
func (c *Certificate) steps(lang paper.Lang, i int) (all []step) {
	n := 1
	for i+n < len(c.entries) && c.entries[i+n].Kind == c.entries[i].Kind {
		n++
	}
	people := c.entries[i].Kind == ledger.KindPerson // each does another thing
	zone := lang.Zone(c.of.Zone)
	if zone == nil {
		zone = time.UTC
	}
	for _, e := range c.entries[i : i+n] {
		at := time.UnixMilli(e.CreatedAt).In(zone)
		if log, d := detailOf(e); people && log != "" && personSteps[d.What] == (look.Text{}) {
			continue
		}
		what, more := c.happened(e, lang)
		one := step{lang.Day(at, zone), at.Format("15:04:05 MST"), what.In(lang), more}
		if n > fewSteps && !people {
			one.What, one.More = one.What+look.T(" (first of %d such steps)", " (primo di %d passi uguali)").With(n).In(lang), ""
			return append(all, one)
		}
		all = append(all, one)
	}
	return all
}

// who is the signer of this record, as the certificate names them, and
// everybody who signed the document.
func (c *Certificate) who(v *view, in func(look.Text) string) {
	if c.report != nil {
		v.Parties = paper.Parties(c.report, v.Lang)
	}
	if c.signer == nil || len(c.signer.DER) == 0 {
		return
	}
	name, number, when, worth := c.signer.Owner, "", "", ""
	for _, p := range v.Parties {
		if bytes.Equal(p.Certificate, c.signer.DER) {
			name, number, when, worth = p.Name, strings.TrimSuffix(p.Number, v.Lang.T("test certificate")), p.When, p.Worth
			number = strings.TrimSuffix(number, " · ")
			if p.How != "" {
				when += " (" + p.How + ")"
			}
		}
	}
	if when == "" {
		for _, e := range c.entries {
			if e.Kind == "key-use" {
				when = v.Lang.Date(time.UnixMilli(e.CreatedAt), v.zone)
			}
		}
	}
	kinds := map[string]string{
		"EU-QES_automatic": in(look.T("electronic signature, by an automatic procedure", "firma elettronica con procedura automatica")),
		"EU-QES_otp":       in(look.T("electronic signature, with a one-time code", "firma elettronica con codice temporaneo")),
		"EU-QES_eseal":     in(look.T("electronic seal of an organisation", "sigillo elettronico di un'organizzazione")),
	}
	issuer := c.signer.IssuerDN
	if read, err := pkix.ParseCertificate(c.signer.DER); err == nil {
		if name := read.Issuer.Get(pkix.OIDCommonName); name != "" {
			issuer = name
		}
	}
	v.Who = []Pair{
		{in(look.T("Name", "Nome")), name},
		{in(look.T("Identifiers", "Identificativi")), number},
		{in(look.T("When", "Quando")), when},
		{in(look.T("Kind", "Tipo")), kinds[c.record.CertificateType]},
		{in(look.T("Worth in law", "Valore legale")), worth},
		{in(look.T("Identified by", "Identificazione")), c.identified(v.Lang)},
		{in(look.T("Certificate", "Certificato")), in(look.T("number", "numero")) + " " + paper.Hexadecimal(c.signer.Serial) + ", " + issuer},
	}
}

// stamp writes a time as the API does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000+00:00") }

// annex is the record as the API has it, and what each step was made with. The
// names of members are those of the API in both languages.
func (c *Certificate) annex(v *view, in func(look.Text) string) {
	r := c.record
	general := section{in(look.T("General information", "Informazioni generali")), []Pair{
		{"id", r.ID},
		{"createdAt", stamp(r.CreatedAt)},
		{"updatedAt", stamp(r.UpdatedAt)},
		{"certificateType", r.CertificateType},
		{"state", string(r.State)},
		{"signatureType", string(r.Type)},
	}}
	if r.ErrorNumber != 0 {
		general.Pairs = append(general.Pairs, Pair{"errorNumber", strconv.Itoa(int(r.ErrorNumber))}, Pair{"errorMessage", r.ErrorMessage})
	}
	options := section{Title: in(look.T("Options", "Opzioni"))}
	echo := r.Options.Echo(r.Type, r.Achieved)
	for _, name := range slices.Sorted(maps.Keys(echo)) {
		if b, err := json.Marshal(echo[name]); err == nil {
			options.Pairs = append(options.Pairs, Pair{name, string(b)})
		}
	}
	v.Annex = append(v.Annex, general, options, section{in(look.T("Document", "Documento")), []Pair{{"title", r.Title}, {"description", r.Description}}})
	files := func(title string, all ...*ledger.File) {
		for _, f := range all {
			if f != nil {
				v.Annex = append(v.Annex, section{title, []Pair{
					{"sourceType", f.SourceType},
					{"id", f.ID},
					{"name", f.Name},
					{"mimetype", f.MediaType},
					{"extension", f.Extension},
					{"size", strconv.FormatInt(f.Size, 10)},
					{"createdAt", stamp(f.CreatedAt)},
					{"md5", f.MD5},
					{"sha256", f.SHA256},
				}})
			}
		}
	}
	files(in(look.T("Signed document", "Documento firmato")), r.Signed)
	files(in(look.T("Validated document", "Documento validato")), r.Validated)
	files(in(look.T("Input document", "Documento in ingresso")), r.Inputs...)
	for _, e := range c.entries {
		_, d := detailOf(e)
		switch e.Kind {
		case "signature":
			v.Annex = append(v.Annex, c.signatureSection(d, in))
		case "timestamp":
			v.Annex = append(v.Annex, section{in(look.T("Time-stamp", "Marca temporale")), []Pair{{in(look.T("Kind", "Tipo")), d.Kind}, {in(look.T("Number", "Numero")), d.SerialNumber}, {in(look.T("Digest stamped", "Impronta marcata")), d.Imprint}}})
		}
	}
	v.Annex = append(v.Annex, section{in(look.T("Audit log", "Registro")), []Pair{{in(look.T("Public key", "Chiave pubblica")), c.of.AuditKey}}})
}

func (c *Certificate) signatureSection(d detail, in func(look.Text) string) section {
	s := section{in(look.T("Signature", "Firma")), []Pair{{in(look.T("Algorithm", "Algoritmo")), d.Algorithm.Name}, {in(look.T("Level", "Livello")), d.Level}, {in(look.T("Digest of the signed attributes", "Impronta degli attributi firmati")), d.ToBeSignedDigest}}}
	for _, der := range d.Certificates {
		sum := sha256.Sum256(der)
		text := "SHA-256 " + hex.EncodeToString(sum[:])
		if read, err := pkix.ParseCertificate(der); err == nil {
			text = read.SubjectDN() + " · " + text
		}
		s.Pairs = append(s.Pairs, Pair{in(look.T("Certificate", "Certificato")), text})
	}
	for _, e := range d.Revocation {
		s.Pairs = append(s.Pairs, Pair{in(look.T("Revocation data", "Dati di revoca")), e.Kind + " · SHA-256 " + e.SHA256})
	}
	return s
}

// host is what people read of an address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.TrimPrefix(u.Host+u.Path, "www.")
}
