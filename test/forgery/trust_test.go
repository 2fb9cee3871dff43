package forgery

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/tsp"
)

func init() { register("trust", makeTrust) }

// party is a certificate and its key; above are its issuers.
type party struct {
	ca.Issuer
	above []*x509.Certificate
}

var serial int64 = 1000

// certify issues a certificate to a new key. A nil issuer makes it self-signed.
func certify(t *testing.T, name string, by *party, change func(*x509.Certificate)) *party {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return certifyKey(t, name, key, by, change)
}

func certifyKey(t *testing.T, name string, key crypto.Signer, by *party, change func(*x509.Certificate)) *party {
	t.Helper()
	serial++
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{Country: []string{"IT"}, CommonName: name},
		NotBefore: now.AddDate(-2, 0, 0), NotAfter: now.AddDate(3, 0, 0), SubjectKeyId: big.NewInt(serial).Bytes(),
	}
	if change != nil {
		change(tmpl)
	}
	p := &party{Issuer: ca.Issuer{Key: key}}
	parent, signer := tmpl, key
	if by != nil {
		parent, signer = by.Certificate, by.Key
		p.above = append([]*x509.Certificate{by.Certificate}, by.above...)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, key.Public(), signer)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if p.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return p
}

// authority is what an authority's certificate has.
func authority(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid = true, true
	c.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
}

// person is what a signer's certificate has.
func person(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageContentCommitment }

func extend(id asn1.ObjectIdentifier, critical bool, value any) func(*x509.Certificate) {
	der, err := asn1.Marshal(value)
	if err != nil {
		panic(err)
	}
	return func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: id, Critical: critical, Value: der})
	}
}

func both(changes ...func(*x509.Certificate)) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		for _, f := range changes {
			f(c)
		}
	}
}

var (
	idNoCheck = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 5}
	idEKU     = asn1.ObjectIdentifier{2, 5, 29, 37}
	idKU      = asn1.ObjectIdentifier{2, 5, 29, 15}
	noCheck   = extend(idNoCheck, false, asn1.RawValue{Tag: asn1.TagNull})

	purposes = map[string]asn1.ObjectIdentifier{
		"serverAuth": {1, 3, 6, 1, 5, 5, 7, 3, 1}, "clientAuth": {1, 3, 6, 1, 5, 5, 7, 3, 2},
		"codeSigning": {1, 3, 6, 1, 5, 5, 7, 3, 3}, "emailProtection": {1, 3, 6, 1, 5, 5, 7, 3, 4},
		"timeStamping": {1, 3, 6, 1, 5, 5, 7, 3, 8}, "OCSPSigning": {1, 3, 6, 1, 5, 5, 7, 3, 9},
		"documentSigning": {1, 3, 6, 1, 5, 5, 7, 3, 36}, "any": {2, 5, 29, 37, 0},
	}
)

func usages(critical bool, names ...string) func(*x509.Certificate) {
	var ids []asn1.ObjectIdentifier
	for _, n := range names {
		ids = append(ids, purposes[n])
	}
	return extend(idEKU, critical, ids)
}

func keyUsage(u x509.KeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.KeyUsage = u }
}

// proof is the validation data that a document carries.
type proof struct {
	certs       []*x509.Certificate
	ocsps, crls [][]byte
}

// Gather hands out the same for everybody.
func (p proof) Gather(context.Context, [][]byte, ades.Bundle) (ades.Bundle, error) {
	b := ades.Bundle{OCSPs: p.ocsps, CRLs: p.crls}
	for _, c := range p.certs {
		b.Certificates = append(b.Certificates, c.Raw)
	}
	return b, nil
}

// answer is an OCSP answer by one party about a certificate that another issued.
func answer(t *testing.T, by *party, about, issuer *x509.Certificate, at time.Time, s ca.Status) []byte {
	t.Helper()
	req := &ca.OCSPRequest{Certificates: []ca.CertID{ca.CertIDOf(issuer, about.SerialNumber, crypto.SHA1)}}
	b, err := by.Answer(req, ca.OCSP{ThisUpdate: at, ProducedAt: at, NextUpdate: at.Add(time.Hour)}, func(ca.CertID) ca.Status { return s })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// list is a revocation list of a party, empty but for those named.
func list(t *testing.T, by *party, at time.Time, revoked ...*x509.Certificate) []byte {
	t.Helper()
	l := ca.List{Number: big.NewInt(at.Unix()), ThisUpdate: at, NextUpdate: at.Add(24 * time.Hour)}
	for _, c := range revoked {
		l.Revoked = append(l.Revoked, ca.Revoked{Serial: c.SerialNumber, At: at.Add(-time.Hour), Reason: 1})
	}
	issuer := by.Issuer
	if issuer.Certificate.KeyUsage&x509.KeyUsageCRLSign == 0 {
		// The library refuses to make what is not allowed: a forger would not.
		copied := *issuer.Certificate
		copied.KeyUsage |= x509.KeyUsageCRLSign
		issuer.Certificate = &copied
	}
	b, err := issuer.CRL(l)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// trial is a place where specimens of trust are made: a time-stamping unit
// whose authority is trusted in each of them.
type trial struct {
	*materials
	now  time.Time
	time *party // authority of the unit
	unit *party
	out  []specimen
}

func newTrial(t *testing.T, m *materials) *trial {
	x := &trial{materials: m, now: time.Now().Add(-2 * time.Minute).Truncate(time.Second)}
	x.time = certify(t, "Time Authority", nil, authority)
	x.unit = certify(t, "Time Unit", x.time, both(keyUsage(x509.KeyUsageDigitalSignature), usages(true, "timeStamping")))
	return x
}

// document is something to sign, by format.
func document(format string) (string, []byte) {
	switch format {
	case "pdf":
		return "contract.pdf", pdf()
	case "xml":
		return "invoice.xml", []byte("<invoice><amount>100</amount></invoice>")
	}
	return "letter.txt", []byte("pay 100 to Anna")
}

// deed is how one specimen is made.
type deed struct {
	name, want string
	format     string // "cms", "xml", "pdf"; empty is cms
	signer     *party
	anchors    []*party
	proof      proof
	unit       *party    // empty: the trial's
	at         time.Time // zero: the trial's now
}

// make signs at level LT with the validation data given, and adds the
// specimen.
func (x *trial) make(d deed) {
	x.t.Helper()
	if d.unit == nil {
		d.unit = x.unit
	}
	if d.at.IsZero() {
		d.at = x.now
	}
	d.proof.crls = append(slices.Clone(d.proof.crls), list(x.t, x.time, d.at.Add(time.Second)))
	d.proof.certs = append(slices.Clone(d.proof.certs), x.time.Certificate, d.unit.Certificate)
	d.proof.certs = append(append(d.proof.certs, d.signer.above...), d.unit.above...)
	stamper := &tsp.Responder{Certificate: d.unit.Certificate, Key: d.unit.Key, Chain: d.unit.above, Policy: "0.4.0.2023.1.1", Now: func() time.Time { return d.at }}
	o := rogito.Options{
		SignParams: ades.SignParams{Certificate: d.signer.Certificate, Chain: d.signer.above, Time: d.at},
		Level:      ades.LevelLT, Stamper: stamper, Gatherer: d.proof,
	}
	name, content := document(d.format)
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), rogito.File(name, bytes.NewReader(content)), &out, d.signer.Key, o); err != nil {
		x.t.Errorf("%s: %v", d.name, err)
		return
	}
	var anchors bytes.Buffer
	for _, a := range append(d.anchors, x.time) {
		if err := pem.Encode(&anchors, &pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw}); err != nil {
			x.t.Fatal(err)
		}
	}
	x.out = append(x.out, specimen{name: d.name, data: out.Bytes(), want: d.want, anchors: anchors.Bytes()})
}

// good is an answer for a certificate by its own issuer, and lists for the
// authorities above it.
func (x *trial) good(p *party, issuers ...*party) proof {
	var out proof
	about := p.Certificate
	for _, i := range issuers {
		out.ocsps = append(out.ocsps, answer(x.t, i, about, i.Certificate, x.now.Add(time.Second), ca.Status{}))
		about = i.Certificate
	}
	return out
}

func makeTrust(t *testing.T, m *materials) []specimen {
	x := newTrial(t, m)
	x.authorities()
	x.signers()
	x.responders()
	x.lists()
	x.units()
	return x.out
}

// authorities: who may issue a signer's certificate. Trust in a certificate
// that is no authority ends with it.
func (x *trial) authorities() {
	anchors := []struct {
		name   string
		change func(*x509.Certificate)
		want   string
	}{
		{"root", authority, genuine},
		{"root without key usage", both(authority, keyUsage(0)), genuine},
		{"person", person, forged},
		{"person without extensions", nil, forged},
		{"person, cA false", both(person, func(c *x509.Certificate) { c.BasicConstraintsValid = true }), forged},
		{"certSign without cA", keyUsage(x509.KeyUsageCertSign | x509.KeyUsageContentCommitment), forged},
		{"certSign, cA false", both(keyUsage(x509.KeyUsageCertSign), func(c *x509.Certificate) { c.BasicConstraintsValid = true }), forged},
		{"root without certSign", both(authority, keyUsage(x509.KeyUsageCRLSign)), forged},
		{"root for signatures only", both(authority, keyUsage(x509.KeyUsageDigitalSignature)), forged},
	}
	root := certify(x.t, "Some Root", nil, authority)
	for _, a := range anchors {
		for _, own := range []bool{true, false} {
			by := root
			if own {
				by = nil
			}
			anchor := certify(x.t, "Anchor", by, a.change)
			for depth, format := range []string{"cms", "xml", "pdf"} {
				issuers := []*party{anchor}
				for level := range depth {
					issuers = append([]*party{certify(x.t, fmt.Sprintf("Below %d", level), issuers[0], authority)}, issuers...)
				}
				signer := certify(x.t, "Signer", issuers[0], person)
				x.make(deed{
					name: fmt.Sprintf("issued by a trusted %s, self-signed %v, %d below, %s", a.name, own, depth, format), want: a.want,
					format: format, signer: signer, anchors: []*party{anchor}, proof: x.good(signer, issuers...),
				})
			}
			if a.want == forged && own && a.name != "root without certSign" && a.name != "certSign, cA false" {
				x.make(deed{name: "own certificate trusted, " + a.name, want: genuine, signer: anchor, anchors: []*party{anchor}})
			}
		}
	}
	// The person's issuer is trusted as well: nothing changes.
	mario := certify(x.t, "Mario Rossi", root, person)
	signer := certify(x.t, "Signer", mario, person)
	x.make(deed{name: "issued by a person under a trusted root", want: forged, signer: signer, anchors: []*party{root}, proof: x.good(signer, mario, root)})
	x.make(deed{name: "issued by a trusted person under a trusted root", want: forged, signer: signer, anchors: []*party{mario, root}, proof: x.good(signer, mario, root)})
}

// signers: which certificates are for signing documents, whether their issuer is trusted or they
// themselves are.
func (x *trial) signers() {
	root := certify(x.t, "Root", nil, authority)
	sign, nr := x509.KeyUsageDigitalSignature, x509.KeyUsageContentCommitment
	rows := []struct {
		name   string
		change func(*x509.Certificate)
		want   string
	}{
		{"no usages", nil, genuine},
		{"digitalSignature", keyUsage(sign), genuine},
		{"nonRepudiation and keyEncipherment", keyUsage(nr | x509.KeyUsageKeyEncipherment), genuine},
		{"emailProtection", both(keyUsage(sign), usages(false, "emailProtection")), genuine},
		{"documentSigning", both(keyUsage(sign), usages(true, "documentSigning")), genuine},
		{"any", both(keyUsage(sign), usages(false, "any")), genuine},
		{"clientAuth and emailProtection", both(keyUsage(sign), usages(false, "clientAuth", "emailProtection")), genuine},
		{"clientAuth with nonRepudiation", both(keyUsage(sign|nr), usages(false, "clientAuth")), genuine},
		{"serverAuth and documentSigning", both(keyUsage(sign), usages(false, "serverAuth", "documentSigning")), genuine},

		{"keyEncipherment", keyUsage(x509.KeyUsageKeyEncipherment), forged},
		{"dataEncipherment", keyUsage(x509.KeyUsageDataEncipherment), forged},
		{"keyAgreement", keyUsage(x509.KeyUsageKeyAgreement), forged},
		{"cRLSign", keyUsage(x509.KeyUsageCRLSign), forged},
		{"an authority's usages", authority, forged},
		{"key usage without a bit", extend(idKU, true, asn1.BitString{Bytes: []byte{0}, BitLength: 1}), forged},
		{"empty extended usage", both(keyUsage(nr), usages(true)), forged},
		{"clientAuth", both(keyUsage(sign), usages(false, "clientAuth")), forged},
		{"clientAuth without key usage", usages(false, "clientAuth"), forged},
		{"serverAuth and clientAuth", both(keyUsage(sign), usages(false, "serverAuth", "clientAuth")), forged},
	}
	for _, set := range [][]string{
		{"serverAuth"},
		{"codeSigning"},
		{"OCSPSigning"},
		{"timeStamping"},
		{"serverAuth", "codeSigning"},
		{"OCSPSigning", "timeStamping"},
		{"serverAuth", "codeSigning", "OCSPSigning", "timeStamping"},
	} {
		for _, critical := range []bool{true, false} {
			rows = append(rows, struct {
				name   string
				change func(*x509.Certificate)
				want   string
			}{fmt.Sprintf("%v critical %v", set, critical), both(keyUsage(sign|nr), usages(critical, set...)), forged})
		}
	}
	formats := []string{"cms", "xml", "pdf"}
	for i, r := range rows {
		signer := certify(x.t, "Signer", root, r.change)
		x.make(deed{name: "signer for " + r.name, want: r.want, format: formats[i%3], signer: signer, anchors: []*party{root}, proof: x.good(signer, root)})
		if r.want == forged {
			x.make(deed{name: "trusted signer for " + r.name, want: r.want, format: formats[(i+1)%3], signer: signer, anchors: []*party{signer}, proof: x.good(signer, root)})
		}
	}
	// "Do not ask about me" is for responders.
	for name, change := range map[string]func(*x509.Certificate){
		"alone": both(person, noCheck), "and mail": both(person, noCheck, usages(false, "emailProtection")),
		"and answers": both(person, noCheck, usages(false, "emailProtection", "OCSPSigning")),
	} {
		signer := certify(x.t, "Signer", root, change)
		x.make(deed{name: "nocheck " + name, want: forged, signer: signer, anchors: []*party{root}})
		x.make(deed{name: "nocheck " + name + ", answered for", want: genuine, signer: signer, anchors: []*party{root}, proof: x.good(signer, root)})
	}
	sub := certify(x.t, "Authority", root, both(authority, noCheck))
	signer := certify(x.t, "Signer", sub, person)
	x.make(deed{name: "authority with nocheck", want: forged, signer: signer, anchors: []*party{root}, proof: x.good(signer, sub)})
}

// responders: who may answer for an issuer, and when.
func (x *trial) responders() {
	root := certify(x.t, "Root", nil, authority)
	issuer := certify(x.t, "Issuer", root, authority)
	sibling := certify(x.t, "Sibling", root, authority)
	foreign := certify(x.t, "Foreign Root", nil, authority)
	signer := certify(x.t, "Signer", issuer, person)
	revokedSigner := certify(x.t, "Signer", issuer, person)
	sign := x509.KeyUsageDigitalSignature
	responder := both(keyUsage(sign), usages(false, "OCSPSigning"), noCheck)
	after := x.now.Add(time.Second)
	over := func(c *x509.Certificate) { c.NotAfter = after.Add(10 * time.Second) } // before now
	young := func(c *x509.Certificate) { c.NotBefore = after.Add(30 * time.Second) }
	rows := []struct {
		name string
		by   *party
		at   time.Time
		want string
	}{
		{"issuer", issuer, after, genuine},
		{"delegate", certify(x.t, "Responder", issuer, responder), after, genuine},
		{"delegate of whom nobody says that he is good", certify(x.t, "Responder", issuer, both(keyUsage(sign), usages(false, "OCSPSigning"))), after, forged},
		{"root", root, after, forged},
		{"sibling", sibling, after, forged},
		{"sibling's delegate", certify(x.t, "Responder", sibling, responder), after, forged},
		{"root's delegate", certify(x.t, "Responder", root, responder), after, forged},
		{"foreign anchor", foreign, after, forged},
		{"foreign anchor's delegate", certify(x.t, "Responder", foreign, responder), after, forged},
		{"trusted stranger for answers", certify(x.t, "Responder", nil, responder), after, forged},
		{"no delegate", certify(x.t, "Responder", issuer, both(keyUsage(sign), noCheck)), after, forged},
		{"delegate for mail", certify(x.t, "Responder", issuer, both(keyUsage(sign), usages(false, "emailProtection"), noCheck)), after, forged},
		{"delegate for any", certify(x.t, "Responder", issuer, both(keyUsage(sign), usages(false, "any"), noCheck)), after, forged},
		{"delegate for encryption", certify(x.t, "Responder", issuer, both(keyUsage(x509.KeyUsageKeyEncipherment), usages(false, "OCSPSigning"), noCheck)), after, forged},
		{"signer himself", signer, after, forged},
		{"another signer", revokedSigner, after, forged},
		{"issuer's name with another key", certify(x.t, "Issuer", foreign, authority), after, forged},
		{"delegate of the issuer's name", certify(x.t, "Responder", certify(x.t, "Issuer", foreign, authority), responder), after, forged},
		{"delegate whose certificate is over", certify(x.t, "Responder", issuer, both(responder, over)), after, forged},
		{"delegate not yet certified", certify(x.t, "Responder", issuer, both(responder, young)), after, forged},
		{"issuer, in two days", issuer, x.now.AddDate(0, 0, 2), forged},
		{"delegate, in two days", certify(x.t, "Responder", issuer, responder), x.now.AddDate(0, 0, 2), forged},
		{"issuer, before the certificate existed", issuer, x.now.AddDate(-3, 0, 0), forged},
		{"issuer, a month ago", issuer, x.now.AddDate(0, -1, 0), forged},
	}
	formats := []string{"cms", "xml"}
	for _, r := range rows {
		for _, format := range formats {
			p := proof{ocsps: [][]byte{answer(x.t, r.by, signer.Certificate, issuer.Certificate, r.at, ca.Status{})}}
			p.crls = [][]byte{list(x.t, root, after)}
			p.certs = append([]*x509.Certificate{r.by.Certificate}, r.by.above...)
			anchors := []*party{root, foreign}
			if r.name == "trusted stranger for answers" {
				anchors = append(anchors, r.by)
			}
			x.make(deed{name: fmt.Sprintf("answer by %s, %s", r.name, format), want: r.want, format: format, signer: signer, anchors: anchors, proof: p})
		}
	}
	for name, s := range map[string]ca.Status{
		"revoked": {RevokedAt: x.now.AddDate(0, -1, 0), Reason: 1}, "unknown": {Unknown: true}, "on hold": {RevokedAt: x.now.AddDate(0, -1, 0), Reason: 6},
	} {
		p := proof{ocsps: [][]byte{answer(x.t, issuer, signer.Certificate, issuer.Certificate, after, s)}, crls: [][]byte{list(x.t, root, after)}}
		x.make(deed{name: "answer " + name, want: forged, signer: signer, anchors: []*party{root}, proof: p})
	}
	other := proof{ocsps: [][]byte{answer(x.t, issuer, revokedSigner.Certificate, issuer.Certificate, after, ca.Status{})}, crls: [][]byte{list(x.t, root, after)}}
	x.make(deed{name: "answer about another", want: forged, signer: signer, anchors: []*party{root}, proof: other})
}

// lists: who may sign a revocation list.
func (x *trial) lists() {
	root := certify(x.t, "Root", nil, authority)
	issuer := certify(x.t, "Issuer", root, authority)
	foreign := certify(x.t, "Foreign Root", nil, authority)
	signer := certify(x.t, "Signer", issuer, person)
	after := x.now.Add(time.Second)
	listSigner := keyUsage(x509.KeyUsageCRLSign)
	rows := []struct {
		name string
		by   *party
		at   time.Time
		want string
	}{
		{"issuer", issuer, after, genuine},
		{"the issuer's other key", certify(x.t, "Issuer", root, authority), after, genuine},
		{"the issuer's other key, for lists", certify(x.t, "Issuer", root, listSigner), after, genuine},
		{"root", root, after, forged},
		{"the issuer's name under another anchor", certify(x.t, "Issuer", foreign, authority), after, forged},
		{"the issuer's name, trusted", certify(x.t, "Issuer", nil, authority), after, forged},
		{"the issuer's name, a person's key usage", certify(x.t, "Issuer", root, person), after, forged},
		{"the issuer's name, no key usage", certify(x.t, "Issuer", root, nil), after, forged},
		{"the issuer's name, self-made", certify(x.t, "Issuer", nil, listSigner), after, forged},
		{"foreign anchor", foreign, after, forged},
		{"another name for lists", certify(x.t, "Lists", root, listSigner), after, forged},
		{"issuer, in two days", issuer, x.now.AddDate(0, 0, 2), forged},
		{"issuer, a month ago", issuer, x.now.AddDate(0, -1, 0), forged},
	}
	for _, r := range rows {
		for _, format := range []string{"cms", "xml"} {
			p := proof{crls: [][]byte{list(x.t, r.by, r.at), list(x.t, root, after.Add(time.Second))}}
			p.certs = append([]*x509.Certificate{r.by.Certificate}, r.by.above...)
			anchors := []*party{root, foreign}
			if r.name == "the issuer's name, trusted" {
				anchors = append(anchors, r.by)
			}
			x.make(deed{name: fmt.Sprintf("list by %s, %s", r.name, format), want: r.want, format: format, signer: signer, anchors: anchors, proof: p})
		}
	}
	p := proof{crls: [][]byte{list(x.t, issuer, after, signer.Certificate), list(x.t, root, after)}}
	x.make(deed{name: "list with the signer on it", want: forged, signer: signer, anchors: []*party{root}, proof: p})
	p = proof{crls: [][]byte{list(x.t, issuer, after), list(x.t, root, after, issuer.Certificate)}}
	x.make(deed{name: "list with the issuer on it", want: forged, signer: signer, anchors: []*party{root}, proof: p})
}

// units: who may time-stamp. The signer's certificate is over by now, so that
// the signature lives by its time-stamp.
func (x *trial) units() {
	root := certify(x.t, "Root", nil, authority)
	then := x.now.AddDate(0, -2, 0)
	signer := certify(x.t, "Signer", root, both(person, func(c *x509.Certificate) { c.NotAfter = x.now.AddDate(0, -1, 0) }))
	mario := certify(x.t, "Mario Rossi", nil, person)
	stranger := certify(x.t, "Stranger", nil, authority)
	sign, stamps := keyUsage(x509.KeyUsageDigitalSignature), usages(true, "timeStamping")
	rows := []struct {
		name string
		unit *party
		want string
	}{
		{"unit", certify(x.t, "Unit", x.time, both(sign, stamps)), genuine},
		{"unit without key usage", certify(x.t, "Unit", x.time, stamps), genuine},
		{"usage not critical", certify(x.t, "Unit", x.time, both(sign, usages(false, "timeStamping"))), forged},
		{"two usages", certify(x.t, "Unit", x.time, both(sign, usages(true, "timeStamping", "emailProtection"))), forged},
		{"any usage", certify(x.t, "Unit", x.time, both(sign, usages(true, "any"))), forged},
		{"time-stamping and any", certify(x.t, "Unit", x.time, both(sign, usages(true, "timeStamping", "any"))), forged},
		{"no usage", certify(x.t, "Unit", x.time, sign), forged},
		{"for mail", certify(x.t, "Unit", x.time, both(sign, usages(true, "emailProtection"))), forged},
		{"for answers", certify(x.t, "Unit", x.time, both(sign, usages(true, "OCSPSigning"))), forged},
		{"for encryption", certify(x.t, "Unit", x.time, both(keyUsage(x509.KeyUsageKeyEncipherment), stamps)), forged},
		{"its authority", x.time, forged},
		{"by a trusted person", certify(x.t, "Unit", mario, both(sign, stamps)), forged},
		{"by nobody trusted", certify(x.t, "Unit", stranger, both(sign, stamps)), forged},
		{"self-made", certify(x.t, "Unit", nil, both(sign, stamps)), forged},
		{"certified after", certify(x.t, "Unit", x.time, both(sign, stamps, func(c *x509.Certificate) { c.NotBefore = then.AddDate(0, 1, 0) })), forged},
		{"over since", certify(x.t, "Unit", x.time, both(sign, stamps, func(c *x509.Certificate) { c.NotAfter = x.now.AddDate(0, 0, -1) })), forged},
		{"over before", certify(x.t, "Unit", x.time, both(sign, stamps, func(c *x509.Certificate) { c.NotAfter = then.AddDate(0, 0, -1) })), forged},
		{"not asked about", certify(x.t, "Unit", mario, both(sign, stamps, noCheck)), forged},
	}
	for _, r := range rows {
		for _, format := range []string{"cms", "xml", "pdf"} {
			p := proof{ocsps: [][]byte{answer(x.t, root, signer.Certificate, root.Certificate, then.Add(time.Second), ca.Status{})}}
			x.make(deed{
				name: fmt.Sprintf("time-stamp, %s, %s", r.name, format), want: r.want, format: format,
				signer: signer, anchors: []*party{root, mario}, proof: p, unit: r.unit, at: then,
			})
		}
	}
}
