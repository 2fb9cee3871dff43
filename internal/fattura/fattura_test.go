package fattura

import (
	"errors"
	"strings"
	"testing"
)

const ordinary = `<?xml version="1.0" encoding="UTF-8"?>
<p:FatturaElettronica versione="FPR12" xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2">
<FatturaElettronicaHeader>
<DatiTrasmissione><FormatoTrasmissione>FPR12</FormatoTrasmissione></DatiTrasmissione>
<CedentePrestatore><DatiAnagrafici><IdFiscaleIVA><IdPaese>IT</IdPaese><IdCodice>01234567890</IdCodice></IdFiscaleIVA>
<CodiceFiscale>01234567890</CodiceFiscale><Anagrafica><Denominazione>Alfa &amp; C. Srl</Denominazione></Anagrafica></DatiAnagrafici>
<Sede><Indirizzo>Via Roma</Indirizzo><NumeroCivico>1</NumeroCivico><CAP>00100</CAP><Comune>Roma</Comune><Provincia>RM</Provincia><Nazione>IT</Nazione></Sede></CedentePrestatore>
<CessionarioCommittente><DatiAnagrafici><CodiceFiscale>RSSMRA80A01H501U</CodiceFiscale><Anagrafica><Nome>Maria</Nome><Cognome>Rossi</Cognome></Anagrafica></DatiAnagrafici></CessionarioCommittente>
</FatturaElettronicaHeader>
<FatturaElettronicaBody><DatiGenerali><DatiGeneraliDocumento><TipoDocumento>TD01</TipoDocumento><Divisa>EUR</Divisa><Data>2026-03-02</Data><Numero>12/A</Numero>
<ImportoTotaleDocumento>122.00</ImportoTotaleDocumento><Causale>Consulenza</Causale></DatiGeneraliDocumento></DatiGenerali>
<DatiBeniServizi><DettaglioLinee><NumeroLinea>1</NumeroLinea><Descrizione>Perizia</Descrizione><Quantita>1.00</Quantita><PrezzoUnitario>100.00</PrezzoUnitario><PrezzoTotale>100.00</PrezzoTotale><AliquotaIVA>22.00</AliquotaIVA></DettaglioLinee>
<DatiRiepilogo><AliquotaIVA>22.00</AliquotaIVA><ImponibileImporto>100.00</ImponibileImporto><Imposta>22.00</Imposta></DatiRiepilogo></DatiBeniServizi>
<DatiPagamento><CondizioniPagamento>TP02</CondizioniPagamento><DettaglioPagamento><ModalitaPagamento>MP05</ModalitaPagamento><DataScadenzaPagamento>2026-04-01</DataScadenzaPagamento><ImportoPagamento>122.00</ImportoPagamento><IBAN>IT60X0542811101000000123456</IBAN></DettaglioPagamento></DatiPagamento>
<Allegati><NomeAttachment>perizia.pdf</NomeAttachment><Attachment>AAAA</Attachment></Allegati>
</FatturaElettronicaBody></p:FatturaElettronica>`

const simplified = `<s:FatturaElettronicaSemplificata versione="FSM10" xmlns:s="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.0">
<FatturaElettronicaHeader><CedentePrestatore><IdFiscaleIVA><IdPaese>IT</IdPaese><IdCodice>01234567890</IdCodice></IdFiscaleIVA><Denominazione>Bar Sport</Denominazione><Sede><Indirizzo>Via Po</Indirizzo><CAP>10100</CAP><Comune>Torino</Comune><Nazione>IT</Nazione></Sede></CedentePrestatore>
<CessionarioCommittente><IdentificativiFiscali><CodiceFiscale>RSSMRA80A01H501U</CodiceFiscale></IdentificativiFiscali><AltriDatiIdentificativi><Nome>Maria</Nome><Cognome>Rossi</Cognome><Sede><Comune>Roma</Comune></Sede></AltriDatiIdentificativi></CessionarioCommittente></FatturaElettronicaHeader>
<FatturaElettronicaBody><DatiGenerali><DatiGeneraliDocumento><TipoDocumento>TD07</TipoDocumento><Divisa>EUR</Divisa><Data>2026-03-02</Data><Numero>7</Numero></DatiGeneraliDocumento></DatiGenerali>
<DatiBeniServizi><Descrizione>Pranzo</Descrizione><Importo>11.00</Importo><DatiIVA><Imposta>1.00</Imposta></DatiIVA></DatiBeniServizi></FatturaElettronicaBody></s:FatturaElettronicaSemplificata>`

func TestRead(t *testing.T) {
	in, err := Read([]byte(ordinary))
	if err != nil {
		t.Fatal(err)
	}
	d := in.Documents[0]
	for what, ok := range map[string]bool{
		"supplier": in.Supplier == Party{"Alfa & C. Srl", "IT01234567890", "01234567890", "Via Roma 1, 00100 Roma RM, IT"},
		"customer": in.Customer.Name == "Maria Rossi" && in.Customer.FiscalCode == "RSSMRA80A01H501U",
		"general":  in.Format == "FPR12" && d.Type == "TD01" && d.Number == "12/A" && d.Total == "122.00" && d.Causes[0] == "Consulenza",
		"line":     len(d.Lines) == 1 && d.Lines[0].Description == "Perizia" && d.Lines[0].Total == "100.00",
		"rate":     len(d.Rates) == 1 && d.Rates[0].Tax == "22.00",
		"payment":  len(d.Payments) == 1 && d.Payments[0].IBAN != "",
		"attached": len(d.Attachments) == 1 && d.Attachments[0] == "perizia.pdf",
	} {
		if !ok {
			t.Errorf("%s: %+v", what, in)
		}
	}
}

func TestSimplified(t *testing.T) {
	in, err := Read([]byte(simplified))
	if err != nil {
		t.Fatal(err)
	}
	if in.Supplier.Name != "Bar Sport" || in.Customer.Name != "Maria Rossi" || in.Customer.FiscalCode == "" || in.Documents[0].Lines[0].Total != "11.00" {
		t.Errorf("%+v", in)
	}
}

func TestNone(t *testing.T) {
	long := strings.Replace(ordinary, "<DatiBeniServizi>", "<DatiBeniServizi>"+strings.Repeat("<DettaglioLinee/>", 600), 1)
	if in, err := Read([]byte(long)); err != nil || in.Documents[0].Left != 101 {
		t.Errorf("600 more lines: %v", err)
	}
	for _, text := range []string{"", "<a/>", "%PDF-1.7", strings.Replace(ordinary, "agenziaentrate", "example", 1), `<FatturaElettronica xmlns="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2"/>`} {
		if _, err := Read([]byte(text)); !errors.Is(err, ErrNone) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(ordinary))
	f.Add([]byte(simplified))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = Read(text) })
}
