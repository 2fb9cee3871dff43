package people_test

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

// calledKey signs by calls to the server. A caller can put a signature of any format together from
// the values that the server makes without knowing what they are for.
type calledKey struct {
	cert *x509.Certificate
	sign func(digest []byte) ([]byte, error)
}

func (k *calledKey) Public() crypto.PublicKey { return k.cert.PublicKey }

func (k *calledKey) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	return k.sign(digest)
}

// A signature over the statement that is put together from values of signing calls is as good as
// any other to a verifier, and is no proof of identity here: neither for an order nor for a new
// device.
func TestValuesOfSigningCallsProveNobody(t *testing.T) {
	await.All(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
		mine := s.Issued("automatic", m{"certificateOwner": "Mario Rossi", "subject": person})
		c := s.CSC("v2")
		var chain []*x509.Certificate
		for _, text := range c.Must("credentials/info", m{"credentialID": mine.ID, "certificates": "chain"})["cert"].(m)["certificates"].([]any) {
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
		algo := c.AlgoOf(mine.ID)
		ways := map[string]func([]byte) ([]byte, error){
			"a digest": func(digest []byte) ([]byte, error) {
				a := s.Do("POST", "/EU-QES_automatic", m{
					"inputDocuments": m{"sourceType": "base64Hash", "payload": b64(digest)}, "signatureType": "pkcs1", "certificateUsername": mine.User, "certificatePassword": mine.Pass,
				})
				if r := s.Record(a); r.State != "DONE" {
					return nil, errors.New(deref(r.ErrorMessage))
				}
				return s.Download(s.Record(a).ID, "signedDocument"), nil
			},
			"signHash": func(digest []byte) ([]byte, error) {
				hashes := []string{b64(digest)}
				status, out := c.Post("signatures/signHash", c.SignBody(mine.ID, c.SAD(mine.ID, mine.Pass, "", hashes), algo, hashes))
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
		first := s.Issued("otp", m{"certificateOwner": "Mario Rossi", "subject": person})
		var device struct{ CertificateLink string }
		if a := s.Do("POST", "/certificates/"+first.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &device) != nil {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		for way, sign := range ways {
			for format, set := range formats {
				o := s.Buy("otp", m{"certificateOwner": "Mario Rossi", "subject": person, "identification": "signature"})
				for what, link := range map[string]string{"an order": o.CertificateLink, "a device": device.CertificateLink} {
					s.Holder = aBrowser(t)
					options := rogito.Options{}
					options.Certificate, options.Chain, options.Time = chain[0], chain[1:], time.Now()
					set(&options)
					var out bytes.Buffer
					in := rogito.Input{Files: []ades.File{{Name: "statement.pdf", Source: bytes.NewReader(s.Statement(link))}}}
					if _, err := rogito.Sign(context.Background(), in, &out, &calledKey{chain[0], sign}, options); err != nil {
						t.Fatalf("%s as %s: %v", way, format, err)
					}
					if r, err := s.OpenServer().Parts().Verifier.Verify(t.Context(), bytes.NewReader(out.Bytes()), rogito.VerifyOptions{}); err != nil || !r.Valid() {
						t.Fatalf("%s as %s: not even a signature: %v", way, format, err)
					}
					code, page := s.Upload(link, "signature", map[string][]byte{"document": out.Bytes()})
					if code != 422 || element(page, "otp-secret") != "" || s.CertificateState(o.ID) != "NEW" {
						t.Errorf("%s by %s, as %s: %d %s", what, way, format, code, s.CertificateState(o.ID))
					}
				}
				s.Holder = nil
			}
		}

		// The statement by the calls of the Cloud Signature Consortium.
		o := s.Buy("otp", m{"certificateOwner": "Mario Rossi", "subject": person, "identification": "signature"})
		st := s.Statement(o.CertificateLink)
		d256, d384, d512 := sha256.Sum256(st), sha512.Sum384(st), sha512.Sum512(st)
		for oid, digest := range map[string][]byte{oidSHA256: d256[:], "2.16.840.1.101.3.4.2.2": d384[:], "2.16.840.1.101.3.4.2.3": d512[:]} {
			for _, version := range []string{"v1", "v2"} {
				c, hashes := s.CSC(version), []string{b64(digest)}
				names := map[string]string{"v1": "hashAlgo", "v2": "hashAlgorithmOID"}
				body := c.Authorize(mine.ID, mine.Pass, "", hashes, m{names[version]: oid})
				status, out := c.Post("credentials/authorize", body)
				if status == 200 {
					sign := c.SignBody(mine.ID, out["SAD"].(string), algo, hashes)
					sign[names[version]] = oid
					if sign["signAlgo"] = "1.2.840.10045.2.1"; version == "v1" {
						sign["signAlgo"] = algo
					}
					status, out = c.Post("signatures/signHash", sign)
				}
				if status == 200 || out["signatures"] != nil {
					t.Errorf("signHash %s with %d bytes: %d %v", version, len(digest), status, out)
				}
			}
		}
		hashes := []string{b64(d256[:])}
		for format, packaging := range map[string]string{"P": "Certification", "C": "Attached", "X": "Enveloping"} {
			status, out := c.Post("credentials/authorize", c.Authorize(mine.ID, mine.Pass, "", hashes))
			if status != 200 {
				continue
			}
			status, out = c.Post("signatures/signDoc", m{
				"credentialID": mine.ID, "SAD": out["SAD"], "documents": []m{{"document": b64(st), "signature_format": format, "conformance_level": "AdES-B-B", "signed_envelope_property": packaging, "signAlgo": algo}},
			})
			if status == 200 {
				t.Errorf("signDoc %s: %v", format, out)
			}
		}

		// Other ways to write it down.
		stranger := s.Outside.Person("Somebody", "Else", "")
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
			body := m{"inputDocuments": b64(x.doc), "certificateUsername": mine.User, "certificatePassword": mine.Pass}
			for k, v := range x.more {
				body[k] = v
			}
			if r := s.Record(s.Do("POST", "/EU-QES_automatic", body)); r.Number() != 113 {
				t.Errorf("%s: %s %d %s", name, r.State, r.Number(), deref(r.ErrorMessage))
			}
		}
		// What is only carried in an archive is no statement, and none by being signed there.
		r := s.Record(s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(zipped(false)), "signatureType": "cades", "certificateUsername": mine.User, "certificatePassword": mine.Pass}))
		if r.State == "DONE" {
			if code, _ := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": s.Download(r.ID, "signedDocument")}); code != 422 {
				t.Errorf("signed in an archive, it identifies: %d", code)
			}
		}
	})
}
