package forgery

import (
	"archive/zip"
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
)

func init() { register("cms", makeCMS) }

// armoured is base64 in lines.
func armoured(b []byte) []byte {
	text := base64.StdEncoding.EncodeToString(b)
	var out bytes.Buffer
	for len(text) > 64 {
		out.WriteString(text[:64] + "\r\n")
		text = text[64:]
	}
	out.WriteString(text + "\r\n")
	return out.Bytes()
}

func pemOf(b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: b}) }

// entity is the first part of a signed message.
const entity = "Content-Type: text/plain; charset=utf-8\r\n\r\n" + contractText + "\r\n"

// smime is a multipart/signed message.
func smime(content string, signature []byte) string {
	return "MIME-Version: 1.0\r\nContent-Type: multipart/signed; protocol=\"application/pkcs7-signature\"; micalg=\"sha-256\"; boundary=\"----B0\"\r\n\r\n" +
		"This is an S/MIME signed message\r\n\r\n------B0\r\n" + content + "\r\n------B0\r\n" +
		"Content-Type: application/pkcs7-signature; name=\"smime.p7s\"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=\"smime.p7s\"\r\n\r\n" +
		string(armoured(signature)) + "\r\n------B0--\r\n\r\n"
}

// opaque is a message that is a SignedData.
func opaque(b []byte) string {
	return "MIME-Version: 1.0\r\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=\"smime.p7m\"\r\nContent-Transfer-Encoding: base64\r\n\r\n" + string(armoured(b))
}

// chunked is a p7m with its content in pieces and of indefinite length, as
// signers that stream write it.
func chunked(t *testing.T, der []byte, content string, pieces int) []byte {
	t.Helper()
	whole, err := asn1.Marshal([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	explicit := append([]byte{0xa0, byte(len(whole))}, whole...)
	if !bytes.Contains(der, explicit) {
		t.Fatal("the content is not where it was expected")
	}
	var in bytes.Buffer
	in.Write([]byte{0xa0, 0x80, 0x24, 0x80})
	step := (len(content) + pieces - 1) / pieces
	for i := 0; i < len(content); i += step {
		piece := content[i:min(len(content), i+step)]
		in.Write([]byte{4, byte(len(piece))})
		in.WriteString(piece)
	}
	in.Write([]byte{0, 0, 0, 0})
	// The values around it become indefinite too.
	at := bytes.Index(der, explicit)
	head := indefinite(t, der, at)
	out := append(head.before, in.Bytes()...)
	out = append(out, 0, 0) // encapContentInfo
	out = append(out, der[at+len(explicit):]...)
	return append(out, 0, 0, 0, 0, 0, 0) // SignedData, [0], ContentInfo
}

type opened struct{ before []byte }

// indefinite rewrites the headers of the values that hold the byte at a place.
func indefinite(t *testing.T, der []byte, at int) opened {
	t.Helper()
	var out []byte
	var walk func(b []byte, off int)
	walk = func(b []byte, off int) {
		for len(b) > 0 && off < at {
			var v asn1.RawValue
			rest, err := asn1.Unmarshal(b, &v)
			if err != nil {
				t.Fatal(err)
			}
			size := len(b) - len(rest)
			if off+size > at && v.IsCompound {
				out = append(out, b[0], 0x80)
				walk(v.Bytes, off+size-len(v.Bytes))
				return
			}
			out = append(out, b[:size]...)
			b, off = rest, off+size
		}
	}
	walk(der, 0)
	return opened{out}
}

func makeCMS(t *testing.T, m *materials) []specimen {
	var list []specimen
	add := func(want, name string, data, detached []byte) {
		list = append(list, specimen{name: name, data: data, detached: detached, want: want})
	}
	content := []byte(contractText)
	sign := func(content []byte, detached bool) []byte {
		return m.signOne("letter.txt", content, func(o *rogito.Options) {
			o.Format, o.CAdES = ades.CAdES, cades.Options{Detached: detached}
		})
	}
	p7m, p7s, other := sign(content, false), sign(content, true), sign([]byte(forgedText), false)
	ber := chunked(t, p7m, contractText, 3)
	message := smime(entity, sign([]byte(entity), true))

	for name, b := range map[string][]byte{
		"p7m": p7m, "p7m in pieces": ber, "p7m in many pieces": chunked(t, p7m, contractText, len(content)), "p7m as PEM": pemOf(p7m), "p7m as base64": armoured(p7m),
		"p7m with padding": append(bytes.Clone(p7m), make([]byte, 512)...), "p7m with a line break": append(bytes.Clone(p7m), "\r\n"...),
		"PEM after blank lines": append([]byte("\n\n"), pemOf(p7m)...), "base64 in one line": []byte(base64.StdEncoding.EncodeToString(p7m)),
		"signed message": []byte(message), "signed message with other line breaks": []byte(strings.ReplaceAll(message, "\r\n", "\n")),
		"signed message with more headers": []byte("From: anna@example.org\r\nSubject: contract\r\n" + message), "opaque message": []byte(opaque(p7m)),
		"signed message in binary":               []byte(smime(strings.ReplaceAll(entity, "\r\n", "\n"), sign([]byte(strings.ReplaceAll(entity, "\r\n", "\n")), true))),
		"signed message in an mbox":              []byte("From anna@example.org Sun Nov 15 12:00:00 2026\n" + message),
		"signed message after a byte order mark": []byte("\xef\xbb\xbf" + message),
		"signed message with a comment":          []byte(strings.Replace(message, "multipart/signed;", "multipart/signed (clear (text)) ;", 1)),
		"signed message forwarded as a whole":    []byte("Subject: as it came\r\nContent-Type: message/rfc822\r\n\r\n" + message),
		"signed message that came a long way":    []byte(strings.Repeat("Received: from one station by another; Sun, 15 Nov 2026 12:00:00 +0000\r\n", 60) + message),
		"opaque message in an mbox":              []byte("From anna Sun Nov 15 12:00:00 2026\r\n" + opaque(p7m)),
		"p7m with a PDF inside":                  sign(pdf(), false),
	} {
		add(genuine, name, b, nil)
	}
	withPDF := sign(pdf(), false)
	for name, value := range map[string]string{
		"a PDF": string(pdf()), "an update of the PDF inside, for readers that rebuild": "4 0 obj\n" + showing(forgedText) + "\nendobj\n",
		"an object with comments in its head": "4 %x\n0 %y\r\nobj\n" + showing(forgedText) + "\nendobj\n", "a table and where it is": "xref\n0 0\ntrailer\n<</Root 1 0 R>>\nstartxref\n60\n%%EOF\n",
		"an archive": "PK\x03\x04", "a page": "<html>" + forgedText,
	} {
		add(forged, "p7m with a PDF inside, in an unsigned attribute "+name, unsignedAttribute(t, withPDF, value), nil)
	}
	for name, b := range map[string]string{
		"two messages in an mbox":             "From anna Sun Nov 15 12:00:00 2026\n" + strings.ReplaceAll(message, "\r\n", "\n") + "\n\nFrom carlo Sun Nov 15 12:00:00 2026\nSubject: " + forgedText + "\n\n",
		"a comment that hides a parameter":    strings.Replace(message, "multipart/signed;", "multipart/signed (; boundary=\"evil\") ;", 1),
		"a comment that hides a media type":   strings.Replace(message, "multipart/signed;", "(text/html;) multipart/signed;", 1),
		"forwarded in base64":                 "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n" + string(armoured([]byte(message))),
		"forwarded beside another media type": "Content-Type: message/rfc822\r\nContent-Type: text/html\r\n\r\n" + message,
		"forwarded, another content":          "Content-Type: message/rfc822\r\n\r\n" + strings.Replace(message, "100", "900", 1),
	} {
		add(forged, "message: "+name, []byte(b), nil)
	}
	for name, b := range map[string][]byte{"p7s": p7s, "p7s as PEM": pemOf(p7s), "p7s as base64": armoured(p7s), "p7m beside its content": p7m} {
		add(genuine, name+" with content", b, content)
	}

	// Content given that is not the content signed.
	for name, b := range map[string][]byte{"p7m": p7m, "p7m in pieces": ber, "p7m as PEM": pemOf(p7m), "p7m as base64": armoured(p7m), "p7s": p7s, "p7s as PEM": pemOf(p7s), "signed message": []byte(message), "opaque message": []byte(opaque(p7m))} {
		add(forged, name+" beside another content", b, []byte(forgedText))
		add(forged, name+" beside a longer content", b, []byte(contractText+"0"))
		add(forged, name+" beside a line break more", b, []byte(contractText+"\n"))
	}
	list = append(list, aroundCMS(m, map[string][2][]byte{
		"p7m": {p7m, nil}, "p7m in pieces": {ber, nil}, "p7s": {p7s, content}, "p7m as PEM": {pemOf(p7m), nil}, "p7m as base64": {armoured(p7m), nil},
	}, other)...)
	return append(list, messages(m, p7m, other, message, sign)...)
}

// unsignedAttribute adds an unknown unsigned attribute to the signer.
func unsignedAttribute(t *testing.T, signed []byte, value string) []byte {
	t.Helper()
	sd, err := cms.Parse(bytes.NewReader(signed))
	if err == nil {
		sd.SignerInfos[0], err = sd.SignerInfos[0].AddUnsigned(cms.NewAttribute("1.2.3.4.5", cms.TLV(cms.TagOctetString, []byte(value))))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// aroundCMS puts other documents before and behind a CMS.
func aroundCMS(m *materials, bases map[string][2][]byte, another []byte) []specimen {
	var list []specimen
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	if f, err := w.Create("contract.txt"); err == nil {
		_, _ = f.Write([]byte(forgedText))
	}
	if err := w.Close(); err != nil {
		m.t.Fatal(err)
	}
	others := map[string][]byte{
		"a zip": z.Bytes(), "a PDF": pdf(), "a CMS": another, "a page": []byte("<html>" + forgedText + "</html>"), "a text": []byte(forgedText),
		"a PEM": pemOf(another), "base64": armoured(another), "one byte": {1}, "a blank": []byte(" "), "XML": []byte("<?xml version='1.0'?><x>" + forgedText + "</x>"),
	}
	pads := map[string][]byte{
		"": nil, " after a zero": {0}, " after 4,096 zeros": make([]byte, 4096), " after line breaks": []byte("\r\n\r\n"), " after a page of zeros and more": make([]byte, 70_000),
	}
	for base, b := range bases {
		for what, o := range others {
			if what == "a blank" && (strings.Contains(base, "PEM") || strings.Contains(base, "base64")) {
				continue // harmless in text
			}
			for pad, zeros := range pads {
				data := append(append(bytes.Clone(b[0]), zeros...), o...)
				list = append(list, specimen{name: fmt.Sprintf("%s, then %s%s", base, what, pad), data: data, detached: b[1], want: forged})
			}
			list = append(list, specimen{name: fmt.Sprintf("%s, before it %s", base, what), data: append(append(bytes.Clone(o), "\r\n"...), b[0]...), detached: b[1], want: forged})
		}
		list = append(list, specimen{name: base + ", then a megabyte of zeros", data: append(bytes.Clone(b[0]), make([]byte, 1<<20)...), detached: b[1], want: forged})
	}
	return list
}

// messages forges signed messages, and CMS of two minds.
func messages(m *materials, p7m, other []byte, message string, sign func([]byte, bool) []byte) []specimen {
	var list []specimen
	add := func(name, data string) {
		list = append(list, specimen{name: "message: " + name, data: []byte(data), want: forged})
	}
	evilPart := "Content-Type: text/plain\r\n\r\n" + forgedText + "\r\n"
	signature := message[strings.Index(message, "------B0\r\nContent-Type: application/pkcs7"):]
	for name, d := range map[string]string{
		"another content":                      strings.Replace(message, "100", "900", 1),
		"another media type":                   strings.Replace(message, "text/plain", "text/html", 1),
		"a part before":                        strings.Replace(message, "------B0\r\n", "------B0\r\n"+evilPart+"\r\n------B0\r\n", 1),
		"a part after":                         strings.Replace(message, "------B0--", "------B0\r\n"+evilPart+"\r\n------B0--", 1),
		"a page before the parts":              strings.Replace(message, "This is an S/MIME signed message", "<html>"+forgedText+"</html>", 1),
		"a long text before the parts":         strings.Replace(message, "This is an S/MIME signed message", strings.Repeat(forgedText+" ", 20), 1),
		"a page after the parts":               message + "<html>" + forgedText + "</html>",
		"an archive after the parts":           message + "PK\x03\x04",
		"a second content type first":          "Content-Type: text/html\r\n" + message,
		"a second content type last":           strings.Replace(message, "\r\n\r\n", "\r\nContent-Type: text/html\r\n\r\n", 1),
		"a content type with a blank":          "Content-Type : text/html\r\n" + message,
		"a boundary that others would see":     strings.Replace(message, "This is", "------B0x\r\n"+evilPart+"This is", 1),
		"a boundary in pieces":                 strings.Replace(message, "boundary=\"----B0\"", "boundary*0=\"----\"; boundary*1=\"B0\"", 1),
		"the end twice":                        message + "------B0\r\n" + evilPart + "\r\n------B0--\r\n",
		"without an end":                       strings.Replace(message, "------B0--", "", 1),
		"the signature of something else":      smime(entity, sign([]byte(forgedText), true)),
		"a signature with content of its own":  smime(entity, other),
		"a signature with the same content":    smime(entity, sign([]byte(entity), false)),
		"the signature first":                  strings.Replace(message, entity, "", 1) + signature,
		"opaque, then a page":                  opaque(p7m) + "<html>",
		"opaque, then another":                 opaque(p7m) + string(armoured(other)),
		"opaque with two content types":        "Content-Type: text/html\r\n" + opaque(p7m),
		"opaque with two encodings":            "Content-Transfer-Encoding: 7bit\r\n" + opaque(p7m),
		"opaque with another content":          opaque(bytes.Replace(p7m, []byte("100"), []byte("900"), 1)),
		"opaque with a line more":              strings.Replace(opaque(p7m), "\r\n\r\n", "\r\n\r\nAAAA", 1),
		"a line break more in the content":     strings.Replace(message, contractText, contractText+"\r\n", 1),
		"a header more in the content":         strings.Replace(message, "Content-Type: text/plain", "Subject: "+forgedText+"\r\nContent-Type: text/plain", 1),
		"a comment between header and content": strings.Replace(message, "charset=utf-8", "charset=utf-7", 1),
	} {
		add(name, d)
	}
	put := func(name string, b []byte) { list = append(list, specimen{name: name, data: b, want: forged}) }
	two := append(pemOf(p7m), pemOf(other)...)
	put("two PEM blocks", two)
	put("two PEM blocks, the other first", append(pemOf(other), pemOf(p7m)...))
	put("a PEM inside a page", []byte("<html><!--\n"+string(pemOf(p7m))+"-->"+forgedText))
	put("two values in one PEM block", []byte(strings.Replace(string(pemOf(p7m)), "-----END", string(armoured(other))+"-----END", 1)))
	put("two values in one base64", append(bytes.TrimSpace(armoured(p7m)), bytes.TrimSpace(armoured(other))...))
	put("base64 of two values", armoured(append(bytes.Clone(p7m), other...)))
	put("another content", bytes.Replace(p7m, []byte("100"), []byte("900"), 1))
	ber := chunked(m.t, p7m, contractText, 3)
	put("a piece changed", bytes.Replace(ber, []byte("Anna"), []byte("Anne"), 1))
	put("a piece more", bytes.Replace(ber, []byte{0x24, 0x80}, []byte{0x24, 0x80, 4, 1, 'x'}, 1))
	put("a value that is no piece", bytes.Replace(ber, []byte{0x24, 0x80}, []byte{0x24, 0x80, 0x0c, 1, 'x'}, 1))
	put("without its end", ber[:len(ber)-2])
	put("cut off", p7m[:len(p7m)-1])
	return list
}
