package forgery

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/lzw"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/ascii85"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/yardstick"
)

// inflating is a deflated stream of n zeros. A block that was flushed refers to nothing
// before it, so one is deflated and then repeated: a gigabyte takes four seconds otherwise.
func inflating(n int) []byte {
	const block = 1 << 20
	var b, rest bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = w.Write(make([]byte, block))
	_ = w.Flush()
	w.Reset(&rest)
	_, _ = w.Write(make([]byte, n%block))
	_ = w.Close()
	return append(bytes.Repeat(b.Bytes(), n/block), rest.Bytes()...)
}

// What inflates is so many zeros, and small.
func TestInflating(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 20, 5<<20 + 3} {
		packed := inflating(n)
		b, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
		if err != nil || len(b) != n || bytes.Count(b, []byte{0}) != n || len(packed) > 100+n/900 {
			t.Errorf("%d zeros: %d bytes, packed %d, %v", n, len(b), len(packed), err)
		}
	}
}

// packedFile writes a file that is deflated already.
func packedFile(z *zip.Writer, name string, packed []byte, size int) {
	w, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: 0, CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(size)})
	if err == nil {
		_, _ = w.Write(packed)
	}
}

// zipOf makes a container of files; those of nil content inflate.
func zipOf(mime string, size int, files map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if mime != "" {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: "mimetype", Method: zip.Store})
		_, _ = io.WriteString(w, mime)
	}
	packed := inflating(size)
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if files[n] == nil {
			packedFile(z, n, packed, size)
			continue
		}
		w, _ := z.Create(n)
		_, _ = w.Write(files[n])
	}
	z.Close()
	return b.Bytes()
}

// zipBombs really inflate: what is large is what signatures refer to.
func zipBombs(m *materials, out map[string][]byte) {
	const large = 1 << 30
	f := &xmlForger{materials: m}
	refs := func(n int, transforms string) string {
		var list []ref
		f.files = map[string][]byte{}
		for i := range n {
			name := fmt.Sprintf("data%d.bin", i)
			f.files[name] = []byte("<a/>")
			list = append(list, ref{name, "", transforms})
		}
		return string(wrapASiC([]byte(f.xmldsig("@", "", list...))))
	}
	data := func(n int) map[string][]byte {
		files := map[string][]byte{}
		for i := range n {
			files[fmt.Sprintf("data%d.bin", i)] = nil
		}
		return files
	}
	with := func(files map[string][]byte, name string, content []byte) map[string][]byte {
		files[name] = content
		return files
	}
	out["zip, a signed file"] = zipOf(mimeE, large, with(data(1), "META-INF/signatures.xml", []byte(refs(1, ""))))
	out["zip, 300 signed files"] = zipOf(mimeE, 8<<20, with(data(300), "META-INF/signatures.xml", []byte(refs(300, ""))))
	out["zip, 100 signed files in canonical form"] = zipOf(mimeE, 16<<20, with(data(100), "META-INF/signatures.xml", []byte(refs(100, c14nTransform))))
	for _, name := range []string{"META-INF/ASiCManifest.xml", "META-INF/evidencerecord.ers", "META-INF/timestamp.tst", "META-INF/signature.p7s", "META-INF/manifest.xml"} {
		out["zip, "+name] = zipOf(mimeE, 60<<20, map[string][]byte{name: nil, "a.txt": []byte("a")})
	}
	many := map[string][]byte{"a.txt": []byte("a")}
	for i := range 200 {
		many[fmt.Sprintf("META-INF/signatures%d.xml", i)] = nil
	}
	out["zip, 200 large signature files"] = zipOf(mimeE, 60<<20, many)
	// Archives in archives, sixteen of them each.
	inner := zipOf("", 32<<20, data(4))
	for range 4 {
		files := map[string][]byte{}
		for i := range 16 {
			files[fmt.Sprintf("%d.zip", i)] = inner
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, content := range files {
			w, _ := z.Create(name)
			_, _ = w.Write(content)
		}
		z.Close()
		inner = b.Bytes()
	}
	out["zip, archives in archives"] = inner
	out["zip, entries over each other"] = overlapping(4 << 20)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 60_000 {
		_, _ = z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.p7m", i)})
	}
	z.Close()
	out["zip, 60,000 entries"] = b.Bytes()
}

// overlapping is an archive whose thousands of entries share one content.
func overlapping(size int) []byte {
	one := zipOf("", size, map[string][]byte{"0000.p7m": nil})
	end := bytes.LastIndex(one, []byte("PK\x01\x02"))
	tail := bytes.LastIndex(one, []byte("PK\x05\x06"))
	entry, last := one[end:tail], bytes.Clone(one[tail:])
	var dir []byte
	const n = 5000
	for i := range n {
		dir = append(dir, bytes.Replace(entry, []byte("0000"), fmt.Appendf(nil, "%04d", i), 1)...)
	}
	put := func(at, v, bytes int) {
		for i := range bytes {
			last[at+i] = byte(v >> (8 * i))
		}
	}
	put(8, n, 2)
	put(10, n, 2)
	put(12, len(dir), 4)
	return slices.Concat(one[:end], dir, last)
}

// hugeCRL is a list with n entries, signed by a party.
func hugeCRL(m *materials, by *party, n int) []byte {
	m.t.Helper()
	now := time.Now()
	l := ca.List{Number: big.NewInt(1), ThisUpdate: now.Add(-time.Hour), NextUpdate: now.AddDate(0, 1, 0)}
	for i := range n {
		l.Revoked = append(l.Revoked, ca.Revoked{Serial: big.NewInt(int64(1_000_000 + i)), At: now.Add(-48 * time.Hour), Reason: 1})
	}
	b, err := by.CRL(l)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// signedBy is a p7m of a party, with more certificates and revocation data.
func signedBy(m *materials, p *party, certs, crls [][]byte) []byte {
	m.t.Helper()
	chain := [][]byte{p.Certificate.Raw}
	for _, c := range p.above {
		chain = append(chain, c.Raw)
	}
	o := rogito.Options{SignParams: ades.SignParams{Certificate: p.Certificate, Time: m.pki.Now()}, Format: ades.CAdES}
	var out bytes.Buffer
	if _, err := rogito.Sign(m.t.Context(), rogito.Input{Files: []ades.File{text("letter.txt", contractText)}}, &out, p.Key, o); err != nil {
		m.t.Fatal(err)
	}
	sd, err := cms.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		m.t.Fatal(err)
	}
	sd.AddCertificates(append(chain, certs...)...)
	sd.AddRevocations(crls...)
	b, err := sd.Bytes()
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// rsaCertificate is a certificate for an RSA key without a private half: only its size counts.
func rsaCertificate(m *materials, name string, bits int, e *big.Int, by *party) []byte {
	m.t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
	if err != nil {
		m.t.Fatal(err)
	}
	n.SetBit(n.SetBit(n, bits-1, 1), 0, 1)
	spki, err := asn1.Marshal(struct {
		Algorithm struct {
			OID  asn1.ObjectIdentifier
			Null asn1.RawValue
		}
		Key asn1.BitString
	}{struct {
		OID  asn1.ObjectIdentifier
		Null asn1.RawValue
	}{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, asn1.NullRawValue}, func() asn1.BitString {
		key, err := asn1.Marshal(struct{ N, E *big.Int }{n, e})
		if err != nil {
			m.t.Fatal(err)
		}
		return asn1.BitString{Bytes: key, BitLength: 8 * len(key)}
	}()})
	if err != nil {
		m.t.Fatal(err)
	}
	// A certificate of an ordinary key, with the other one put in its place.
	p := certify(m.t, name, by, authority)
	return replaceKey(m, p.Certificate.Raw, p.Certificate.RawSubjectPublicKeyInfo, spki)
}

// replaceKey puts another key into a certificate and leaves its signature.
func replaceKey(m *materials, cert, old, spki []byte) []byte {
	var c struct{ TBS, Alg, Sig asn1.RawValue }
	if _, err := asn1.Unmarshal(cert, &c); err != nil {
		m.t.Fatal(err)
	}
	c.TBS.Bytes = bytes.Replace(c.TBS.Bytes, old, spki, 1)
	c.TBS.FullBytes = nil
	out, err := asn1.Marshal(c)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// cmsBombs: lists, keys, chains and names that cost.
func cmsBombs(m *materials, out map[string][]byte) {
	root := bombRoot
	signer := certify(m.t, "Bomb Signer", root, person)
	list := hugeCRL(m, root, 300_000)
	out["cms, a huge list"] = signedBy(m, signer, nil, [][]byte{list})
	var lists [][]byte
	for i := range 6 {
		lists = append(lists, hugeCRL(m, root, 60_000+i))
	}
	out["cms, six large lists"] = signedBy(m, signer, nil, lists)
	foreign := hugeCRL(m, certify(m.t, "Bomb Other", nil, authority), 300_000)
	out["cms, a huge list of somebody else"] = signedBy(m, signer, nil, [][]byte{foreign})

	// H4 of the review: signers with candidate issuers of 16,384 bits.
	for name, k := range map[string]struct {
		n, bits int
		e       *big.Int
	}{
		"cms, 24 issuers of 16,384 bits":         {24, 16384, big.NewInt(65537)},
		"cms, 200 issuers of 16,384 bits":        {200, 16384, big.NewInt(65537)},
		"cms, issuers with a long exponent":      {24, 8192, new(big.Int).SetBit(new(big.Int).Lsh(big.NewInt(1), 8000), 0, 1)},
		"cms, issuers of a quarter million bits": {4, 1 << 18, big.NewInt(65537)},
	} {
		out[name] = largeIssuers(m, k.n, k.bits, k.e)
	}
	// Authorities that certify each other, all of one name.
	var ring []*party
	for range 12 {
		ring = append(ring, certify(m.t, "Bomb Ring", nil, authority))
	}
	var certs [][]byte
	for _, by := range ring {
		for _, of := range ring {
			certs = append(certs, certifyKey(m.t, "Bomb Ring", of.Key, by, authority).Certificate.Raw)
		}
	}
	leaf := certify(m.t, "Bomb Leaf", ring[0], person)
	leaf.above = nil
	out["cms, authorities in a ring"] = signedBy(m, leaf, certs, nil)
	by := root
	certs = nil
	for i := range 400 {
		by = certify(m.t, fmt.Sprintf("Bomb Link %d", i), by, authority)
		certs = append(certs, by.Certificate.Raw)
	}
	leaf = certify(m.t, "Bomb Leaf", by, person)
	leaf.above = nil
	out["cms, a chain of 400"] = signedBy(m, leaf, certs, nil)

	// As many as fit in a certificate that is read.
	var names []string
	for i := range 8_000 {
		names = append(names, fmt.Sprintf("h%d.example.org", i))
	}
	bound := certify(m.t, "Bomb Constraints", root, both(authority, func(c *x509.Certificate) {
		c.PermittedDNSDomains, c.PermittedDNSDomainsCritical = names, true
	}))
	leaf = certify(m.t, "Bomb Names", bound, both(person, func(c *x509.Certificate) { c.DNSNames = names }))
	out["cms, names and constraints"] = signedBy(m, leaf, nil, nil)

	b := signedBy(m, signer, nil, nil)
	for range 12 {
		b = []byte(base64.StdEncoding.EncodeToString(b))
	}
	out["base64 in base64"] = b
	nested := []byte(contractText)
	for range 14 {
		nested = signedBytes(m, signer, append(nested, bytes.Repeat([]byte{' '}, 400<<10)...))
	}
	out["p7m in p7m"] = nested
}

// largeIssuers is signed by forty, each of whom any of n authorities with large
// keys may have issued.
func largeIssuers(m *materials, n, bits int, e *big.Int) []byte {
	var certs [][]byte
	for range n {
		certs = append(certs, rsaCertificate(m, "Bomb Issuer", bits, e, nil))
	}
	leaf := certify(m.t, "Bomb Leaf", certify(m.t, "Bomb Issuer", nil, authority), person)
	leaf.above = nil
	return manySigners(m, leaf, 40, bits, certs)
}

// TestLargeIssuers: H4 of the security review, which cost 13 s of processor
// after the caller had hung up, over HTTP.
func TestLargeIssuers(t *testing.T) {
	m := &materials{t: t, service: &shared}
	b := largeIssuers(m, 24, 16384, big.NewInt(65537))
	before := cpu(t, m.process)
	v := m.overHTTP(t, specimen{name: "H4", data: b})
	used := cpu(t, m.process) - before
	t.Logf("%d bytes, %d signatures, %v of processor", len(b), len(v.Signatures), used)
	if used > 5*yardstick.Second() || v.OverallVerified || len(v.Signatures) != 41 {
		t.Errorf("%v of processor, %d signatures, valid %v", used, len(v.Signatures), v.OverallVerified)
	}
}

func signedBytes(m *materials, p *party, content []byte) []byte {
	o := rogito.Options{SignParams: ades.SignParams{Certificate: p.Certificate, Time: m.pki.Now()}, Format: ades.CAdES}
	var out bytes.Buffer
	if _, err := rogito.Sign(m.t.Context(), rogito.Input{Files: []ades.File{{Name: "letter", Source: bytes.NewReader(content)}}}, &out, p.Key, o); err != nil {
		m.t.Fatal(err)
	}
	return out.Bytes()
}

// manySigners is a p7m with many signers. Each has a certificate that claims to
// be signed with RSA by the issuer of the first, of whom there are many.
func manySigners(m *materials, p *party, n, bits int, certs [][]byte) []byte {
	m.t.Helper()
	sd, err := cms.Parse(bytes.NewReader(signedBy(m, p, certs, nil)))
	if err != nil {
		m.t.Fatal(err)
	}
	ecdsa := []byte{0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02}
	rsa := []byte{0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b, 0x05, 0x00}
	for i := range n {
		q := certifyKey(m.t, fmt.Sprintf("Bomb Sign%02d", i), p.Key, nil, person) // as long as the issuer's name
		var c struct {
			TBS, Alg asn1.RawValue
			Sig      asn1.BitString
		}
		if _, err := asn1.Unmarshal(q.Certificate.Raw, &c); err != nil {
			m.t.Fatal(err)
		}
		tbs := bytes.Replace(c.TBS.Bytes, q.Certificate.RawIssuer, p.Certificate.RawIssuer, 1)
		c.TBS = asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Replace(tbs, ecdsa, rsa, 1)}
		c.Alg = asn1.RawValue{FullBytes: rsa}
		value := make([]byte, bits/8)
		_, _ = rand.Read(value[1:])
		c.Sig = asn1.BitString{Bytes: value, BitLength: 8 * len(value)}
		raw, err := asn1.Marshal(c)
		if err != nil {
			m.t.Fatal(err)
		}
		sd.AddCertificates(raw)
		one, err := cms.Parse(bytes.NewReader(signedBytes(m, q, []byte(contractText))))
		if err != nil {
			m.t.Fatal(err)
		}
		si, err := cms.ParseSignerInfo(bytes.Replace(one.SignerInfos[0].Raw, q.Certificate.RawIssuer, p.Certificate.RawIssuer, 1))
		if err != nil {
			m.t.Fatal(err)
		}
		sd.SignerInfos = append(sd.SignerInfos, si)
	}
	b, err := sd.Bytes()
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// xmlBombs: references, signatures and expressions that each ask for all.
func xmlBombs(m *materials, out map[string][]byte) {
	sum := sha256.Sum256(nil)
	digest := base64.StdEncoding.EncodeToString(sum[:])
	signature := func(refs string) string {
		return `<ds:Signature xmlns:ds="` + dsNS + `"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"/>` +
			refs + `</ds:SignedInfo><ds:SignatureValue>AAAA</ds:SignatureValue></ds:Signature>`
	}
	big := `<big Id="b">` + strings.Repeat("<a b='c'>text</a>", 100_000) + `</big>`
	one := func(uri, transforms string) string { return reference(ref{uri, "", transforms}, digest) }
	out["xml, a large element by many references"] = []byte("<doc>" + big + signature(strings.Repeat(one("#b", c14nTransform), 900)) + "</doc>")
	out["xml, many signatures over all"] = []byte("<doc>" + big + strings.Repeat(signature(one("", envelopedTransform+c14nTransform)), 900) + "</doc>")
	out["xml, a chain of transforms"] = []byte("<doc>" + big + signature(strings.Repeat(one("#b", strings.Repeat(c14nTransform, 8)), 50)) + "</doc>")
	for name, path := range map[string]string{
		"every pair": "//*[//a]", "ancestors": "//a[ancestor::*//a]", "unions": strings.TrimSuffix(strings.Repeat("//a|", 100), "|"), "positions": "//a[position()=last()]", "following": "//a/following::a",
	} {
		out["xml, an XPath of "+name] = []byte("<doc>" + big + signature(strings.Repeat(one("", filter2("subtract", path)+c14nTransform), 200)) + "</doc>")
		out["xml, a free XPath of "+name] = []byte("<doc>" + big + signature(strings.Repeat(one("", xpathTransform(path)+c14nTransform), 200)) + "</doc>")
	}
	var spaces strings.Builder
	for i := range 900 {
		fmt.Fprintf(&spaces, ` xmlns:n%d="urn:%d"`, i, i)
	}
	out["xml, namespaces"] = []byte("<doc" + spaces.String() + ">" + strings.Repeat(`<a Id="x"/>`, 1) + strings.Repeat("<b/>", 200_000) + signature(strings.Repeat(one("#x", `<ds:Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>`), 900)) + "</doc>")
	out["xml, deep"] = []byte("<doc" + spaces.String() + ">" + strings.Repeat("<a>", 900) + strings.Repeat("<b/>", 100_000) + strings.Repeat("</a>", 900) + signature(strings.Repeat(one("", envelopedTransform+c14nTransform), 900)) + "</doc>")
	var values strings.Builder
	for i := range 900 {
		fmt.Fprintf(&values, "n%d:x ", i)
	}
	whole := signature(one("", envelopedTransform+c14nTransform))
	out["xml, prefixes in values"] = []byte("<doc" + spaces.String() + ">" + strings.Repeat("<b>"+values.String()+"</b>", 2000) + whole + "</doc>")
	out["xml, prefixes in values, deep"] = []byte("<doc" + spaces.String() + ">" + strings.Repeat("<a>", 900) + strings.Repeat("<c><b>n1:x</b></c>", 200_000) + strings.Repeat("</a>", 900) + whole + "</doc>")
	out["xml, names of keys"] = []byte("<doc>" + strings.Replace(signature(one("", envelopedTransform)), "</ds:Signature>", "<ds:KeyInfo>"+strings.Repeat("<ds:KeyName>CN=A, O=B, C=IT</ds:KeyName>", 200_000)+"</ds:KeyInfo></ds:Signature>", 1) + "</doc>")
	out["xml, marks of PDF"] = []byte("<doc>" + strings.Repeat("<p>%PDF- startxref 1 0 obj</p>", 200_000) + strings.Repeat(signature(one("", envelopedTransform+c14nTransform)), 100) + "</doc>")
	var ids strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&ids, `<a Id="i%d"/>`, i)
	}
	out["xml, many identifiers"] = []byte("<doc>" + ids.String() + strings.Repeat(signature(one("#i7", c14nTransform)), 900) + "</doc>")
}

// pdfBombs: filters, revisions, signatures, and lists in the security store.
func pdfBombs(m *materials, out map[string][]byte) {
	signed := m.signOne("contract.pdf", pdf(), nil)
	list := hugeCRL(m, bombRoot, 300_000)
	store := func(dict string, streams ...string) []byte {
		u := pdfUpdateOf(signed)
		refs, lines := "", ""
		for i, s := range streams {
			at := u.object(50+i, 0, content(dict, s))
			refs += fmt.Sprintf("%d 0 R ", 50+i)
			lines += line(at, 0, 'n')
		}
		at := u.object(50+len(streams), 0, "<</Type/DSS/CRLs["+strings.Repeat(refs, 200/len(streams))+"]/OCSPs["+refs+"]/Certs["+refs+"]>>")
		cat := u.object(1, 0, fmt.Sprintf("<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R/DSS %d 0 R>>", 50+len(streams)))
		u.size = 60 + len(streams)
		u.table(fmt.Sprintf("1 1\n%s50 %d\n%s%s", line(cat, 0, 'n'), len(streams)+1, lines, line(at, 0, 'n')))
		return slices.Concat(signed, u.Bytes())
	}
	var z bytes.Buffer
	w, _ := flate.NewWriter(&z, flate.BestSpeed)
	_, _ = w.Write(list)
	w.Close()
	out["pdf, a huge list"] = store("", string(list))
	out["pdf, a huge list, packed"] = store("/Filter/FlateDecode", "\x78\x01"+z.String()+"\x00\x00\x00\x00")
	// Filters in filters: each layer deflates what the next one deflated.
	cascade := repeated("", "\x00", 64<<20)
	for range 3 {
		cascade = repeated(cascade, "\x00", 0)
	}
	out["pdf, filters in filters"] = store("/Filter[/FlateDecode/FlateDecode/FlateDecode/FlateDecode]", cascade, cascade, cascade)
	var l bytes.Buffer
	lw := lzw.NewWriter(&l, lzw.MSB, 8)
	_, _ = lw.Write(make([]byte, 32<<20))
	lw.Close()
	out["pdf, LZW"] = store("/Filter/LZWDecode/DecodeParms<</EarlyChange 0>>", l.String(), l.String())
	run := strings.Repeat("\x81\x00", 1<<20)
	out["pdf, run lengths"] = store("/Filter/RunLengthDecode", run+"\x80", run+"\x80")
	asc := make([]byte, ascii85.MaxEncodedLen(1<<20))
	asc = asc[:ascii85.Encode(asc, make([]byte, 1<<20))]
	out["pdf, text filters"] = store("/Filter[/ASCIIHexDecode/ASCII85Decode]", hex.EncodeToString([]byte(string(asc)+"~>"))+">")
	out["pdf, predictor"] = store("/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 60000000/Colors 4/BitsPerComponent 16>>", repeated("", "\x02", 60<<20))

	// Thousands of revisions, and of fields that claim to be signed.
	b := bytes.Clone(signed)
	for i := range 3000 {
		u := pdfUpdateOf(b)
		at := u.object(13, 0, fmt.Sprintf("<</Title(Contract %d)>>", i))
		u.table("13 1\n" + line(at, 0, 'n'))
		b = append(b, u.Bytes()...)
	}
	out["pdf, 3,000 revisions"] = b
	b = bytes.Clone(signed)
	for i := range 1500 {
		u := pdfUpdateOf(b)
		at := u.object(8, 0, content("/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</Helv 5 0 R>>>>", fmt.Sprintf("/Tx BMC BT /Helv 12 Tf 0 g 2 5 Td (%d) Tj ET EMC", i)))
		u.table("8 1\n" + line(at, 0, 'n'))
		b = append(b, u.Bytes()...)
	}
	out["pdf, 1,500 revisions of a field"] = b
	u := pdfUpdateOf(signed)
	fields, lines := "", ""
	const n = 3000
	sig := u.object(50, 0, "<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached/ByteRange[0 100 200 1000]/Contents<"+strings.Repeat("30", 500)+">>>")
	for i := range n {
		at := u.object(51+i, 0, fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(s%d)/V 50 0 R/Rect[0 0 0 0]>>", i))
		fields += fmt.Sprintf("%d 0 R ", 51+i)
		lines += line(at, 0, 'n')
	}
	form := u.object(6, 0, "<</Fields[7 0 R 9 0 R "+fields+"]/SigFlags 3>>")
	u.size = 60 + n
	u.table(fmt.Sprintf("6 1\n%s50 %d\n%s%s", line(form, 0, 'n'), n+1, line(sig, 0, 'n'), lines))
	out["pdf, 3,000 signatures"] = slices.Concat(signed, u.Bytes())
	// A page whose content and appearances cost to follow.
	heavy := strings.Repeat("q 1 0 0 1 0 0 cm BT /F1 8 Tf 1 1 Td (x) Tj ET Q ", 200_000)
	u = pdfUpdateOf(signed)
	at := u.object(8, 0, content("/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</F1 5 0 R>>>>", heavy))
	val := u.object(7, 0, "<</Type/Annot/Subtype/Widget/FT/Tx/T(amount)/V(900)/DA(/Helv 12 Tf 0 g)/Rect[20 100 120 120]/F 4/P 3 0 R/AP<</N 8 0 R>>>>")
	u.table("7 2\n" + line(val, 0, 'n') + line(at, 0, 'n'))
	out["pdf, an appearance of a million operators"] = slices.Concat(signed, u.Bytes())
}

// They are made once: the lists take their time.
var (
	madeBombs sync.Once
	everyBomb map[string][]byte
	bombRoot  *party // of their signers, which is trusted
)

func allBombs(m *materials) map[string][]byte {
	madeBombs.Do(func() {
		out := map[string][]byte{}
		everyBomb = out
		bombRoot = certify(m.t, "Bomb Root", nil, authority)
		for name, b := range bombs(m) {
			out[name] = b
		}
		zipBombs(m, out)
		cmsBombs(m, out)
		xmlBombs(m, out)
		pdfBombs(m, out)
		formBombs(m, out)
		out["cms, a huge list to be fetched"] = fetchedList(m)
	})
	return everyBomb
}

// fetchedList is signed with a certificate whose list has to be fetched from a
// server of the forger: it never ends.
func fetchedList(m *materials) []byte {
	signer := certify(m.t, "Bomb Signer", bombRoot, both(person, func(c *x509.Certificate) {
		c.CRLDistributionPoints = []string{"http://" + m.address + "/bomb/list.crl", "http://" + m.address + "/bomb/other.crl"}
		c.OCSPServer = []string{"http://" + m.address + "/bomb/ocsp"}
		c.IssuingCertificateURL = []string{"http://" + m.address + "/bomb/ca.crt"}
	}))
	signer.above = nil
	return signedBy(m, signer, nil, nil)
}

// serveBombs answers under /bomb/ with a revocation list whose entries do not
// end before half a gigabyte.
func serveBombs(next http.Handler) http.Handler {
	entry := append([]byte{0x30, 0x20, 0x02, 0x0f}, bytes.Repeat([]byte{1}, 15)...)
	entry = append(append(entry, 0x17, 0x0d), "260101000000Z"...)
	block := bytes.Repeat(entry, 30_000)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/bomb/") {
			next.ServeHTTP(w, r)
			return
		}
		_, _ = w.Write([]byte{0x30, 0x84, 0x20, 0, 0, 0, 0x30, 0x84, 0x1f, 0, 0, 0, 0x02, 0x01, 0x01})
		for range 512 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
}
