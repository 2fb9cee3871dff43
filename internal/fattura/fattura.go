// Package fattura reads the electronic invoices of Italy (FatturaPA), ordinary
// and simplified, as far as people read them: who, to whom, what, and how much.
// Amounts stay as they are written: nothing is computed.
package fattura

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// MaxSize bounds an invoice; the exchange system accepts 5 MB, including attachments.
const MaxSize = 8 << 20

// maxRows bounds what is read of each list: a page is for people.
const maxRows = 500

// ErrNone means that a document is no invoice of this kind.
var ErrNone = errors.New("no electronic invoice")

// Invoice is a file of the exchange system: one or several documents between two
// parties.
type Invoice struct {
	Format    string // FPA12, FPR12, FSM10
	Supplier  Party
	Customer  Party
	Documents []Document
}

// Party is who sells or buys.
type Party struct {
	Name, VAT, FiscalCode, Address string
}

// Document is one invoice or note.
type Document struct {
	Type, Number, Date, Currency, Total string
	Causes                              []string
	Lines                               []Line
	Rates                               []Rate
	Payments                            []Payment
	Attachments                         []string
	Left                                int // rows that are not among these
}

// Line of an invoice.
type Line struct {
	Number, Description, Quantity, Unit, Price, Total, Rate, Nature string
}

// Rate is the summary of one rate of tax.
type Rate struct {
	Rate, Nature, Taxable, Tax string
}

// Payment is what is due when, and how.
type Payment struct {
	Means, Due, Amount, IBAN string
}

// spaces are the namespaces of the ordinary and the simplified invoice.
var spaces = []string{
	"http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2", "http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.0",
	"http://www.fatturapa.gov.it/sdi/fatturapa/v1.1", "http://www.fatturapa.gov.it/sdi/fatturapa/v1.0",
}

// Read reads an invoice; ErrNone for any other document.
func Read(text []byte) (*Invoice, error) {
	if len(text) > MaxSize {
		return nil, ErrNone
	}
	d, err := xmldom.Parse(string(text), xmldom.Limits{})
	if err != nil {
		return nil, ErrNone
	}
	defer d.Release()
	root := d.Root()
	if !slices.Contains(spaces, root.Name.Space) || !strings.HasPrefix(root.Name.Local, "FatturaElettronica") {
		return nil, ErrNone
	}
	head := child(root, "FatturaElettronicaHeader")
	in := &Invoice{
		Format:   cmp.Or(root.Attr("versione"), text1(head, "DatiTrasmissione", "FormatoTrasmissione")),
		Supplier: party(child(head, "CedentePrestatore")), Customer: party(child(head, "CessionarioCommittente")),
	}
	for _, b := range children(root, "FatturaElettronicaBody") {
		if len(in.Documents) < maxRows {
			in.Documents = append(in.Documents, document(b))
		}
	}
	if len(in.Documents) == 0 {
		return nil, ErrNone
	}
	return in, nil
}

func document(b *xmldom.Node) Document {
	general := child(b, "DatiGenerali")
	g := child(general, "DatiGeneraliDocumento")
	d := Document{
		Type: text1(g, "TipoDocumento"), Number: text1(g, "Numero"), Date: text1(g, "Data"), Currency: text1(g, "Divisa"), Total: text1(g, "ImportoTotaleDocumento"),
	}
	for _, c := range children(g, "Causale") {
		d.Causes = append(d.Causes, trimmed(c))
	}
	goods := child(b, "DatiBeniServizi")
	for _, l := range d.some(children(goods, "DettaglioLinee")) {
		d.Lines = append(d.Lines, Line{
			Number: text1(l, "NumeroLinea"), Description: text1(l, "Descrizione"), Quantity: text1(l, "Quantita"), Unit: text1(l, "UnitaMisura"),
			Price: text1(l, "PrezzoUnitario"), Total: text1(l, "PrezzoTotale"), Rate: text1(l, "AliquotaIVA"), Nature: text1(l, "Natura"),
		})
	}
	for _, r := range d.some(children(goods, "DatiRiepilogo")) {
		d.Rates = append(d.Rates, Rate{text1(r, "AliquotaIVA"), text1(r, "Natura"), text1(r, "ImponibileImporto"), text1(r, "Imposta")})
	}
	// The simplified invoice has its goods in the body itself.
	for _, l := range d.some(children(b, "DatiBeniServizi")) {
		if total := text1(l, "Importo"); total != "" {
			d.Lines = append(d.Lines, Line{Description: text1(l, "Descrizione"), Total: total, Rate: text1(l, "DatiIVA", "Aliquota"), Nature: text1(l, "Natura")})
		}
	}
	for _, p := range children(b, "DatiPagamento") {
		for _, one := range d.some(children(p, "DettaglioPagamento")) {
			d.Payments = append(d.Payments, Payment{text1(one, "ModalitaPagamento"), text1(one, "DataScadenzaPagamento"), text1(one, "ImportoPagamento"), text1(one, "IBAN")})
		}
	}
	for _, a := range d.some(children(b, "Allegati")) {
		d.Attachments = append(d.Attachments, text1(a, "NomeAttachment"))
	}
	return d
}

// some are as many of a list as are read; the others are counted.
func (d *Document) some(list []*xmldom.Node) []*xmldom.Node {
	if over := len(list) - maxRows; over > 0 {
		d.Left += over
		return list[:maxRows]
	}
	return list
}

func party(n *xmldom.Node) Party {
	own := child(n, "DatiAnagrafici")
	if own == nil { // the simplified invoice
		own = n
	}
	if own != n && child(own, "Anagrafica") == nil {
		own = n
	}
	who := cmp.Or(child(own, "Anagrafica"), child(n, "AltriDatiIdentificativi"), own)
	ids := cmp.Or(child(n, "IdentificativiFiscali"), own)
	seat := cmp.Or(child(n, "Sede"), child(who, "Sede"))
	p := Party{
		Name: cmp.Or(text1(who, "Denominazione"), join(" ", text1(who, "Nome"), text1(who, "Cognome"))), FiscalCode: text1(ids, "CodiceFiscale"),
		VAT:     text1(ids, "IdFiscaleIVA", "IdPaese") + text1(ids, "IdFiscaleIVA", "IdCodice"),
		Address: join(" ", text1(seat, "Indirizzo"), text1(seat, "NumeroCivico")),
	}
	p.Address = join(", ", p.Address, join(" ", text1(seat, "CAP"), text1(seat, "Comune"), text1(seat, "Provincia")), text1(seat, "Nazione"))
	return p
}

// child and children go by local names: the elements below the root have no
// namespace in one version and the root's in others.
func child(n *xmldom.Node, name string) *xmldom.Node {
	if list := children(n, name); len(list) > 0 {
		return list[0]
	}
	return nil
}

func children(n *xmldom.Node, name string) (list []*xmldom.Node) {
	for c := range n.Elements() {
		if c.Name.Local == name {
			list = append(list, c)
		}
	}
	return list
}

// text1 is the text of an element down a path.
func text1(n *xmldom.Node, path ...string) string {
	for _, name := range path {
		if n = child(n, name); n == nil {
			return ""
		}
	}
	return trimmed(n)
}

// maxText bounds a text: the schema has none longer than 1,000 characters.
const maxText = 4000

func trimmed(n *xmldom.Node) string {
	s := strings.TrimSpace(n.Text())
	if r := []rune(s); len(r) > maxText {
		s = string(r[:maxText]) + "…"
	}
	return s
}

func join(by string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), by)
}
