package trust_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// both is an authority whose certificates name an OCSP responder and a list; a
// test breaks either.
type both struct {
	root, issuing ca.Issuer
	leaf          *x509.Certificate
	ocsp, list    func(w http.ResponseWriter, r *http.Request) bool // true: it has answered, badly
}

func newBoth(t *testing.T) *both {
	t.Helper()
	b := &both{}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	now := time.Now()
	key := func() ca.Issuer {
		k, err := ca.NewKey("P-256")
		if err != nil {
			t.Fatal(err)
		}
		return ca.Issuer{Key: k}
	}
	var err error
	b.root, b.issuing = key(), key()
	leaf := key()
	if b.root.Certificate, err = ca.Root(ca.Request{Subject: ca.Name{Country: "IT", CommonName: "Root"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(9, 0, 0)}, b.root.Key); err != nil {
		t.Fatal(err)
	}
	request := func(cn, by string, pub any) ca.Request {
		return ca.Request{
			Subject: ca.Name{Country: "IT", CommonName: cn}, PublicKey: pub, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(5, 0, 0),
			OCSP: srv.URL + "/ocsp/" + by, CRL: srv.URL + "/crl/" + by, IssuerCertificate: srv.URL + "/ca/" + by,
		}
	}
	if b.issuing.Certificate, err = b.root.Authority(request("Issuing", "root", b.issuing.Key.Public()), 0); err != nil {
		t.Fatal(err)
	}
	if b.leaf, err = b.issuing.Signer(request("Holder", "issuing", leaf.Key.Public()), nil); err != nil {
		t.Fatal(err)
	}
	by := map[string]*ca.Issuer{"root": &b.root, "issuing": &b.issuing}
	mux.HandleFunc("POST /ocsp/{by}", func(w http.ResponseWriter, r *http.Request) {
		if b.ocsp != nil && b.ocsp(w, r) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		req, err := ca.ParseOCSPRequest(body)
		if err != nil {
			t.Error(err)
			return
		}
		out, err := by[r.PathValue("by")].Answer(req, ca.OCSP{ThisUpdate: now, NextUpdate: now.Add(time.Hour), ProducedAt: now}, func(ca.CertID) ca.Status { return ca.Status{} })
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(out)
	})
	mux.HandleFunc("GET /crl/{by}", func(w http.ResponseWriter, r *http.Request) {
		if b.list != nil && b.list(w, r) {
			return
		}
		out, err := by[r.PathValue("by")].CRL(ca.List{Number: big.NewInt(1), ThisUpdate: now, NextUpdate: now.Add(time.Hour)})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(out)
	})
	mux.HandleFunc("GET /ca/{by}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(by[r.PathValue("by")].Certificate.Raw)
	})
	return b
}

func (b *both) store(t *testing.T) *trust.Store {
	t.Helper()
	s := &trust.Store{Client: http.DefaultClient, FetchTimeout: time.Second}
	if err := s.AddAnchor(b.root.Certificate.Raw); err != nil {
		t.Fatal(err)
	}
	return s
}

// Ways in which a service does not help.
var broken = map[string]func(w http.ResponseWriter, r *http.Request) bool{
	"refuses": func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	},
	"not there": func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true },
	"page": func(w http.ResponseWriter, _ *http.Request) bool {
		io.WriteString(w, "<html>maintenance</html>")
		return true
	},
	"empty":     func(http.ResponseWriter, *http.Request) bool { return true },
	"try later": func(w http.ResponseWriter, _ *http.Request) bool { w.Write(ca.Unsuccessful(3)); return true },
	"slow": func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
		return true
	},
	"hangs up": func(w http.ResponseWriter, _ *http.Request) bool {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close()
		}
		return true
	},
}

// With OCSP down the list serves, with the list down OCSP does: for a verdict,
// and for a level LT, which then carries data for every certificate but the
// anchor. That is checked by other parsers than ours.
func TestFallback(t *testing.T) {
	for name, bad := range broken {
		for _, down := range []string{"OCSP", "CRL"} {
			t.Run(down+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBoth(t)
				if down == "OCSP" {
					b.ocsp = bad
				} else {
					b.list = bad
				}
				if got := judge(b.store(t), b.leaf.Raw, nil, time.Now(), policy.Default()); got.Indication != report.Passed {
					t.Errorf("%s %s %v", got.Indication, got.SubIndication, got.Messages)
				}
				g := &trust.Gatherer{Store: b.store(t)}
				bundle, err := g.Gather(context.Background(), [][]byte{b.leaf.Raw}, ades.Bundle{})
				if err != nil {
					t.Fatal(err)
				}
				b.covered(t, bundle)
				if down == "OCSP" && (len(bundle.OCSPs) != 0 || len(bundle.CRLs) != 2) || down == "CRL" && (len(bundle.OCSPs) != 2 || len(bundle.CRLs) != 0) {
					t.Errorf("%d OCSP, %d lists", len(bundle.OCSPs), len(bundle.CRLs))
				}
			})
		}
	}
}

// With both down nothing is valid, and what is missing is named.
func TestNoFallbackLeft(t *testing.T) {
	b := newBoth(t)
	b.ocsp, b.list = broken["refuses"], broken["refuses"]
	if got := judge(b.store(t), b.leaf.Raw, nil, time.Now(), policy.Default()); got.Indication != report.Indeterminate {
		t.Errorf("%s %s", got.Indication, got.SubIndication)
	}
	_, err := (&trust.Gatherer{Store: b.store(t)}).Gather(context.Background(), [][]byte{b.leaf.Raw}, ades.Bundle{})
	var missing *ades.MissingError
	if !errors.As(err, &missing) || len(missing.Missing) != 2 {
		t.Errorf("%v", err)
	}
	for _, m := range missing.Missing {
		if m.Lacks != "revocation data" || !strings.Contains(m.Reason, "500") {
			t.Errorf("%+v", m)
		}
	}
}

// covered: crypto/x509 and x/crypto/ocsp find good revocation data in the
// bundle for every certificate but the anchor.
func (b *both) covered(t *testing.T, bundle ades.Bundle) {
	t.Helper()
	for _, c := range []struct{ cert, by *x509.Certificate }{{b.leaf, b.issuing.Certificate}, {b.issuing.Certificate, b.root.Certificate}} {
		found := false
		for _, raw := range bundle.OCSPs {
			r, err := ocsp.ParseResponseForCert(raw, c.cert, nil)
			if err == nil && r.CheckSignatureFrom(c.by) == nil && r.Status == ocsp.Good {
				found = true
			}
		}
		for _, raw := range bundle.CRLs {
			if l, err := x509.ParseRevocationList(raw); err == nil && l.CheckSignatureFrom(c.by) == nil {
				found = true
			}
		}
		if !found {
			t.Errorf("nothing for %s", c.cert.Subject.CommonName)
		}
	}
	if len(bundle.Certificates) < 3 {
		t.Errorf("%d certificates", len(bundle.Certificates))
	}
}
