package xades

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// ErrNothing means that no signature in the document can be raised.
var ErrNothing = errors.New("xades: no signature that can be raised")

// Augment raises every signature of a document to the level asked for and writes the document; all
// its bytes are kept, only properties are added. A signature already at the level does not change,
// except that LTA adds another archive time-stamp. Signatures that another one signs, and those in
// namespaces before 1.3.2, cannot be raised and are skipped.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	doc, err := parse(ctx, src)
	if err != nil {
		return err
	}
	files := outside{files: r.Detached}
	if m, ok := src.(*handoff.Member); ok {
		files = outside{files: m.Files, container: true}
	}
	return augment(ctx, doc, w, r, files)
}

func augment(ctx context.Context, doc *xmldom.Document, w io.Writer, r ades.AugmentOptions, files outside) error {
	raised := 0
	for i := range raisable(doc) {
		a := &augmenter{ctx: ctx, r: r, files: files, doc: doc, index: i}
		ok, err := a.raise()
		if err != nil {
			return fmt.Errorf("xades: %w", err)
		}
		if ok {
			raised++
		}
		doc = a.doc
	}
	if raised == 0 {
		return ErrNothing
	}
	if err := doc.WriteSpliced(w); err != nil {
		return fmt.Errorf("xades: %w", err)
	}
	return nil
}

// raisable returns the signatures of a document that are not counter-signatures. Their number and
// order do not change while properties are added.
func raisable(doc *xmldom.Document) []*xmldom.Node {
	var found []*xmldom.Node
	for _, n := range xmldsig.Find(doc) {
		if !isCounter(n) && !insideCounter(n) {
			found = append(found, n)
		}
	}
	return found
}

func insideCounter(n *xmldom.Node) bool {
	for ; n != nil; n = n.Parent {
		if isCounter(n) {
			return true
		}
	}
	return false
}

// augmenter raises one signature, reading the document again after each change.
type augmenter struct {
	ctx   context.Context
	r     ades.AugmentOptions
	files outside
	doc   *xmldom.Document
	index int

	s *sigReader
}

// load reads the current facts of the signature.
func (a *augmenter) load() {
	rd := newReader(a.ctx, a.doc, a.files)
	n := raisable(a.doc)[a.index]
	x, err := xmldsig.Read(a.doc, n)
	a.s = &sigReader{reader: rd, x: x, sig: &ades.Signature{ID: n.Attr("Id")}}
	if err != nil {
		a.s.x = nil
		return
	}
	a.s.findProperties()
	a.s.readSigned()
	a.s.carried()
	a.s.identify()
	a.s.timestamps()
}

func (a *augmenter) raise() (bool, error) {
	if a.load(); a.s.x == nil || a.s.signed == nil || a.s.space != ns132 || a.protected() {
		return false, nil
	}
	if err := a.intact(); err != nil {
		return false, err
	}
	if a.r.Level >= ades.LevelT && !a.has(ades.SignatureTimestamp) {
		if err := a.stamp(ades.SignatureTimestamp); err != nil {
			return false, err
		}
	}
	if a.r.Level >= ades.LevelLT {
		if err := a.addValidationData(); err != nil {
			return false, err
		}
	}
	if a.r.Level >= ades.LevelLTA {
		if err := a.stamp(ades.ArchiveTimestamp); err != nil {
			return false, err
		}
	}
	return true, nil
}

// intact returns an error if the signature is broken: a time-stamp would make it look valid.
func (a *augmenter) intact() error {
	a.s.references(nil)
	a.s.checkValue()
	if a.s.sig.Intact() == ades.No {
		return fmt.Errorf("signature %s does not verify", a.s.sig.ID)
	}
	return nil
}

// protected reports whether another signature signs this one, which any addition would then break.
func (a *augmenter) protected() bool {
	for i, n := range raisable(a.doc) {
		if i == a.index {
			continue
		}
		other, err := xmldsig.Read(a.doc, n)
		if err != nil {
			continue
		}
		for _, r := range other.References {
			if other.Includes(r, a.s.x.Node) && !n.Contains(a.s.x.Node) {
				return true
			}
		}
	}
	return false
}

func (a *augmenter) has(kind ades.TimestampKind) bool {
	return slices.ContainsFunc(a.s.sig.Timestamps, func(t *ades.Timestamp) bool { return t.Kind == kind })
}

// stamp appends a time-stamp property.
func (a *augmenter) stamp(kind ades.TimestampKind) error {
	if a.r.Stamper == nil {
		return errors.New("no time-stamping authority given")
	}
	h := a.r.Digest()
	if err := oid.CheckHash(h); err != nil {
		return err
	}
	hash := h.New()
	t := &stamped{x: a.s.x, unsigned: a.s.unsigned, outside: a.s.resolve, m: exclusive}
	if err := t.write(hash, kind, nil); err != nil {
		return fmt.Errorf("%s time-stamp: %w", kind, err)
	}
	token, err := a.r.Stamper.Stamp(a.ctx, h, hash.Sum(nil))
	if err != nil {
		return fmt.Errorf("%s time-stamp: %w", kind, err)
	}
	return a.add(timestampXML(kind, token))
}

func timestampXML(kind ades.TimestampKind, token []byte) string {
	open, end := `xades:SignatureTimeStamp`, `xades:SignatureTimeStamp`
	if kind == ades.ArchiveTimestamp {
		open, end = `xades141:ArchiveTimeStamp xmlns:xades141="`+ns141+`"`, `xades141:ArchiveTimeStamp`
	}
	id := ades.FactID(token)[:32]
	return `<` + open + ` xmlns:ds="` + ds + `" xmlns:xades="` + ns132 + `" Id="TS-` + id + `"><ds:CanonicalizationMethod Algorithm="` + exclusive.URI() +
		`"/><xades:EncapsulatedTimeStamp Id="ETS-` + id + `">` + base64.StdEncoding.EncodeToString(token) + `</xades:EncapsulatedTimeStamp></` + end + `>`
}

// add appends unsigned properties and reads the signature again.
func (a *augmenter) add(xml string) error {
	qp := a.s.signed.Parent
	var edit xmldom.Edit
	up := qp.Child(a.s.space, "UnsignedProperties")
	switch {
	case a.s.unsigned != nil:
		edit = a.doc.Append(a.s.unsigned, xml)
	case up != nil:
		edit = a.doc.Append(up, `<xades:UnsignedSignatureProperties xmlns:xades="`+ns132+`">`+xml+`</xades:UnsignedSignatureProperties>`)
	default:
		edit = a.doc.Append(qp, `<xades:UnsignedProperties xmlns:xades="`+ns132+`"><xades:UnsignedSignatureProperties>`+xml+
			`</xades:UnsignedSignatureProperties></xades:UnsignedProperties>`)
	}
	out, err := a.doc.Splice(edit)
	if err != nil {
		return err
	}
	if a.doc, err = xmldom.Parse(out, xmldom.Limits{}); err != nil {
		return err
	}
	a.load()
	return nil
}

// addValidationData gathers the validation data of every chain of the signature and adds what is
// missing.
func (a *augmenter) addValidationData() error {
	fresh, err := carried.Missing(a.ctx, a.r.Gatherer, a.s.sig)
	if err != nil {
		return err
	}
	if xml := a.validationXML(fresh); xml != "" {
		return a.add(xml)
	}
	return nil
}

// validationXML puts new data into CertificateValues and RevocationValues, or, if the signature has
// these already, into TimeStampValidationData: only one of each is allowed.
func (a *augmenter) validationXML(b ades.Bundle) string {
	certs := encapsulated("EncapsulatedX509Certificate", b.Certificates)
	crls, ocsps := encapsulated("EncapsulatedCRLValue", b.CRLs), encapsulated("EncapsulatedOCSPValue", b.OCSPs)
	if crls != "" {
		crls = `<xades:CRLValues>` + crls + `</xades:CRLValues>`
	}
	if ocsps != "" {
		ocsps = `<xades:OCSPValues>` + ocsps + `</xades:OCSPValues>`
	}
	property := func(name, body, ns string) string {
		if body == "" {
			return ""
		}
		return `<xades:` + name + ns + `>` + body + `</xades:` + name + `>`
	}
	const ns = ` xmlns:xades="` + ns132 + `"`
	again := a.s.unsigned.Child(ns132, "CertificateValues") != nil || a.s.unsigned.Child(ns132, "RevocationValues") != nil || a.has(ades.ArchiveTimestamp)
	if !again {
		return property("CertificateValues", certs, ns) + property("RevocationValues", crls+ocsps, ns)
	}
	if body := property("CertificateValues", certs, "") + property("RevocationValues", crls+ocsps, ""); body != "" {
		return `<xades141:TimeStampValidationData xmlns:xades141="` + ns141 + `"` + ns + `>` + body + `</xades141:TimeStampValidationData>`
	}
	return ""
}

func encapsulated(name string, list [][]byte) string {
	var s strings.Builder
	for _, der := range list {
		s.WriteString(`<xades:` + name + `>` + base64.StdEncoding.EncodeToString(der) + `</xades:` + name + `>`)
	}
	return s.String()
}
