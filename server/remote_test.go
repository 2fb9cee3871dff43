package server

import (
	"encoding/json"
	"testing"
)

// Every format and level with keys at a provider, in both versions of the
// protocol.
func TestRemoteFormats(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		t.Run("v"+version, func(t *testing.T) {
			p := newProvider(t, version)
			s := newSite(t, p.configure("client_credentials"))
			for _, key := range []struct{ kind, credential, pin string }{{"automatic", "rsa", "1234"}, {"otp", "otp", "1234"}, {"eseal", "seal", ""}, {"automatic", "pss", ""}} {
				c := s.remote(key.kind, key.credential, key.pin)
				for _, f := range []struct {
					doc     []byte
					options m
				}{
					{samplePDF, m{"level": "B"}},
					{samplePDF, m{"level": "LTA"}},
					{sampleXML, m{"level": "LT"}},
					{sampleTXT, m{"level": "T"}},
					{sampleTXT, m{"packaging": "asic-e", "level": "LTA"}},
					{sampleTXT, m{"hashAlgorithm": "SHA512"}},
				} {
					more := m{"options": f.options, "certificateOtp": "000111"}
					r := s.signFar(key.kind, c, b64(f.doc), more)
					if r.State != "DONE" {
						t.Errorf("%s %v: %s %d %s", key.credential, f.options, r.State, r.number(), deref(r.ErrorMessage))
						continue
					}
					var v struct{ Indication string }
					a := s.do("POST", "/verify", m{"inputDocument": b64(s.download(r.ID, "signedDocument"))})
					_ = json.Unmarshal(a.Data, &v)
					if v.Indication != "TOTAL-PASSED" {
						t.Errorf("%s %v: %s %s", key.credential, f.options, v.Indication, a.Data)
					}
				}
			}
			if again := p.twice(); len(again) > 0 {
				t.Errorf("sent twice: %v", again)
			}
			s.verifyAudit()
		})
	}
}
