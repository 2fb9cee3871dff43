package server

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/xades"
)

// calledKey signs by calls to the server: whoever may make them can put a signature of
// any format together, whose values the server makes without knowing for what.
type calledKey struct {
	cert *x509.Certificate
	sign func(digest []byte) ([]byte, error)
}

func (k *calledKey) Public() crypto.PublicKey { return k.cert.PublicKey }

func (k *calledKey) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	return k.sign(digest)
}

// A signature over the statement that is put together from values of signing calls is as
// good as any other to a verifier, and proves nobody here: neither for an order nor for a
// new device.
func TestValuesOfSigningCallsProveNobody(t *testing.T) {
	await.All(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
		mine := s.issued("automatic", m{"certificateOwner": "Mario Rossi", "subject": person})
		c := s.csc("v2")
		var chain []*x509.Certificate
		for _, text := range c.must("credentials/info", m{"credentialID": mine.ID, "certificates": "chain"})["cert"].(m)["certificates"].([]any) {
			der, err := base64.StdEncoding.DecodeString(text.(string))
			if err != nil {
				t.Fatal(err)
			}
			cert, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			chain = append(chain, cert)
		}
		algo := c.algoOf(mine.ID)
		ways := map[string]func([]byte) ([]byte, error){
			"a digest": func(digest []byte) ([]byte, error) {
				a := s.do("POST", "/EU-QES_automatic", m{
					"inputDocuments": m{"sourceType": "base64Hash", "payload": b64(digest)}, "signatureType": "pkcs1", "certificateUsername": mine.user, "certificatePassword": mine.pass,
				})
				if r := s.record(a); r.State != "DONE" {
					return nil, errors.New(deref(r.ErrorMessage))
				}
				return s.download(s.record(a).ID, "signedDocument"), nil
			},
			"signHash": func(digest []byte) ([]byte, error) {
				hashes := []string{b64(digest)}
				status, out := c.post("signatures/signHash", c.signBody(mine.ID, c.sad(mine.ID, mine.pass, "", hashes), algo, hashes))
				if status != 200 {
					return nil, fmt.Errorf("%d %v", status, out)
				}
				return base64.StdEncoding.DecodeString(out["signatures"].([]any)[0].(string))
			},
		}
		formats := map[string]func(*rogito.Options){
			"PDF": func(o *rogito.Options) { o.Format = ades.PAdES },
			"p7m": func(o *rogito.Options) { o.Format = ades.CAdES },
			"XML": func(o *rogito.Options) { o.Format, o.XAdES.Packaging = ades.XAdES, xades.Enveloping },
		}
		first := s.issued("otp", m{"certificateOwner": "Mario Rossi", "subject": person})
		var device struct{ CertificateLink string }
		if a := s.do("POST", "/certificates/"+first.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &device) != nil {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		for way, sign := range ways {
			for format, set := range formats {
				o := s.buy("otp", m{"certificateOwner": "Mario Rossi", "subject": person, "identification": "signature"})
				for what, link := range map[string]string{"an order": o.CertificateLink, "a device": device.CertificateLink} {
					s.holder = aBrowser(t)
					options := rogito.Options{}
					options.Certificate, options.Chain, options.Time = chain[0], chain[1:], time.Now()
					set(&options)
					var out bytes.Buffer
					in := rogito.Input{Files: []ades.File{{Name: "statement.pdf", Source: bytes.NewReader(s.statement(link))}}}
					if _, err := rogito.Sign(context.Background(), in, &out, &calledKey{chain[0], sign}, options); err != nil {
						t.Fatalf("%s as %s: %v", way, format, err)
					}
					if r, err := s.rooms().sig.verifier.Verify(t.Context(), bytes.NewReader(out.Bytes()), rogito.VerifyOptions{}); err != nil || !r.Valid() {
						t.Fatalf("%s as %s: not even a signature: %v", way, format, err)
					}
					code, page := s.upload(link, "signature", map[string][]byte{"document": out.Bytes()})
					if code != 422 || element(page, "otp-secret") != "" || s.certificateState(o.ID) != "NEW" {
						t.Errorf("%s by %s, as %s: %d %s", what, way, format, code, s.certificateState(o.ID))
					}
				}
				s.holder = nil
			}
		}

		// The statement by the calls of the Cloud Signature Consortium.
		o := s.buy("otp", m{"certificateOwner": "Mario Rossi", "subject": person, "identification": "signature"})
		st := s.statement(o.CertificateLink)
		d256, d384, d512 := sha256.Sum256(st), sha512.Sum384(st), sha512.Sum512(st)
		for oid, digest := range map[string][]byte{oidSHA256: d256[:], "2.16.840.1.101.3.4.2.2": d384[:], "2.16.840.1.101.3.4.2.3": d512[:]} {
			for _, version := range []string{"v1", "v2"} {
				c, hashes := s.csc(version), []string{b64(digest)}
				names := map[string]string{"v1": "hashAlgo", "v2": "hashAlgorithmOID"}
				body := c.authorize(mine.ID, mine.pass, "", hashes, m{names[version]: oid})
				status, out := c.post("credentials/authorize", body)
				if status == 200 {
					sign := c.signBody(mine.ID, out["SAD"].(string), algo, hashes)
					sign[names[version]] = oid
					if sign["signAlgo"] = "1.2.840.10045.2.1"; version == "v1" {
						sign["signAlgo"] = algo
					}
					status, out = c.post("signatures/signHash", sign)
				}
				if status == 200 || out["signatures"] != nil {
					t.Errorf("signHash %s with %d bytes: %d %v", version, len(digest), status, out)
				}
			}
		}
		hashes := []string{b64(d256[:])}
		for format, packaging := range map[string]string{"P": "Certification", "C": "Attached", "X": "Enveloping"} {
			status, out := c.post("credentials/authorize", c.authorize(mine.ID, mine.pass, "", hashes))
			if status != 200 {
				continue
			}
			status, out = c.post("signatures/signDoc", m{
				"credentialID": mine.ID, "SAD": out["SAD"], "documents": []m{{"document": b64(st), "signature_format": format, "conformance_level": "AdES-B-B", "signed_envelope_property": packaging, "signAlgo": algo}},
			})
			if status == 200 {
				t.Errorf("signDoc %s: %v", format, out)
			}
		}

		// Other ways to write it down.
		stranger := s.outside.Person("Somebody", "Else", "")
		zipped := func(stored bool) []byte {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			h := &zip.FileHeader{Name: "a.pdf", Method: zip.Deflate}
			if stored {
				h.Method = zip.Store
			}
			w, err := z.CreateHeader(h)
			if err == nil {
				_, err = w.Write(st)
			}
			if err = errors.Join(err, z.Close()); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		for name, x := range map[string]struct {
			doc  []byte
			more m
		}{
			"p7m in PEM":             {pem.EncodeToMemory(&pem.Block{Type: "PKCS7", Bytes: stranger.P7M(st)}), m{"signatureType": "cades"}},
			"p7m in p7m":             {stranger.P7M(stranger.P7M(st)), m{"signatureType": "cades"}},
			"as JSON":                {st, m{"signatureType": "jades"}},
			"as JSON, compact":       {st, m{"signatureType": "jades", "options": m{"serialization": "compact"}}},
			"in ASiC-S":              {st, m{"signatureType": "cades", "options": m{"packaging": "asic-s"}}},
			"a PDF with a signature": {stranger.PDF(squeezed(t, st)), nil},
			"counter-signed":         {stranger.P7M(st), m{"signatureType": "cades", "options": m{"counterSignature": true}}},
			"zipped, stored":         {zipped(true), m{"signatureType": "cades"}},
		} {
			body := m{"inputDocuments": b64(x.doc), "certificateUsername": mine.user, "certificatePassword": mine.pass}
			for k, v := range x.more {
				body[k] = v
			}
			if r := s.record(s.do("POST", "/EU-QES_automatic", body)); r.number() != 113 {
				t.Errorf("%s: %s %d %s", name, r.State, r.number(), deref(r.ErrorMessage))
			}
		}
		// What is only carried in an archive is no statement, and none by being signed there.
		r := s.record(s.do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(zipped(false)), "signatureType": "cades", "certificateUsername": mine.user, "certificatePassword": mine.pass}))
		if r.State == "DONE" {
			if code, _ := s.upload(o.CertificateLink, "signature", map[string][]byte{"document": s.download(r.ID, "signedDocument")}); code != 422 {
				t.Errorf("signed in an archive, it identifies: %d", code)
			}
		}
	})
}
