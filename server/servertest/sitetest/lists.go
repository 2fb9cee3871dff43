package sitetest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/server"
)

// europe publishes a list of trusted lists with countries, on loopback.
type europe struct {
	*httptest.Server
	t     *testing.T
	PKI   *adestest.PKI
	Mu    sync.Mutex
	Files map[string][]byte
}

func NewEurope(t *testing.T, countries ...string) *europe {
	t.Helper()
	e := &europe{t: t, PKI: adestest.Start(t, time.Now), Files: map[string][]byte{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.Mu.Lock()
		defer e.Mu.Unlock()
		b, ok := e.Files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(e.Close)
	operator, national := e.PKI.Actor(t, "good"), e.PKI.Actor(t, "second")
	lotl := adestest.List{Territory: "EU", LOTL: true, Sequence: 1, Issued: time.Now().AddDate(0, -1, 0), Next: time.Now().AddDate(0, 5, 0)}
	lotl.Pointers = append(lotl.Pointers, adestest.ListPointer{URL: e.URL + "/EU", Territory: "EU", LOTL: true, Signers: []*x509.Certificate{operator.Certificate}})
	for _, c := range countries {
		lotl.Pointers = append(lotl.Pointers, adestest.ListPointer{URL: e.URL + "/" + c, Territory: c, Signers: []*x509.Certificate{national.Certificate}})
		e.Country(c, c, time.Now().AddDate(0, 5, 0))
	}
	e.put("/EU", lotl, operator)
	return e
}

// Country publishes a list with the PKI's issuing authority on it.
func (e *europe) Country(path, territory string, next time.Time) {
	e.t.Helper()
	e.put("/"+path, adestest.List{
		Territory: territory, Sequence: 3, Issued: time.Now().AddDate(0, -2, 0), Next: next,
		Services: []adestest.ListService{{Type: "CA/QC", Name: "CA", Identity: e.PKI.Issuing, Statuses: []adestest.ListStatus{
			{Status: "granted", From: time.Now().AddDate(-5, 0, 0), Uses: []string{"ForeSignatures"}},
		}}},
	}, e.PKI.Actor(e.t, "second"))
}

func (e *europe) put(path string, l adestest.List, signer *adestest.Actor) {
	e.t.Helper()
	b, err := l.XML(signer)
	if err != nil {
		e.t.Fatal(err)
	}
	e.Mu.Lock()
	defer e.Mu.Unlock()
	e.Files[path] = b
}

// Configure makes a server use these lists.
func (e *europe) Configure(dir string) func(*server.Config) {
	anchors := WriteFile(e.t, "oj.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.PKI.Actor(e.t, "good").Certificate.Raw}))
	pki := strings.TrimPrefix(e.PKI.URL(""), "http://")
	return func(c *server.Config) {
		c.Data = dir
		c.Trust.Lists, c.Trust.LOTL, c.Trust.LOTLAnchors = true, e.URL+"/EU", anchors
		c.Network.AllowPrivate = append(c.Network.AllowPrivate, strings.TrimPrefix(e.URL, "http://"), pki)
	}
}

// Signed is a document by a signer whose authority is on the lists.
func (e *europe) Signed() []byte {
	e.t.Helper()
	a := e.PKI.Actor(e.t, "p256")
	var out bytes.Buffer
	_, err := rogito.Sign(context.Background(), rogito.File("a.txt", bytes.NewReader(SampleTXT)), &out, a.Key, rogito.Options{Format: ades.CAdES, SignParams: a.Signing(time.Now())})
	if err != nil {
		e.t.Fatal(err)
	}
	return out.Bytes()
}

// Indication of the only signature.
func (s *Site) Indication(doc []byte) string {
	s.T.Helper()
	var v struct {
		OverallVerified bool
		Indication      string
	}
	a := s.Do("POST", "/verify", M{"inputDocument": B64(doc)})
	if err := json.Unmarshal(a.Data, &v); err != nil || v.OverallVerified != (v.Indication == "TOTAL-PASSED") {
		s.T.Fatalf("%d %s: %s", a.Status, a.Message, a.Data)
	}
	return v.Indication
}
