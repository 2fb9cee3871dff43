package verification_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
)

// The report of a verification says in the person's language what was verified,
// by what, and is sealed: who changes it breaks the seal.
func TestReportIsSealed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.Sign(b64([]byte("a text"))).ID
	_, signed := s.Raw(http.MethodGet, "/signatures/"+id+"/signedDocument", nil)
	resp, pdf := s.Raw(http.MethodPost, "/verify", m{"inputDocument": b64(signed), "language": "it"}, "Accept", "application/pdf")
	if resp.Status != 200 {
		t.Fatalf("%d %s", resp.Status, pdf)
	}
	verdict := func(b []byte) (v struct {
		OverallVerified     bool
		SignatureReportList []struct {
			SubjectDN           string `json:"signerSubjectDN"`
			SignatureLevel      string
			CoversWholeDocument bool
		}
	},
	) {
		if err := json.Unmarshal(s.Do(http.MethodPost, "/verify", m{"inputDocument": b64(b), "withPlainDocument": false}).Data, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := verdict(pdf)
	if !v.OverallVerified || len(v.SignatureReportList) != 1 || v.SignatureReportList[0].SignatureLevel != "PAdES-BASELINE-B" || !v.SignatureReportList[0].CoversWholeDocument {
		t.Errorf("the seal: %+v", v)
	}
	resp, text := s.Raw(http.MethodPost, "/verify", m{"inputDocument": b64(signed)}, "Accept", "application/jose+json")
	if v := verdict(text); resp.Header.Get("Content-Type") != "application/jose+json" || !v.OverallVerified || len(v.SignatureReportList) != 1 || v.SignatureReportList[0].SignatureLevel != "JAdES-BASELINE-B" {
		t.Errorf("the seal on JSON: %v, %+v", resp.Header, v)
	}
	var jws struct{ Payload string }
	if err := json.Unmarshal(text, &jws); err != nil {
		t.Fatal(err)
	}
	if payload, err := base64.RawURLEncoding.DecodeString(jws.Payload); err != nil || !bytes.Contains(payload, []byte(`"overallVerified":true`)) {
		t.Errorf("what is sealed: %.200s, %v", payload, err)
	}
	if i := bytes.Index(pdf, []byte("/MediaBox")); i < 0 {
		t.Error("no page to change")
	} else if pdf[i+1] ^= 1; verdict(pdf).OverallVerified {
		t.Error("a changed report is valid")
	}
}
