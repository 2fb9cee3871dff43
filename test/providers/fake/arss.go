package fake

import (
	"crypto/x509"
	"fmt"
	"slices"
)

// auth is who calls, in the order of the schema.
var auth = form{
	{"delegated_domain", nil},
	{"delegated_password", nil},
	{"delegated_user", nil},
	{"ext_auth_blobvalue", nil},
	{"ext_auth_value", nil},
	{"ext_authtype", nil},
	{"otpPwd", nil},
	{"typeHSM", nil},
	{"typeOtpAuth", nil},
	{"user", nil},
	{"userPWD", nil},
}

var arssForms = map[string]form{
	"listCert":       {{"Identity", auth}},
	"signhash":       {{"SignHashRequest!", form{{"certID", nil}, {"hash", nil}, {"hashtype", nil}, {"identity", auth}, {"requirecert!", nil}, {"session_id", nil}}}},
	"opensession":    {{"Identity", auth}},
	"closesession":   {{"Identity", auth}, {"sessionid", nil}},
	"sendCredential": {{"Identity", auth}, {"type", nil}},
	"verifyOtp":      {{"Identity", auth}},
	"ping":           {},
	"getVersion":     {},
}

func (s *Service) forms() map[string]form {
	if s.Kind == ARSS {
		return arssForms
	}
	return swsForms
}

// digests are those that a call has signed.
func (s *Service) digests(c *call) (all [][]byte) {
	switch c.op {
	case "signhash":
		return [][]byte{c.body.kid("SignHashRequest").kid("hash").bytes()}
	case "signPkcs1":
		return [][]byte{c.body.kid("hash").bytes()}
	case "signPkcs1List":
		for _, h := range c.body.all("hashList") {
			all = append(all, h.bytes())
		}
	}
	return all
}

func returns(kids ...field) *answer { return &answer{fields: []field{{name: "return", kids: kids}}} }

func text(s string) *answer { return &answer{fields: []field{{name: "return", text: s}}} }

// code is an ARSS answer with a return code.
func code(number, words string) *answer {
	status := "KO"
	if number == "0000" {
		status = "OK"
	}
	return returns(field{name: "description", text: words}, field{name: "return_code", text: number}, field{name: "status", text: status})
}

// identified finds the device that an identity may use, and else says with which
// code it is refused. The code of a person is looked at where the call uses one up.
func (s *Service) identified(id *node, uses bool) (*Device, string, string) {
	d := s.devices[id.kid("user").text]
	if d == nil {
		return nil, "0003", "Invalid User Credentials"
	}
	if id.kid("typeOtpAuth").text != Domain {
		s.complain("typeOtpAuth is %q", id.kid("typeOtpAuth").text)
		return nil, "0002", "Parametri non validi"
	}
	if hsm := id.kid("typeHSM").text; hsm != "" && hsm != "COSIGN" {
		s.complain("typeHSM is %q", hsm)
	}
	switch {
	case d.Delegate != "":
		if id.has("userPWD") {
			s.complain("a delegate sends userPWD")
		}
		if id.kid("delegated_user").text != d.Delegate || id.kid("delegated_password").text != d.DelegatePassword || id.kid("delegated_domain").text != Domain {
			return nil, "0009", "Credenziali del delegato non valide"
		}
	case id.kid("userPWD").text != d.Password:
		return nil, "0003", "Invalid User Credentials"
	}
	if uses {
		otp := id.kid("otpPwd").text
		if !d.OTP && otp != "dsign" || d.OTP && !d.takeCode(otp) {
			return nil, "0003", "Invalid User Credentials"
		}
	}
	return d, "", ""
}

func (s *Service) arss(c *call) *answer {
	b := c.body
	switch c.op {
	case "ping":
		return text("OK")
	case "getVersion":
		return text("2.6.1")
	case "listCert":
		d, number, words := s.identified(b.kid("Identity"), false)
		if d == nil {
			_ = number
			return returns(field{name: "description", text: words}, field{name: "status", text: "KO"})
		}
		return returns(field{name: "app1", kids: []field{{name: "id", text: "AS0"}, {name: "value", binary: d.Actor.Certificate.Raw}}}, field{name: "description", text: "OK"}, field{name: "status", text: "OK"})
	case "opensession":
		d, number, _ := s.identified(b.kid("Identity"), true)
		if d == nil {
			return text("KO-" + number)
		}
		id := "sess-" + random(8)
		s.sessions[id] = d.Name
		return text(id)
	case "closesession":
		id := b.kid("sessionid").text
		if s.sessions[id] == "" {
			return text("KO-0001")
		}
		delete(s.sessions, id)
		return text("OK")
	case "sendCredential":
		d, number, words := s.identified(b.kid("Identity"), false)
		if d == nil {
			return code(number, words)
		}
		if !slices.Contains([]string{"SMS", "ARUBACALL", "CNS2", "PAPERTOKEN"}, b.kid("type").text) {
			s.complain("the type of a credential is %q", b.kid("type").text)
		}
		s.codesSent = append(s.codesSent, d.Name)
		return code("0000", "OK")
	case "signhash":
		return s.signHash(b.kid("SignHashRequest"))
	}
	return fault("Client", "Cannot find dispatch method for "+c.op, 0, "")
}

func (s *Service) signHash(r *node) *answer {
	session := r.kid("session_id").text
	d, number, words := s.identified(r.kid("identity"), session == "")
	if d == nil {
		return code(number, words)
	}
	if session != "" && s.sessions[session] != d.Name {
		return code("0001", "Sessione scaduta")
	}
	if id := r.kid("certID").text; id != "AS0" {
		s.complain("certID is %q", id)
		return code("0002", "certID sconosciuto")
	}
	hash, ok := hashes[r.kid("hashtype").text]
	digest := r.kid("hash").bytes()
	if !ok || !s.Bare && len(digest) != hash.Size() {
		s.complain("%d bytes of %s", len(digest), r.kid("hashtype").text)
		return code("0002", "hash non valido")
	}
	if d.Actor.Certificate.NotAfter.Before(s.PKI.Now()) {
		return code("0008", "Certificato scaduto")
	}
	v, err := s.value(d, hash, digest)
	if err != nil {
		return code("0001", err.Error())
	}
	out := []field{{name: "certID", text: "AS0"}, {name: "description", text: "OK"}, {name: "return_code", text: "0000"}, {name: "signature", binary: v}, {name: "status", text: "OK"}}
	if r.kid("requirecert").text == "true" {
		out = append([]field{{name: "cert", binary: d.Actor.Certificate.Raw}}, out...)
	}
	return returns(out...)
}

// Authentication makes a certificate for logging in beside the one for signing:
// a device lists both.
func (s *Service) authentication() (*x509.Certificate, error) {
	a, err := s.PKI.Enter("wrong-usage")
	if err != nil {
		return nil, fmt.Errorf("fake: %w", err)
	}
	return a.Certificate, nil
}
