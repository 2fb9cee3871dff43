// Package cns identifies by the authentication certificate of an Italian
// service card (carta nazionale dei servizi, and the health card that is one),
// shown in mutual TLS.
//
// It takes no agreement with anybody: the issuers are on the Italian trusted
// list, as services that verify identities (IdV) and are recognised at national
// level. Others who issue certificates that look like a card's are on no such
// list, which is why neither system roots nor the anchors of signatures count.
package cns

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/sentence"
	"rogito.dev/rogito/trust"
)

// Config of the method.
type Config struct {
	Listen  string   `yaml:"listen" doc:"address and port of the listener that asks for a card's certificate; empty: cards are not offered, unless header is set"`
	URL     string   `yaml:"url" doc:"where people reach that listener (https://cns.example.org); empty: made from listen"`
	Cert    string   `yaml:"cert" doc:"file with the certificate chain of that listener (PEM)"`
	Key     string   `yaml:"key" doc:"file with its private key (PEM)"`
	Anchors []string `yaml:"anchors" doc:"files with certificates of issuers of cards (PEM), beside those on the Italian trusted list"`
	Header  string   `yaml:"header" doc:"header in which a proxy of trusted_proxies hands on the card's certificate, as URL-encoded PEM or by RFC 9440; empty: none"`
}

// Deps are what the method works with.
type Deps struct {
	// Client fetches revocation data, guarded; nil: none can be had.
	Client *http.Client
	// Offline: it reaches this server only.
	Offline bool
	// Listed returns the certificates (DER) of the recognised services of type
	// IdV on the Italian trusted list, while that is good.
	Listed func() [][]byte
	Now    func() time.Time
}

// CNS is the method.
type CNS struct {
	cert    string // file of the listener's
	deps    Deps
	anchors [][]byte
	policy  *policy.Policy
}

var _ identify.Method = (*CNS)(nil)

// New reads the issuers' files.
func New(cfg Config, deps Deps, anchors ...[]byte) (*CNS, error) {
	m := &CNS{cert: cfg.Cert, deps: deps, anchors: anchors}
	if m.deps.Now == nil {
		m.deps.Now = time.Now
	}
	for _, file := range cfg.Anchors {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("identify.cns.anchors: %w", err)
		}
		ders := trust.Certificates(b)
		if len(ders) == 0 {
			return nil, fmt.Errorf("identify.cns.anchors: %s: %w", file, trust.ErrNoCertificate)
		}
		m.anchors = append(m.anchors, ders...)
	}
	var err error
	m.policy, err = policy.Load(policy.DefaultYAML())
	return m, err
}

// Name of the method.
func (*CNS) Name() string { return "cns" }

// Providers is the card.
func (*CNS) Providers(context.Context) []identify.Provider {
	return []identify.Provider{{ID: "cns", Name: "CNS"}}
}

// Start makes a request, which the visit with the card answers at once.
func (m *CNS) Start(context.Context, string) (*identify.Departure, error) {
	return &identify.Departure{Request: rand.Text(), Until: m.deps.Now().Add(time.Minute)}, nil
}

// Request is named by the listener itself.
func (*CNS) Request(answer url.Values) (string, error) { return answer.Get("request"), nil }

// CardPolicy is that of certificates for authentication with a CNS.
const CardPolicy = "1.3.76.16.2.1"

const ekuClientAuth = "1.3.6.1.5.5.7.3.2"

// Finish judges the certificates that the browser showed, the card's own first.
func (m *CNS) Finish(ctx context.Context, _ []byte, answer url.Values) (*identify.Answer, error) {
	shown := answer["certificate"]
	if len(shown) == 0 || len(shown) > 8 {
		return nil, refusals["unreadable"]
	}
	card, err := pkix.ParseCertificate([]byte(shown[0]))
	if err != nil {
		return nil, refusals["unreadable"]
	}
	if !slices.Contains(card.Policies, CardPolicy) || !slices.Contains(card.ExtKeyUsage, ekuClientAuth) ||
		card.HasKeyUsage && card.KeyUsage&pkix.DigitalSignature == 0 {
		return nil, refusals["kind"]
	}
	proven, ok := holder(card.Subject)
	if !ok {
		return nil, refusals["code"]
	}
	store := &trust.Store{Client: m.deps.Client}
	for _, der := range slices.Concat(m.anchors, m.listed()) {
		if err := store.AddAnchor(der); err != nil {
			return nil, err
		}
	}
	// The card's certificate is judged as that of a signer is, with what the
	// browser sent along as other certificates of the document.
	document := &ades.Document{Signatures: []*ades.Signature{{SigningCertificate: card.Raw}}}
	carried := ades.Bundle{}
	for _, der := range shown[1:] {
		document.Evidence = append(document.Evidence, ades.Evidence{Kind: ades.EvidenceCertificate, Origin: "TLS", Raw: []byte(der)})
		carried.Certificates = append(carried.Certificates, []byte(der))
	}
	now := m.deps.Now()
	facts := &report.Facts{Layers: []*report.Layer{{Document: document}}}
	store.Gather(ctx, facts, now)
	if r := m.judge(facts, card, now); r != nil {
		return nil, r
	}
	kept, err := (&trust.Gatherer{Store: store, Now: m.deps.Now}).Gather(ctx, [][]byte{card.Raw}, carried)
	if err != nil {
		return nil, refusals["revocation"]
	}
	return &identify.Answer{
		Proof: &identify.Proof{Method: "cns", Issuer: card.IssuerDN(), Level: "urn:oid:" + CardPolicy, At: now, Proven: proven, Certificate: card.Raw},
		ID:    answer.Get("request"), Until: now.Add(time.Minute), Files: files(kept),
	}, nil
}

func (m *CNS) listed() [][]byte {
	if m.deps.Listed == nil {
		return nil
	}
	return m.deps.Listed()
}

// judge says what is wrong with a card's certificate now; nil: nothing.
func (m *CNS) judge(facts *report.Facts, card *pkix.Certificate, now time.Time) *identify.Refusal {
	paths := facts.Paths[card.ID()]
	known := facts.Certificates[card.ID()]
	if len(paths) == 0 || paths[0].Anchor == nil || known == nil {
		return refusals["issuer"]
	}
	c := policy.Certificate(facts, m.policy, card.ID(), now)
	switch {
	case now.Before(card.NotBefore) || now.After(card.NotAfter):
		return refusals["expired"]
	case c.SubIndication == report.RevokedNoPOE || c.SubIndication == report.RevokedCANoPOE || revoked(facts.Revocations[card.ID()]):
		return refusals["revoked"]
	case len(paths[0].Certificates) < 2 || known.ShortTerm || len(facts.Revocations[card.ID()]) == 0 || c.SubIndication == report.TryLater:
		return refusals["revocation"]
	case c.Indication != report.Passed && c.SubIndication == report.CertificateChainGeneral && len(paths[0].Problems) == 0:
		return refusals["revocation"]
	case c.Indication != report.Passed:
		return refusals["issuer"]
	}
	return nil
}

func revoked(all []*report.Revocation) bool {
	return slices.ContainsFunc(all, func(r *report.Revocation) bool { return r.Status == "revoked" && !r.Unauthorized && !r.Lifted(all) })
}

// files are the chain and the revocation data, as received.
func files(b ades.Bundle) []identify.File {
	var chain strings.Builder
	for _, der := range b.Certificates {
		_ = pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	out := []identify.File{{Name: "certificates.pem", Content: []byte(chain.String())}}
	for i, raw := range b.OCSPs {
		out = append(out, identify.File{Name: fmt.Sprintf("revocation-%d.ocsp", i+1), Content: raw})
	}
	for i, raw := range b.CRLs {
		out = append(out, identify.File{Name: fmt.Sprintf("revocation-%d.crl", i+1), Content: raw})
	}
	return out
}

// holder reads who a card is of. The fiscal code is before the slash of the
// common name, or after TINIT- in the serial number, and nowhere else; where it
// is in both it is the same.
func holder(subject pkix.Name) (a identify.Attributes, ok bool) {
	all := map[string][]string{}
	for _, rdn := range subject {
		for _, one := range rdn {
			all[one.OID] = append(all[one.OID], one.Value)
		}
	}
	for _, values := range [][]string{all[pkix.OIDCommonName], all[pkix.OIDSerialNumber], all[pkix.OIDSurname], all[pkix.OIDGivenName]} {
		if len(values) > 1 {
			return a, false // which of them the issuer has verified is unknown
		}
	}
	code, _, slash := strings.Cut(strings.ToUpper(subject.Get(pkix.OIDCommonName)), "/")
	if !slash {
		code = ""
	}
	if number, tin := strings.CutPrefix(strings.ToUpper(subject.Get(pkix.OIDSerialNumber)), "TINIT-"); tin {
		if code != "" && code != number {
			return a, false
		}
		code = number
	}
	return identify.Attributes{
		FiscalCode: code, GivenName: subject.Get(pkix.OIDGivenName), Surname: subject.Get(pkix.OIDSurname), Country: subject.Get(pkix.OIDCountry),
	}, identify.PersonalCode(code)
}

var refusals = map[string]*identify.Refusal{}

func init() {
	for reason, text := range map[string][2]string{
		"unreadable": {
			"The certificate that your browser showed cannot be read. Try again with your card.",
			"Il certificato mostrato dal browser non si può leggere. Riprova con la tua carta.",
		},
		"kind": {
			"The certificate that your browser showed is not that of a CNS or TS-CNS for authentication. Close the browser, and choose the card's own certificate.",
			"Il certificato mostrato dal browser non è quello di autenticazione di una CNS o TS-CNS. Chiudi il browser e scegli il certificato della carta.",
		},
		"code": {
			"The card's certificate names no fiscal code where it should. Choose another way of identification.",
			"Il certificato della carta non riporta il codice fiscale dove dovrebbe. Scegli un altro modo di identificarti.",
		},
		"issuer": {
			"The card was not issued by an authority that is recognised for service cards. Choose another way of identification.",
			"La carta non è stata emessa da un'autorità riconosciuta per le carte dei servizi. Scegli un altro modo di identificarti.",
		},
		"expired": {
			"The card has expired, or is not valid yet. Use a valid one, or choose another way of identification.",
			"La carta è scaduta o non è ancora valida. Usane una valida, o scegli un altro modo di identificarti.",
		},
		"revoked": {
			"The card was revoked or suspended. Ask its issuer, or choose another way of identification.",
			"La carta è stata revocata o sospesa. Rivolgiti a chi l'ha emessa, o scegli un altro modo di identificarti.",
		},
		"revocation": {
			"Whether the card is still valid cannot be found out now: its issuer does not answer. Try again later, or choose another way of identification.",
			"Ora non si può sapere se la carta è ancora valida: chi l'ha emessa non risponde. Riprova più tardi, o scegli un altro modo di identificarti.",
		},
	} {
		refusals[reason] = &identify.Refusal{Reason: reason, English: text[0], Italian: text[1]}
	}
}

// Check says which issuers are known.
func (m *CNS) Check(context.Context) []identify.Finding {
	listed := m.listed()
	out := []identify.Finding{
		{Name: "cns issuers", Detail: sentence.New("%d on the Italian trusted list, %d in files", len(listed), len(m.anchors)), OK: len(listed)+len(m.anchors) > 0},
		{Name: "cns revocation", Detail: sentence.New("can be fetched"), OK: m.deps.Client != nil && !m.deps.Offline},
	}
	if !out[1].OK {
		out[1].Detail = sentence.New("cannot be fetched (network.offline): no card will be accepted")
	}
	if b, err := os.ReadFile(m.cert); m.cert != "" {
		f := identify.Finding{Name: "cns listener", Detail: sentence.New("its certificate cannot be read: %v", err)}
		if ders := trust.Certificates(b); len(ders) > 0 {
			if c, err := pkix.ParseCertificate(ders[0]); err == nil {
				f.Detail, f.OK = sentence.New("its certificate ends on %s", c.NotAfter.Format(time.DateOnly)), m.deps.Now().Before(c.NotAfter)
			}
		}
		out = append(out, f)
	}
	for _, der := range m.anchors {
		if c, err := pkix.ParseCertificate(der); err == nil && m.deps.Now().After(c.NotAfter) {
			out = append(out, identify.Finding{Name: "cns issuer", Detail: sentence.New("%s ended on %s", c.SubjectDN(), c.NotAfter.Format(time.DateOnly))})
		}
	}
	return out
}
