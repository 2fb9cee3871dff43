package check

import (
	"rogito.dev/rogito/internal/fattura"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/server/internal/pages/look"
)

// invoice is an electronic invoice as the page shows it.
type invoice struct{ *fattura.Invoice }

// kinds are the words of TipoDocumento in the official schema.
var kinds = map[string]look.Text{
	"TD01": look.T("Invoice", "Fattura"),
	"TD02": look.T("Advance on invoice", "Acconto o anticipo su fattura"),
	"TD03": look.T("Advance on fee", "Acconto o anticipo su parcella"),
	"TD04": look.T("Credit note", "Nota di credito"),
	"TD05": look.T("Debit note", "Nota di debito"),
	"TD06": look.T("Fee note", "Parcella"),
	"TD07": look.T("Simplified invoice", "Fattura semplificata"),
	"TD08": look.T("Simplified credit note", "Nota di credito semplificata"),
	"TD09": look.T("Simplified debit note", "Nota di debito semplificata"),
	"TD16": look.T("Reverse charge, internal", "Integrazione fattura per reverse charge interno"),
	"TD17": look.T("Services bought abroad", "Integrazione o autofattura per servizi dall'estero"),
	"TD18": look.T("Goods bought in the Union", "Integrazione per acquisto di beni intracomunitari"),
	"TD19": look.T("Goods bought, article 17", "Integrazione o autofattura per beni ex art. 17 c. 2"),
	"TD20": look.T("Self-invoice for a missing invoice", "Autofattura per regolarizzazione"),
	"TD24": look.T("Deferred invoice", "Fattura differita"),
	"TD25": look.T("Deferred invoice, goods handed on", "Fattura differita, triangolazione interna"),
	"TD26": look.T("Sale of depreciable goods", "Cessione di beni ammortizzabili"),
	"TD27": look.T("Own use or gift", "Autoconsumo o cessione gratuita"),
}

// means are the most usual words of ModalitaPagamento.
var means = map[string]look.Text{
	"MP01": look.T("Cash", "Contanti"),
	"MP02": look.T("Cheque", "Assegno"),
	"MP03": look.T("Banker's draft", "Assegno circolare"),
	"MP05": look.T("Bank transfer", "Bonifico"),
	"MP08": look.T("Payment card", "Carta di pagamento"),
	"MP12": look.T("Bank receipt (RIBA)", "Ricevuta bancaria (RIBA)"),
	"MP15": look.T("Transfer between public accounts", "Giroconto su conti di contabilità speciale"),
	"MP16": look.T("Direct debit, bank", "Domiciliazione bancaria"),
	"MP18": look.T("Postal payment slip", "Bollettino di conto corrente postale"),
	"MP19": look.T("SEPA direct debit", "Addebito diretto SEPA"),
	"MP23": look.T("Public payments (PagoPA)", "Pagamenti pubblici (PagoPA)"),
}

// Kind and By name a code; one that has no name here is shown as it is.
func (*invoice) Kind(code string) any { return word(kinds, code) }

// By names a means of payment.
func (*invoice) By(code string) any { return word(means, code) }

func word(names map[string]look.Text, code string) any {
	if t, ok := names[code]; ok {
		return t
	}
	return visible.Line(code)
}
