package interop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/server/servertest"
	"rogito.dev/rogito/test/providers/fake"
)

// madeLists is a folder with a list of lists and an Italian list on which the
// authority of our cast issues qualified certificates, and the PEM of who signs it.
func madeLists(t *testing.T) (folder, anchors string) {
	t.Helper()
	const eu, it = "https://ec.europa.eu/tools/lotl/eu-lotl.xml", "https://lists.example/it.xml"
	folder = t.TempDir()
	operator, national := pki.Actor(t, "good"), pki.Actor(t, "second")
	now := time.Now()
	put := func(url string, l adestest.List, signer *adestest.Actor) {
		b, err := l.XML(signer)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, special.ReplaceAllString(url, "_")), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(eu, adestest.List{Territory: "EU", LOTL: true, Sequence: 1, Issued: now.AddDate(0, -1, 0), Next: now.AddDate(0, 5, 0), Pointers: []adestest.ListPointer{
		{URL: eu, Territory: "EU", LOTL: true, Signers: []*x509.Certificate{operator.Certificate}},
		{URL: it, Territory: "IT", Signers: []*x509.Certificate{national.Certificate}},
	}}, operator)
	granted := func(uses ...string) []adestest.ListStatus {
		return []adestest.ListStatus{{Status: "granted", From: now.AddDate(-5, 0, 0), Uses: uses}}
	}
	put(it, adestest.List{Territory: "IT", Sequence: 3, Issued: now.AddDate(0, -2, 0), Next: now.AddDate(0, 5, 0), Services: []adestest.ListService{
		{Type: "CA/QC", Name: "CA", Identity: pki.Issuing, Statuses: granted("ForeSignatures", "ForeSeals")},
		{Type: "TSA/QTST", Name: "TSA", Identity: pki.Unit.Certificate, Statuses: granted()},
	}}, national)
	return folder, write(t, "journal.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: operator.Certificate.Raw}))
}

// atProvider is the real server, to which a caller brings the provider's own username.
type atProvider struct {
	url, token string
	device     *fake.Device
	p          *fake.Service
}

func newAtProvider(t *testing.T, kind, actor, of string) *atProvider {
	t.Helper()
	p := fake.StartOf(kind, pki, nil)
	t.Cleanup(p.Close)
	d, err := p.Add(actor, of)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := servertest.Address()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	config := fmt.Sprintf("network: {allow_private: [127.0.0.1]}\ntrust: {anchors: [%q]}\nsigning:\n  timestamp_url: %s\n  providers:\n    far: {kind: %s, url: %q, ca: %q, store_credentials: false}\n",
		rootPEM, pki.TSA(), kind, p.URL(), write(t, "ca.pem", p.CA()))
	if kind == fake.ARSS {
		config = strings.Replace(config, "kind: arss", "kind: arss, domain: "+fake.Domain, 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, servertest.Binary(t), "serve", "--listen", addr, "--data", data, "--config", write(t, "rogito.yaml", []byte(config)))
	c.Env = append(os.Environ(), "ROGITO_TRUST_LISTS=false", "ROGITO_LIMITS_RESERVE=-1")
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("the server said: %s", said.String()[max(0, said.Len()-3000):])
		}
	})
	ready, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	if err := servertest.Ready(ready, "http://"+addr); err != nil {
		t.Fatal(err)
	}
	var box struct{ Token string }
	b, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(b, &box)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &atProvider{"http://" + addr, box.Token, d, p}
}

func (a *atProvider) call(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, a.url+path, bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v %.500s", method, path, resp.StatusCode, err, out)
	}
	return out
}

// signed is a document that the provider's key signed, and the name of its file.
func (a *atProvider) signed(t *testing.T, kind string, docs any, format string, options map[string]any) ([]byte, string) {
	t.Helper()
	body := map[string]any{"inputDocuments": docs, "certificateUsername": a.device.Name, "certificatePassword": a.device.Password, "options": options}
	if format != "" {
		body["signatureType"] = format
	}
	if kind == "otp" {
		body["certificateOtp"], body["certificateIdOtp"] = a.p.Code(a.device.Name), -1
	}
	var r struct {
		Data struct {
			ID, State    string
			ErrorMessage string
			Document     struct {
				SignedDocument struct{ Extension string }
			}
		}
	}
	text := a.call(t, "POST", "/EU-QES_"+kind, body)
	if err := json.Unmarshal(text, &r); err != nil || r.Data.State != "DONE" {
		t.Fatalf("%v %s %s", err, r.Data.State, r.Data.ErrorMessage)
	}
	return a.call(t, "GET", "/signatures/"+r.Data.ID+"/signedDocument", nil), "signed." + r.Data.Document.SignedDocument.Extension
}

// What keys at both providers sign is qualified in DSS's eyes with a list that has
// their authority, in every format and at every level.
func TestProvidersQualified(t *testing.T) {
	shared(t)
	folder, anchors := madeLists(t)
	b := &listBench{}
	b.startDSS(t, folder, anchors)
	contract, err := os.ReadFile(filepath.Join("..", "..", "sample", "contract.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	text, xml, sheet := []byte("Contratto n. 1\n"), []byte("<a><b>1</b></a>"), []byte(`{"a":1}`)
	sum := sha256.Sum256(text)
	counts := map[string]int{}
	for _, kind := range []string{fake.ARSS, fake.SWS} {
		for _, of := range []struct{ kind, actor, want string }{{"automatic", "good", "QESIG"}, {"otp", "both-usages", "QESIG"}} {
			a := newAtProvider(t, kind, of.actor, of.kind)
			for _, c := range []struct {
				name, format string
				doc          []byte
				options      map[string]any
				detached     []byte
			}{
				{"PDF", "pades", contract, nil, nil},
				{"p7m", "cades", text, nil, nil},
				{"p7s", "cades", text, map[string]any{"packaging": "detached"}, text},
				{"XML, enveloped", "xades", xml, nil, nil},
				{"XML, enveloping", "xades", text, map[string]any{"packaging": "enveloping"}, nil},
				{"XML, detached", "xades", text, map[string]any{"packaging": "detached"}, text},
				{"XML, beside", "xades", xml, map[string]any{"packaging": "internally-detached"}, nil},
				{"ASiC-S, CAdES", "cades", text, map[string]any{"packaging": "asic-s"}, nil},
				{"ASiC-E, CAdES", "cades", text, map[string]any{"packaging": "asic-e"}, nil},
				{"ASiC-S, XAdES", "xades", text, map[string]any{"packaging": "asic-s"}, nil},
				{"ASiC-E, XAdES", "xades", text, map[string]any{"packaging": "asic-e"}, nil},
				{"JSON", "jades", sheet, nil, nil},
				{"JSON, general", "jades", sheet, map[string]any{"serialization": "general"}, nil},
				{"a digest", "", sum[:], nil, text},
			} {
				for _, level := range []string{"B", "T", "LT", "LTA", "LTV"} {
					switch {
					case level == "LTV" && c.format != "pades", of.kind == "otp" && level != "LTA":
						continue
					case level == "LTA" && c.name == "a digest": // an archive time-stamp is over the document
						continue
					}
					t.Run(fmt.Sprint(kind, " ", of.kind, " ", c.name, " ", level), func(t *testing.T) {
						options := map[string]any{"level": level}
						for k, v := range c.options {
							options[k] = v
						}
						doc, name := a.signed(t, of.kind, []string{base64.StdEncoding.EncodeToString(c.doc)}, c.format, options)
						var detached []string
						if c.detached != nil {
							detached = []string{write(t, "document.txt", c.detached)}
						}
						got := b.ask(t, write(t, name, doc), time.Now().Add(time.Minute), detached)
						if len(got) != 1 || got[0].Indication != "TOTAL_PASSED" || got[0].Qualification != of.want {
							t.Errorf("DSS says %v", got)
						}
						counts[kind]++
					})
				}
			}
			for _, c := range a.p.Complaints() {
				t.Errorf("%s complains: %s", kind, c)
			}
		}
	}
	t.Logf("judged by DSS: %v", counts)
}
