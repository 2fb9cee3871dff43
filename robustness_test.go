package rogito_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/trust"
)

// Bounds on hostile input (docs/reliability.md), of a whole process that verifies one file.
const (
	evilCPU    = 5 // seconds of the yardstick
	evilMemory = 512 << 20
)

// evilResult is what a process says of the file that it was given.
type evilResult struct {
	Error      string
	Valid      bool
	Signatures int
	Messages   string
	Peak       int64 // bytes of memory; 0 where the system does not tell
}

// TestEvil gives each file to a process of its own, whose CPU time and memory
// the system measures: neither depends on what else the machine does.
func TestEvil(t *testing.T) {
	await.All(t)
	if file := os.Getenv("ROGITO_EVIL"); file != "" {
		evilChild(t, file)
		return
	}
	await.All(t)
	for _, c := range []struct {
		name string
		make func(t *testing.T) []byte
		says string // in what is reported
	}{
		{"100,000 signers", manySigners, "signerInfos: too many"},
		{"1,000 signers with certificates and lists that fit each other", cartesian, "more certificates and revocation data"},
		{"a maze of cross-certificates", maze, ""},
		{"a revocation list of 60 MB", bigList, ""},
		{"100,000 elements deep", deepXML, ""},
		{"entities in entities", entityBomb, ""},
		{"a PDF that inflates", pdfBomb, ""},
		{"a container that inflates", zipBomb, ""},
		{"ASN.1 all the way down", func(*testing.T) []byte { return bytes.Repeat([]byte{0x30, 0x80}, 8<<20) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "evil")
			if err := os.WriteFile(file, c.make(t), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0], "-test.run", "^TestEvil$")
			cmd.Env = append(os.Environ(), "ROGITO_EVIL="+file)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %.2000s", err, out)
			}
			var r evilResult
			b, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			t.Logf("%v of CPU, %d MB", cpu.Round(time.Millisecond), r.Peak>>20)
			if cpu > evilCPU*yardstick.Second() {
				t.Errorf("took %v of CPU", cpu)
			}
			if r.Peak > evilMemory {
				t.Errorf("took %d MB", r.Peak>>20)
			}
			if r.Error != "" || r.Valid || !strings.Contains(r.Messages, c.says) {
				t.Errorf("valid %v, error %q, %d signatures, reported %.400s", r.Valid, r.Error, r.Signatures, r.Messages)
			}
		})
	}
}

func evilChild(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out evilResult
	r, err := (&rogito.Verifier{Trust: new(trust.Store), CPU: time.Hour}).Verify(context.Background(), bytes.NewReader(b), rogito.VerifyOptions{Recursive: true})
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Valid, out.Signatures = r.Valid(), len(r.Conclusions.Signatures)
		for _, m := range r.Conclusions.Messages {
			out.Messages += m.Text + "\n"
		}
		for _, n := range r.Facts.Notes {
			out.Messages += n.Text + "\n"
		}
		if _, err := r.View(false, "en"); err != nil {
			t.Fatal(err)
		}
	}
	out.Peak = peak()
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".json", text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// peak is the most memory that this process ever had, by the system's count.
// (The usage that its parent is told would include the parent's own.)
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// parts takes a SignedData in DER apart.
type parts struct {
	Version      int
	Digests      asn1.RawValue
	Content      asn1.RawValue
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	CRLs         asn1.RawValue `asn1:"optional,tag:1"`
	Signers      asn1.RawValue
}

type contentInfo struct {
	Type asn1.ObjectIdentifier
	Data asn1.RawValue `asn1:"tag:0"`
}

// rebuild changes the parts of a SignedData.
func rebuild(t *testing.T, doc []byte, change func(*parts)) []byte {
	t.Helper()
	var ci contentInfo
	var p parts
	if _, err := asn1.Unmarshal(doc, &ci); err != nil {
		t.Fatal(err)
	}
	if _, err := asn1.Unmarshal(ci.Data.Bytes, &p); err != nil {
		t.Fatal(err)
	}
	change(&p)
	var err error
	var inner []byte
	if inner, err = asn1.Marshal(p); err != nil {
		t.Fatal(err)
	}
	ci.Data = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: inner}
	out, err := asn1.Marshal(ci)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func set(tag int, body []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, IsCompound: true, Bytes: body}
}

func signers(body []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: body}
}

func manySigners(t *testing.T) []byte {
	doc := newStage(t).sign("cades", "p256", ades.LevelB, 0)
	return rebuild(t, doc, func(p *parts) { p.Signers = signers(bytes.Repeat(p.Signers.Bytes, 100_000)) })
}

// authorityOf makes a root of its own with a key.
func authorityOf(t *testing.T, name, curve string) ca.Issuer {
	t.Helper()
	key, err := ca.NewKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert, err := ca.Root(ca.Request{Subject: ca.Name{Country: "IT", CommonName: name}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(9, 0, 0)}, key)
	if err != nil {
		t.Fatal(err)
	}
	return ca.Issuer{Certificate: cert, Key: key}
}

// cartesian: each of 1,000 signers has a certificate of its own, and each of
// 2,000 lists speaks of them all.
func cartesian(t *testing.T) []byte {
	s := newStage(t)
	a := s.pki.Actor(t, "p256")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, nil)
	by := authorityOf(t, "Cartesian", "P-256")
	now := time.Now()
	certs, infos := crowd(t, doc, a, 1000, by)
	var lists bytes.Buffer
	for i := range 2000 {
		l, err := by.CRL(ca.List{Number: big.NewInt(int64(i + 1)), ThisUpdate: now.Add(-time.Duration(i) * time.Minute), NextUpdate: now.AddDate(0, 1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		lists.Write(l)
	}
	return rebuild(t, doc, func(p *parts) {
		p.Certificates, p.CRLs, p.Signers = set(0, append(certs, by.Certificate.Raw...)), set(1, lists.Bytes()), signers(infos)
	})
}

// signerInfo takes over the signer info of a document for another certificate
// with the same key; the signed reference then names the old one.
func signerInfo(t *testing.T, doc []byte, c *x509.Certificate) []byte {
	t.Helper()
	var out []byte
	rebuild(t, doc, func(p *parts) {
		var si struct {
			Version int
			ID      struct {
				Issuer asn1.RawValue
				Serial *big.Int
			}
		}
		body := p.Signers.Bytes
		var whole asn1.RawValue
		if _, err := asn1.Unmarshal(body, &whole); err != nil {
			t.Fatal(err)
		}
		rest, err := asn1.Unmarshal(whole.Bytes, &si.Version)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err = asn1.Unmarshal(rest, &si.ID); err != nil {
			t.Fatal(err)
		}
		si.ID.Issuer, si.ID.Serial = asn1.RawValue{FullBytes: c.RawIssuer}, c.SerialNumber
		version, _ := asn1.Marshal(si.Version)
		id, err := asn1.Marshal(si.ID)
		if err != nil {
			t.Fatal(err)
		}
		out, err = asn1.Marshal(asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSequence, IsCompound: true, Bytes: append(append(version, id...), rest...)})
		if err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// crowd is the certificates of n signers who share the key of an actor, issued
// by each authority in turn, and what each of them has signed.
func crowd(t *testing.T, doc []byte, a *adestest.Actor, n int, by ...ca.Issuer) (certs, infos []byte) {
	t.Helper()
	now := time.Now()
	for i := range n {
		c, err := by[i%len(by)].Signer(ca.Request{
			Subject: ca.Name{Country: "IT", CommonName: fmt.Sprint("Signer ", i)}, PublicKey: a.Key.Public(),
			NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		certs = append(certs, c.Raw...)
		infos = append(infos, signerInfo(t, doc, c)...)
	}
	return certs, infos
}

// maze: authorities that share a name, each certified by all the others, on a
// slow curve, and signers below them.
func maze(t *testing.T) []byte {
	s := newStage(t)
	a := s.pki.Actor(t, "p256")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, nil)
	var all []ca.Issuer
	for range 20 {
		all = append(all, authorityOf(t, "Minotaur", "P-521"))
	}
	now := time.Now()
	certs, infos := crowd(t, doc, a, 500, all...)
	for _, by := range all {
		for _, of := range all {
			c, err := by.Authority(ca.Request{
				Subject: ca.Name{Country: "IT", CommonName: "Minotaur"}, PublicKey: of.Key.Public(),
				NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
			}, -1)
			if err != nil {
				t.Fatal(err)
			}
			certs = append(certs, c.Raw...)
		}
	}
	return rebuild(t, doc, func(p *parts) { p.Certificates, p.Signers = set(0, certs), signers(infos) })
}

// bigList is a list with two million entries, as some states publish them.
func bigList(t *testing.T) []byte {
	s := newStage(t)
	a := s.pki.Actor(t, "crl")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, nil)
	by := authorityOf(t, "Big", "P-256")
	list := longList(t, by, 1_900_000)
	if len(list) < 60<<20 {
		t.Fatalf("the list has %d bytes only", len(list))
	}
	certs, infos := crowd(t, doc, a, 20, by)
	return rebuild(t, doc, func(p *parts) {
		p.Certificates, p.CRLs, p.Signers = set(0, append(certs, by.Certificate.Raw...)), set(1, list), signers(infos)
	})
}

// longList signs a list whose entries are copies of one, each with a serial number
// of its own: to have each of millions encoded takes ten seconds of processor.
func longList(t *testing.T, by ca.Issuer, entries int) []byte {
	t.Helper()
	const first = 1 << 40
	now := time.Now()
	short, err := by.CRL(ca.List{
		Number: big.NewInt(1), ThisUpdate: now, NextUpdate: now.AddDate(0, 1, 0),
		Revoked: []ca.Revoked{{Serial: big.NewInt(first), At: now, Reason: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		TBS struct {
			Version          int
			Algorithm        asn1.RawValue
			Issuer           asn1.RawValue
			This, Next       asn1.RawValue
			Revoked, Explain asn1.RawValue
		}
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(short, &list); err != nil {
		t.Fatal(err)
	}
	entry := list.TBS.Revoked.Bytes
	serial := bytes.Index(entry, []byte{2, 6, 1, 0, 0, 0, 0, 0})
	if serial < 0 {
		t.Fatal("the entry has no serial number")
	}
	all := make([]byte, 0, entries*len(entry))
	for i := range entries {
		all = append(all, entry...)
		binary.BigEndian.PutUint32(all[len(all)-len(entry)+serial+4:], uint32(i))
	}
	list.TBS.Revoked.Bytes, list.TBS.Revoked.FullBytes = all, nil
	tbs, err := asn1.Marshal(list.TBS)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(tbs)
	value, err := by.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	list.Signature = asn1.BitString{Bytes: value, BitLength: 8 * len(value)}
	der, err := asn1.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// The long list is one like any other: its signature holds, and its entries
// are told apart.
func TestLongList(t *testing.T) {
	by := authorityOf(t, "Big", "P-256")
	list, err := x509.ParseRevocationList(longList(t, by, 1000))
	if err != nil {
		t.Fatal(err)
	}
	if err := list.CheckSignatureFrom(by.Certificate); err != nil {
		t.Error(err)
	}
	for i, e := range list.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(big.NewInt(1<<40+int64(i))) != 0 || e.ReasonCode != 1 {
			t.Fatalf("entry %d: %v, %d", i, e.SerialNumber, e.ReasonCode)
		}
	}
	if n := len(list.RevokedCertificateEntries); n != 1000 {
		t.Errorf("%d entries", n)
	}
}

func deepXML(t *testing.T) []byte {
	signed := newStage(t).sign("xades", "p256", ades.LevelB, 0)
	inner := signed[bytes.Index(signed, []byte("<doc")):]
	const n = 100_000
	return []byte(strings.Repeat(`<a xmlns:b="urn:b">`, n) + string(inner) + strings.Repeat("</a>", n))
}

func entityBomb(*testing.T) []byte {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY e0 \"ha\">")
	for i := range 30 {
		fmt.Fprintf(&b, `<!ENTITY e%d "&e%d;&e%d;&e%d;&e%d;">`, i+1, i, i, i, i)
	}
	b.WriteString(`]><a xmlns:ds="http://www.w3.org/2000/09/xmldsig#">&e30;<ds:Signature/></a>`)
	return []byte(b.String())
}

// deflated is so many zeros, packed.
func deflated(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pdfBomb keeps its catalogue in object streams that inflate without end.
func pdfBomb(t *testing.T) []byte {
	var again bytes.Buffer
	w := zlib.NewWriter(&again)
	if _, err := w.Write(deflated(t, 1<<30)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	single := deflated(t, 120<<20)
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n% /Type /Sig /ByteRange\n")
	for i := range 40 {
		stream, filter := single, "/FlateDecode"
		if i%2 == 1 {
			stream, filter = again.Bytes(), "[/FlateDecode /FlateDecode]"
		}
		fmt.Fprintf(&b, "%d 0 obj\n<< /Type /ObjStm /N 100 /First 800 /Length %d /Filter %s >>\nstream\n", i+1, len(stream), filter)
		b.Write(stream)
		b.WriteString("\nendstream\nendobj\n")
	}
	b.WriteString("trailer\n<< /Size 100 /Root 50 0 R >>\nstartxref\n0\n%%EOF\n")
	return b.Bytes()
}

func zipBomb(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	put := func(name string, method uint16, size int) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		for range size >> 20 {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w, err := z.CreateHeader(&zip.FileHeader{Name: "mimetype", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "application/vnd.etsi.asic-e+zip"); err != nil {
		t.Fatal(err)
	}
	put("a.bin", zip.Deflate, 1<<30)
	put("META-INF/signatures.xml", zip.Deflate, 600<<20)
	put("META-INF/signature.p7s", zip.Deflate, 600<<20)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
