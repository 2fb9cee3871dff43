package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/client"
)

// The Go client against the real binary.
func TestGoClient(t *testing.T) {
	t.Parallel()
	base, box := running(t)
	c := client.New(base, box.Token)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deliveries := make(chan *client.Delivery, 8)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := client.ReadCallback(r, box.WebhookSecret)
		if err != nil {
			t.Errorf("a callback: %v", err)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		deliveries <- d
	}))
	defer receiver.Close()
	credentials := box.Certificates["automatic"]
	request := client.SignRequest{
		Documents: []client.Document{client.File(filepath.Join("..", "..", "sample", "contract.pdf"))},
		Username:  credentials.Username, Password: credentials.Password, Title: "from Go",
		Options:  client.Options{AsyncSignature: true, Level: "B"},
		Callback: &client.Callback{URL: receiver.URL + "/hook", Method: "POST", Custom: map[string]any{"from": "Go"}},
	}
	asked, err := c.Sign(ctx, client.Automatic, request)
	if err != nil || asked.State != client.WaitSign {
		t.Fatalf("%+v %v", asked, err)
	}
	record, err := c.Wait(ctx, asked.ID)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := c.Download(ctx, record.ID, &file); err != nil || int64(file.Len()) != record.Document.SignedDocument.Size {
		t.Errorf("%d bytes, %v", file.Len(), err)
	}
	verdict, err := c.Verify(ctx, client.VerifyRequest{Document: client.Bytes("signed.pdf", file.Bytes())})
	if err != nil || !verdict.OverallVerified || len(verdict.Signatures) != 1 || verdict.Message == "" {
		t.Errorf("%+v %v", verdict, err)
	}
	select {
	case d := <-deliveries:
		told, err := d.Signature()
		if err != nil || told.ID != record.ID || string(d.Custom) != `{"from":"Go"}` {
			t.Errorf("%+v %s %v", told, d.Custom, err)
		}
	case <-ctx.Done():
		t.Error("no callback came")
	}
	testGoRest(ctx, t, c, request)
}

// testGoRest tries what the first signature did not need.
func testGoRest(ctx context.Context, t *testing.T, c *client.Client, request client.SignRequest) {
	t.Helper()
	request.Callback, request.Options.AsyncSignature, request.Password = nil, false, "wrong"
	var failed *client.SignError
	if _, err := c.Sign(ctx, client.Automatic, request); !errors.As(err, &failed) || failed.Number != 110 {
		t.Errorf("a wrong password: %v", err)
	}
	var no *client.Error
	if _, err := c.Signature(ctx, strings.Repeat("0", 24)); !errors.As(err, &no) || no.Code != 140 || no.Status != 404 || no.RequestID == "" {
		t.Errorf("no record: %v", err)
	}
	ids := map[string]bool{}
	for s, err := range c.Signatures(ctx, client.Done) {
		if err != nil || s.State != client.Done || ids[s.ID] {
			t.Fatalf("%+v %v", s, err)
		}
		ids[s.ID] = true
	}
	if len(ids) == 0 {
		t.Error("no signature is listed")
	}
	for id := range ids {
		var pdf bytes.Buffer
		if err := c.AuditPDF(ctx, id, &pdf); err != nil || !bytes.HasPrefix(pdf.Bytes(), []byte("%PDF-")) {
			t.Errorf("audit: %v", err)
		}
		break
	}
	order, err := c.Buy(ctx, client.Automatic, client.Order{Owner: "Ada Rossi", Subject: client.Subject{GivenName: "Ada", Surname: "Rossi"}})
	if err != nil || order.Link == "" || order.State != "NEW" {
		t.Fatalf("%+v %v", order, err)
	}
	if gone, err := c.Cancel(ctx, order.ID); err != nil || gone.State != "CANCELLED" {
		t.Errorf("%+v %v", gone, err)
	}
	if q, err := c.Quotation(ctx, client.Place{Latitude: 38.6, Longitude: 17.6}); err != nil || q == nil || q.OMIZone == "" || len(q.Values) == 0 {
		t.Errorf("on the sample's island: %+v %v", q, err)
	}
	if q, err := c.Quotation(ctx, client.Place{Latitude: 38, Longitude: 17}); err != nil || q != nil {
		t.Errorf("in the open sea: %+v %v", q, err)
	}
	if e, err := c.Estimate(ctx, client.Property{Zone: "Z999/B1", Surface: 85}); err != nil || e == nil || e.Sale == nil || e.Sale.Min != 178500 || e.Yield == nil {
		t.Errorf("an estimate: %+v %v", e, err)
	}
	if e, err := c.Estimate(ctx, client.Property{Latitude: 38, Longitude: 17, Surface: 85}); err != nil || e != nil {
		t.Errorf("an estimate in the open sea: %+v %v", e, err)
	}
}

// The types of the Go client have the members that the document gives them.
func TestGoClientFollowsTheDocument(t *testing.T) {
	b, err := os.ReadFile(fetched(t, "/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"SignatureOptions": client.Options{}, "SignerImage": client.SignerImage{}, "CallbackTarget": client.Callback{}, "SignatureRecord": client.Record{},
		"Signer": client.Signer{}, "SignatureDocument": client.RecordDocument{}, "SignatureFile": client.RecordFile{}, "SignatureSummary": client.Summary{},
		"OrderBody": client.Order{}, "Attributes": client.Subject{}, "Quotation": client.Quotation{}, "LatLng": client.LatLng{}, "ZoneDetails": client.QuotationZone{},
		"Valuation": client.QuotationValue{}, "PriceRange": client.PriceRange{}, "PolygonRings": client.Polygon{}, "CertificateSummary": client.Certificate{},
		"PropertyEstimate": client.Estimate{}, "YieldRange": client.Yield{},
	} {
		want := slices.Sorted(maps.Keys(doc.Components.Schemas[name].Properties))
		if name == "CertificateSummary" { // one type has what lists and details show
			want = append(want, "issuerDN", "notAfter", "notBefore", "serialNumber", "subjectDN")
			slices.Sort(want)
		}
		if got := members(reflect.TypeOf(v)); !slices.Equal(got, want) {
			t.Errorf("%s: the client has %v, the document %v", name, got, want)
		}
	}
}

func members(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
