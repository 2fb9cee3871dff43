package documents

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/xades"
)

const text = "The house is sold for 100,000 euro.\n"

// maker signs as the actors of a test authority.
type maker struct {
	t   *testing.T
	pki *adestest.PKI
}

func (m *maker) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// sign signs files with the library, as an actor.
func (m *maker) sign(actor string, change func(*rogito.Options), files ...ades.File) []byte {
	m.t.Helper()
	a := m.pki.Actor(m.t, actor)
	o := rogito.Options{SignParams: a.Signing(m.pki.Now()), Stamper: m.pki.Unit, Gatherer: m.pki}
	if change != nil {
		change(&o)
	}
	var out bytes.Buffer
	_, err := rogito.Sign(m.t.Context(), rogito.Input{Files: files}, &out, a.Key, o)
	m.must(err)
	return out.Bytes()
}

func file(name string, data []byte) ades.File {
	return ades.File{Name: name, Source: bytes.NewReader(data)}
}

func (m *maker) p7m(actor string, content []byte) []byte {
	return m.sign(actor, func(o *rogito.Options) { o.Format = ades.CAdES }, file("a.txt", content))
}

func (m *maker) p7s(content []byte) []byte {
	return m.sign("p256", func(o *rogito.Options) { o.Format, o.CAdES = ades.CAdES, cades.Options{Detached: true} }, file("a", content))
}

func (m *maker) token(content []byte) []byte {
	sum := sha256.Sum256(content)
	token, err := m.pki.Unit.Stamp(context.Background(), crypto.SHA256, sum[:])
	m.must(err)
	return token
}

// changed is a file with another content.
func (m *maker) changed(b []byte, old, with string) []byte {
	m.t.Helper()
	out := bytes.Replace(b, []byte(old), []byte(with), 1)
	if bytes.Equal(out, b) {
		m.t.Fatalf("%q is not in it", old)
	}
	return out
}

// tsd is time-stamped data (RFC 5544): content, and a token over under.
func (m *maker) tsd(content, under []byte) []byte {
	zero := cbasn1.Tag(0).ContextSpecific().Constructed()
	token := m.token(under)
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, oid.TimestampedData)
		b.AddASN1(zero, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1Int64(1)
				b.AddASN1OctetString(content)
				b.AddASN1(zero, func(b *cryptobyte.Builder) {
					b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(token) })
				})
			})
		})
	})
	return b.BytesOrPanic()
}

// m7m is the same as MIME.
func (m *maker) m7m(content []byte) []byte {
	return fmt.Appendf(nil, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"x\"\r\n\r\n--x\r\nContent-Type: application/pkcs7-mime; name=\"a.p7m\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--x\r\nContent-Type: application/timestamp-reply\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--x--\r\n",
		wrapped(content, "\r\n"), wrapped(m.token(content), "\r\n"))
}

// wrapped is base64 in lines.
func wrapped(b []byte, end string) string {
	s := base64.StdEncoding.EncodeToString(b)
	var out strings.Builder
	for len(s) > 64 {
		out.WriteString(s[:64] + end)
		s = s[64:]
	}
	return out.String() + s + end
}

func armoured(label string, b []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: b})
}

func zipped(t *testing.T, pairs ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if name == "mimetype" {
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			switch data := pairs[i+1].(type) {
			case string:
				_, err = w.Write([]byte(data))
			case []byte:
				_, err = w.Write(data)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// inPackage is a package whose signature stands in META-INF, over all its files:
// OpenDocument and EPUB.
func (m *maker) inPackage(mime, name, root, space string, files ...ades.File) []byte {
	all := []any{"mimetype", mime}
	signed := []ades.File{file("mimetype", []byte(mime))}
	for _, f := range files {
		b := make([]byte, f.Source.Size())
		if _, err := f.Source.ReadAt(b, 0); err != nil && len(b) == 0 {
			m.must(err)
		}
		all = append(all, f.Name, b)
		signed = append(signed, f)
	}
	sig := m.sign("p256", func(o *rogito.Options) { o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Detached} }, signed...)
	_, body, _ := bytes.Cut(sig, []byte("?>\n"))
	return zipped(m.t, append(all, "META-INF/"+name, fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><%s xmlns="%s">%s</%s>`, root, space, body, root))...)
}

func (m *maker) odt() []byte {
	return m.inPackage("application/vnd.oasis.opendocument.text", "documentsignatures.xml", "document-signatures", "urn:oasis:names:tc:opendocument:xmlns:digitalsignature:1.0",
		file("content.xml", []byte("<office/>")), file("META-INF/manifest.xml", []byte("<manifest/>")))
}

func (m *maker) epub() []byte {
	return m.inPackage("application/epub+zip", "signatures.xml", "signatures", "urn:oasis:names:tc:opendocument:xmlns:container",
		file("book.xhtml", []byte("<p>once</p>")), file("more.xhtml", []byte("<p>more</p>")), file("META-INF/container.xml", []byte("<container/>")))
}

// Parts of a Word document.
const (
	dsig     = "http://www.w3.org/2000/09/xmldsig#"
	c14n     = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
	packages = "http://schemas.openxmlformats.org/package/2006/"
	mainType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
	relsType = "application/vnd.openxmlformats-package.relationships+xml"
	mainPart = `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`
)

// docx is a document of Word, signed or not (ISO/IEC 29500-2, clause 13).
func (m *maker) docx(signed bool) []byte {
	relation := `Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"`
	rels := `<Relationships xmlns="` + packages + `relationships"><Relationship Id="rId1" ` + relation + ` Target="word/document.xml"/>`
	types := `<Types xmlns="` + packages + `content-types"><Default Extension="rels" ContentType="` + relsType + `"/><Default Extension="xml" ContentType="application/xml"/>` +
		`<Default Extension="sigs" ContentType="application/vnd.openxmlformats-package.digital-signature-origin"/>` +
		`<Override PartName="/word/document.xml" ContentType="` + mainType + `"/><Override PartName="/_xmlsignatures/sig1.xml" ContentType="application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml"/></Types>`
	if !signed {
		return zipped(m.t, "[Content_Types].xml", types, "_rels/.rels", rels+"</Relationships>", "word/document.xml", mainPart)
	}
	rels += `<Relationship Id="rId2" Type="` + packages + `relationships/digital-signature/origin" Target="_xmlsignatures/origin.sigs"/></Relationships>`
	digest := func(b string) string {
		sum := sha256.Sum256([]byte(b))
		return `<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>` + base64.StdEncoding.EncodeToString(sum[:]) + `</ds:DigestValue>`
	}
	kept := `<Relationships xmlns="` + packages + `relationships"><Relationship Id="rId1" Target="word/document.xml" TargetMode="Internal" ` + relation + `></Relationship></Relationships>`
	object := `<ds:Object%s Id="idPackageObject"><ds:Manifest><ds:Reference URI="/word/document.xml?ContentType=` + mainType + `">` + digest(mainPart) + `</ds:Reference>` +
		`<ds:Reference URI="/_rels/.rels?ContentType=` + relsType + `"><ds:Transforms><ds:Transform Algorithm="` + packages + `RelationshipTransform"><p:RelationshipReference xmlns:p="` + packages + `digital-signature" SourceId="rId1"></p:RelationshipReference></ds:Transform><ds:Transform Algorithm="` + c14n + `"></ds:Transform></ds:Transforms>` + digest(kept) + `</ds:Reference></ds:Manifest></ds:Object>`
	declared := ` xmlns:ds="` + dsig + `"`
	info := `<ds:SignedInfo%s><ds:CanonicalizationMethod Algorithm="` + c14n + `"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"></ds:SignatureMethod><ds:Reference Type="` + dsig + `Object" URI="#idPackageObject">` + digest(fmt.Sprintf(object, declared)) + `</ds:Reference></ds:SignedInfo>`
	a := m.pki.Actor(m.t, "good")
	sum := sha256.Sum256(fmt.Appendf(nil, info, declared))
	value, err := a.Key.Sign(rand.Reader, sum[:], crypto.SHA256)
	m.must(err)
	sig := `<ds:Signature` + declared + ` Id="idPackageSignature">` + fmt.Sprintf(info, "") + `<ds:SignatureValue>` + base64.StdEncoding.EncodeToString(value) + `</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>` +
		base64.StdEncoding.EncodeToString(a.Certificate.Raw) + `</ds:X509Certificate></ds:X509Data></ds:KeyInfo>` + fmt.Sprintf(object, "") + `</ds:Signature>`
	return zipped(m.t, "[Content_Types].xml", types, "_rels/.rels", rels, "word/document.xml", mainPart, "_xmlsignatures/origin.sigs", "",
		"_xmlsignatures/_rels/origin.sigs.rels", `<Relationships xmlns="`+packages+`relationships"><Relationship Id="rId1" Type="`+packages+`relationships/digital-signature/signature" Target="sig1.xml"/></Relationships>`,
		"_xmlsignatures/sig1.xml", sig)
}

// smime is a signed message; lines end as they are told to.
func (m *maker) smime(end string) []byte {
	entity := "Content-Type: text/plain\r\n\r\n" + strings.ReplaceAll(text, "\n", "\r\n")
	mail := fmt.Sprintf("From: a@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=sha-256; boundary=\"b\"\r\n\r\n--b\r\n%s\r\n--b\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--b--\r\n",
		entity, wrapped(m.p7s([]byte(entity)), "\r\n"))
	return []byte(strings.ReplaceAll(mail, "\r\n", end))
}

func (m *maker) opaque() []byte {
	return fmt.Appendf(nil, "MIME-Version: 1.0\r\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n%s", wrapped(m.p7m("p256", []byte("Content-Type: text/plain\r\n\r\nhello\r\n")), "\r\n"))
}

// letter is a message with a file attached.
func letter(name string, data []byte) string {
	return fmt.Sprintf("From: anna@pec.example\r\nTo: bruno@pec.example\r\nSubject: Contract\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"m\"\r\n\r\n--m\r\nContent-Type: text/plain\r\n\r\nHere it is.\r\n--m\r\nContent-Type: application/octet-stream; name=\"%s\"\r\nContent-Disposition: attachment; filename=\"%s\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--m--\r\n",
		name, name, wrapped(data, "\r\n"))
}

// pec is an envelope of certified mail around a letter.
func (m *maker) pec(mail string) []byte {
	facts := `<?xml version="1.0" encoding="UTF-8"?><postacert tipo="posta-certificata" errore="nessuno"><intestazione><mittente>anna@pec.example</mittente><destinatari tipo="certificato">bruno@pec.example</destinatari><risposte>anna@pec.example</risposte><oggetto>Contract</oggetto></intestazione><dati><gestore-emittente>Example PEC</gestore-emittente><data zona="+0100"><giorno>02/03/2026</giorno><ora>10:00:00</ora></data><identificativo>1@pec.example</identificativo><msgid>&lt;7@pec.example&gt;</msgid><ricevuta tipo="completa"/></dati></postacert>`
	entity := fmt.Sprintf("Content-Type: multipart/mixed; boundary=\"in\"\r\n\r\n--in\r\nContent-Type: text/plain\r\n\r\nMessaggio di posta certificata\r\n--in\r\nContent-Type: application/xml; name=\"daticert.xml\"\r\nContent-Disposition: inline; filename=\"daticert.xml\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--in\r\nContent-Type: message/rfc822; name=\"postacert.eml\"\r\nContent-Disposition: inline; filename=\"postacert.eml\"\r\n\r\n%s\r\n--in--\r\n", wrapped([]byte(facts), "\r\n"), mail)
	return fmt.Appendf(nil, "From: posta-certificata@pec.example\r\nTo: bruno@pec.example\r\nSubject: POSTA CERTIFICATA: Contract\r\nX-Trasporto: posta-certificata\r\nX-Riferimento-Message-ID: <7@pec.example>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=\"sha-256\"; boundary=\"out\"\r\n\r\n--out\r\n%s\r\n--out\r\nContent-Type: application/pkcs7-signature; name=\"smime.p7s\"\r\nContent-Transfer-Encoding: base64\r\n\r\n%s--out--\r\n",
		entity, wrapped(m.p7s([]byte(entity)), "\r\n"))
}

// pdf is a document of one page.
func pdf() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	content := "BT /F 12 Tf 72 720 Td (The house is sold for 100 000 euro.) Tj ET"
	at := []int{}
	for i, o := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content), "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	end := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R/ID[<01020304><05060708>]>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, end)
	return b.Bytes()
}

// bare is a PDF with a PKCS#1 value beside its certificate (ISO 32000-1, 12.8.3.2).
func (m *maker) bare(h crypto.Hash) []byte {
	const room, blank = 2048, "/ByteRange[0 1111111111 2222222222 3333333333]"
	a := m.pki.Actor(m.t, "good")
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R]/SigFlags 3>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Annots[4 0 R]>>",
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(s)/V 5 0 R/Rect[0 0 0 0]/P 3 0 R>>",
		"<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.x509.rsa_sha1/Cert<" + hex.EncodeToString(a.Certificate.Raw) + ">" + blank + "/Contents<" + strings.Repeat("0", room) + ">>>",
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	end := b.Len()
	fmt.Fprintf(&b, "xref\n0 6\n0000000000 65535 f \n")
	for _, o := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size 6/Root 1 0 R/ID[<01020304><05060708>]>>\nstartxref\n%d\n%%%%EOF\n", end)
	doc := b.Bytes()
	from := bytes.Index(doc, []byte("/Contents<")) + len("/Contents")
	to := from + room + 2
	ranges := fmt.Sprintf("/ByteRange[0 %d %d %d]", from, to, len(doc)-to)
	copy(doc[bytes.Index(doc, []byte("/ByteRange[")):], ranges+strings.Repeat(" ", len(blank)-len(ranges)))
	sum := h.New()
	sum.Write(doc[:from])
	sum.Write(doc[to:])
	value, err := a.Key.Sign(rand.Reader, sum.Sum(nil), h)
	m.must(err)
	der, err := asn1.Marshal(value)
	m.must(err)
	copy(doc[from+1:], hex.EncodeToString(der))
	return doc
}

const invoice = `<?xml version="1.0" encoding="UTF-8"?>
<p:FatturaElettronica versione="FPR12" xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2"><FatturaElettronicaHeader><CedentePrestatore><DatiAnagrafici><Anagrafica><Denominazione>Alfa Srl</Denominazione></Anagrafica></DatiAnagrafici></CedentePrestatore><CessionarioCommittente><DatiAnagrafici><Anagrafica><Nome>Maria</Nome><Cognome>Rossi</Cognome></Anagrafica></DatiAnagrafici></CessionarioCommittente></FatturaElettronicaHeader><FatturaElettronicaBody><DatiGenerali><DatiGeneraliDocumento><TipoDocumento>TD01</TipoDocumento><Divisa>EUR</Divisa><Data>2026-03-02</Data><Numero>12/A</Numero><ImportoTotaleDocumento>122.00</ImportoTotaleDocumento></DatiGeneraliDocumento></DatiGenerali><DatiBeniServizi><DettaglioLinee><NumeroLinea>1</NumeroLinea><Descrizione>Perizia</Descrizione><PrezzoUnitario>100.00</PrezzoUnitario><PrezzoTotale>100.00</PrezzoTotale><AliquotaIVA>22.00</AliquotaIVA></DettaglioLinee></DatiBeniServizi></FatturaElettronicaBody></p:FatturaElettronica>`

func enveloping(o *rogito.Options) {
	o.Format, o.XAdES = ades.XAdES, xades.Options{Packaging: xades.Enveloping}
}

func container(o *rogito.Options) { o.Format, o.ASiC = ades.ASiCE, asic.Options{} }

func jwsOf(form jades.Serialization) func(*rogito.Options) {
	return func(o *rogito.Options) { o.Format, o.JAdES = ades.JAdES, jades.Options{Serialization: form} }
}

// reZip is an archive whose file has another text.
func reZip(m *maker, archive []byte, name string) []byte {
	m.t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	m.must(err)
	var all []any
	for _, f := range r.File {
		in, err := f.Open()
		m.must(err)
		b, err := io.ReadAll(in)
		m.must(err)
		if f.Name == name {
			b = m.changed(b, "100,000", "900,000")
		}
		all = append(all, f.Name, b)
	}
	return zipped(m.t, all...)
}
