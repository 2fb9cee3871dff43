package sitetest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/crypto/ocsp"
	"rogito.dev/rogito/server"
)

// Confirming reads from a page what the holder is asked to confirm.
func Confirming(page string) url.Values {
	_, rest, _ := strings.Cut(page, `name="shown" value="`)
	shown, _, _ := strings.Cut(rest, `"`)
	return url.Values{"action": {"confirm"}, "shown": {shown}}
}

type Bought struct{ ID, State, CertificateLink string }

func (s *Site) Buy(kind string, more M) Bought {
	s.T.Helper()
	body := M{"certificateOwner": "Elsa Prova"}
	maps.Copy(body, more)
	a := s.Do("POST", "/certificates/namirial-"+kind, body)
	var b Bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		s.T.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
	}
	return b
}

// Upload posts files to a page.
func (s *Site) Upload(link, action string, files map[string][]byte) (int, string) {
	s.T.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("action", action)
	for name, data := range files {
		f, err := w.CreateFormFile(name, name+".bin")
		if err != nil {
			s.T.Fatal(err)
		}
		_, _ = f.Write(data)
	}
	w.Close()
	resp, err := s.Browser().Post(link, w.FormDataContentType(), &b)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	page, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(page)
}

func (s *Site) CertificateState(id string) string {
	s.T.Helper()
	var c struct{ State string }
	if err := json.Unmarshal(s.Do("GET", "/certificates/"+id, nil).Data, &c); err != nil {
		s.T.Fatal(err)
	}
	return c.State
}

// Statement downloads the document that the holder of an order signs.
func (s *Site) Statement(link string) []byte {
	s.T.Helper()
	resp, err := s.Browser().Get(link + "/statement.pdf")
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/pdf" {
		s.T.Fatalf("statement: %d %s", resp.StatusCode, b)
	}
	return b
}

// Covered is a document with another text over it, as an update.
func Covered(t *testing.T, doc []byte) []byte {
	t.Helper()
	start := bytes.LastIndex(doc, []byte("startxref"))
	var prev, size int
	if _, err := fmt.Sscanf(string(doc[start:]), "startxref\n%d", &prev); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(doc[bytes.LastIndex(doc, []byte("/Size")):]), "/Size %d", &size); err != nil {
		t.Fatal(err)
	}
	content := "BT /F 20 Tf 40 500 Td (I have won a bicycle) Tj ET"
	b := bytes.Clone(doc)
	at := len(b)
	b = fmt.Appendf(b, "6 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", len(content), content)
	xref := len(b)
	return fmt.Appendf(b, "xref\n6 1\n%010d 00000 n \ntrailer\n<< /Size %d /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n", at, size, prev, xref)
}

// Reviewer is an administrator of another account.
func (s *Site) Reviewer() []string {
	s.T.Helper()
	made, err := s.OpenServer().CreateAccount(context.Background(), "reviewer@example.org", true)
	if err != nil {
		s.T.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + made.Token}
}

// BuyWaiting is an order whose evidence waits.
func (s *Site) BuyWaiting(more M) Bought {
	s.T.Helper()
	o := s.Buy("automatic", more)
	if code, page := s.Upload(o.CertificateLink, "video", EvidenceFiles); code != 200 {
		s.T.Fatalf("%d %s", code, page)
	}
	return o
}

// Revocation asks as a client does: the reason by OCSP, nil where the certificate
// is not revoked, and whether the list has it.
func (s *Site) Revocation(srv *server.Server, id string) (reason *int, listed bool) {
	s.T.Helper()
	var der []byte
	if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select certificate from certificates where id = $1`, id).Scan(&der); err != nil {
		s.T.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.T.Fatal(err)
	}
	issuer := srv.Parts().Authority.Chain()[0]
	req, err := ocsp.CreateRequest(cert, issuer, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	resp, err := http.Post(s.URL+"/pki/ocsp", "application/ocsp-request", bytes.NewReader(req))
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	answer, err := ocsp.ParseResponse(b, issuer)
	if err != nil {
		s.T.Fatal(err)
	}
	if answer.Status == ocsp.Revoked {
		reason = &answer.RevocationReason
	}
	_, crl := Get(s.T, s.URL+"/pki/ca.crl")
	list, err := x509.ParseRevocationList([]byte(crl))
	if err != nil {
		s.T.Fatal(err)
	}
	for _, e := range list.RevokedCertificateEntries {
		listed = listed || e.SerialNumber.Cmp(cert.SerialNumber) == 0
	}
	return reason, listed
}

// Issued is a certificate with what its holder was shown.
type Issued struct {
	Bought
	User, Pass, Secret string
}

func (s *Site) Issued(kind string, more M) Issued {
	s.T.Helper()
	c := s.Buy(kind, more)
	u, err := url.Parse(c.CertificateLink)
	if err != nil {
		s.T.Fatal(err)
	}
	page := s.Page(s.URL+u.Path, url.Values{"action": {"approve"}})
	return Issued{c, Element(page, "certificate-username"), Element(page, "certificate-password"), Element(page, "otp-secret")}
}
