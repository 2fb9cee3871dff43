package trust_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// network is a client that a test can break.
type network struct {
	next    http.RoundTripper
	refuse  string // addresses with this part do not answer
	answer  []byte // in place of every answer
	fetched atomic.Int64
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.fetched.Add(1)
	if n.refuse != "" && strings.Contains(r.URL.Path, n.refuse) {
		return nil, errors.New("connection refused")
	}
	if n.answer != nil {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(n.answer)), Request: r}, nil
	}
	return n.next.RoundTrip(r)
}

func world(t *testing.T) (*adestest.PKI, *network, *trust.Store) {
	pki := adestest.Must(t, time.Now)
	n := &network{next: pki.HTTP().Transport}
	store := &trust.Store{Client: &http.Client{Transport: n}}
	if err := store.AddAnchor(pki.Root.Raw); err != nil {
		t.Fatal(err)
	}
	return pki, n, store
}

func TestFetchesOnce(t *testing.T) {
	pki, n, store := world(t)
	leaf := pki.Actor(t, "p256").Certificate.Raw
	for range 3 {
		if got := judge(store, leaf, nil, time.Now(), policy.Default()); got.Indication != report.Passed {
			t.Fatalf("%s %s %v", got.Indication, got.SubIndication, got.Messages)
		}
	}
	if k := n.fetched.Load(); k > 4 {
		t.Errorf("%d fetches for one certificate", k)
	}
}

func TestNetworkDown(t *testing.T) {
	pki, n, store := world(t)
	leaf := pki.Actor(t, "p256").Certificate.Raw
	n.refuse = "/ocsp"
	got := judge(store, leaf, nil, time.Now(), policy.Default())
	if got.SubIndication != report.CertificateChainGeneral {
		t.Errorf("without OCSP: %s %s", got.Indication, got.SubIndication)
	}
	n.refuse = "/"
	got = judge(new(trust.Store), leaf, nil, time.Now(), policy.Default())
	if got.SubIndication != report.NoCertificateChainFound {
		t.Errorf("without anything: %s %s", got.Indication, got.SubIndication)
	}
}

func TestHostileAnswers(t *testing.T) {
	for name, answer := range map[string][]byte{
		"nothing": {}, "text": []byte("<html>"), "deep": bytes.Repeat([]byte{0x30, 0x80}, 1000), "large": make([]byte, 2<<20),
	} {
		pki, n, store := world(t)
		n.answer = answer
		if got := judge(store, pki.Actor(t, "p256").Certificate.Raw, nil, time.Now(), policy.Default()); got.Indication == report.Passed {
			t.Errorf("%s: passes", name)
		}
	}
}

func TestGathererNamesWhatIsMissing(t *testing.T) {
	pki, n, store := world(t)
	g := &trust.Gatherer{Store: store}
	a := pki.Actor(t, "p256")
	got, err := g.Gather(context.Background(), [][]byte{a.Certificate.Raw}, ades.Bundle{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Certificates) < 3 || len(got.OCSPs) == 0 || len(got.CRLs) == 0 {
		t.Errorf("%d certificates, %d OCSP responses, %d lists", len(got.Certificates), len(got.OCSPs), len(got.CRLs))
	}
	n.refuse = "/ocsp"
	store.Cache = new(trust.Cache)
	_, err = g.Gather(context.Background(), [][]byte{pki.Actor(t, "p384").Certificate.Raw}, ades.Bundle{})
	var missing *ades.MissingError
	if !errors.As(err, &missing) || len(missing.Missing) != 1 || missing.Missing[0].Lacks != "revocation data" || !strings.Contains(missing.Missing[0].Subject, "p384") {
		t.Errorf("OCSP down: %v", err)
	}
	_, err = g.Gather(context.Background(), [][]byte{pki.Actor(t, "no-revocation").Certificate.Raw}, ades.Bundle{})
	if !errors.As(err, &missing) {
		t.Errorf("no revocation service: %v", err)
	}
}
