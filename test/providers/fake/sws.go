package fake

import (
	"fmt"
	"slices"
	"strconv"
)

// credentials in the order of the schema.
var credentials = form{{"idOtp", nil}, {"otp", nil}, {"password", nil}, {"securityCode", nil}, {"sessionKey", nil}, {"username", nil}}

var preferences = form{
	{"filenameInTSD", nil},
	{"outputAsPDF", nil},
	{"outputAsTSD", nil},
	{"outputBase64Encoded", nil},
	{"timestampHashAlgo", nil},
	{"timestampPassword", nil},
	{"timestampUrl", nil},
	{"timestampUsername", nil},
	{"hashAlgorithm", nil},
	{"level", nil},
	{"signType", nil},
	{"withTimestamp", nil},
}

var swsForms = map[string]form{
	"getCertificate": {{"credentials", credentials}},
	"signPkcs1":      {{"credentials", credentials}, {"hash", nil}, {"preferences", preferences}},
	"signPkcs1List":  {{"credentials", credentials}, {"hashList*", nil}, {"preferences", preferences}},
	"getOTPList":     {{"credentials", credentials}},
	"sendOtpBySMS":   {{"credentials", credentials}},
	"sendOtpByPUSH":  {{"credentials", credentials}, {"title", nil}, {"body", nil}},
	"openSession":    {{"credentials", credentials}},
	"closeSession":   {{"credentials", credentials}},
	"getErrors":      {{"lang", nil}, {"errorCode", nil}},
	"healthCheck":    {},

	"getRemainingTimeForSession": {{"credentials", credentials}},
	"checkPassword":              {{"credentials", credentials}},
	"checkOTP":                   {{"credentials", credentials}},
}

func no(number int, words string) *answer { return fault("Server", words, number, words) }

// known finds the device by name and password.
func (s *Service) known(c *node) (*Device, *answer) {
	d := s.devices[c.kid("username").text]
	if d == nil || c.kid("password").text != d.Password {
		return nil, no(4, "Wrong username or password")
	}
	return d, nil
}

// allowed says whether a call may use the key: by a code, by a session, or by the
// password alone.
func (s *Service) allowed(c *node, d *Device) *answer {
	if key := c.kid("sessionKey").text; key != "" {
		if s.sessions[key] != d.Name {
			return no(69, "Session expired")
		}
		if d.busy > 0 {
			s.complain("two calls at once under one session")
			return no(1, "Generic error")
		}
		return nil
	}
	if !d.OTP {
		if c.has("otp") {
			s.complain("a code for an automatic device")
		}
		return nil
	}
	id, err := strconv.Atoi(c.kid("idOtp").text)
	if id < 0 {
		s.complain("idOtp is %d", id)
	}
	switch {
	case err != nil || !slices.Contains(d.IDs, id):
		return no(1001, "OTP device not found")
	case !d.takeCode(c.kid("otp").text):
		return no(44, "Wrong OTP")
	}
	return nil
}

func (s *Service) sws(c *call) *answer {
	if c.op == "healthCheck" {
		return returns(field{name: "globalStatus", text: "OK"}, field{name: "serviceChecks", kids: []field{{name: "name", text: "HSM"}, {name: "status", text: "OK"}}})
	}
	if c.op == "getErrors" {
		return returns(field{name: "errorCode", text: "4"}, field{name: "errorLanguage", text: "it"}, field{name: "errorText", text: "Credenziali errate"})
	}
	cred := c.body.kid("credentials")
	if c.op == "closeSession" {
		key := cred.kid("sessionKey").text
		if s.sessions[key] == "" || s.sessions[key] != cred.kid("username").text {
			return no(69, "Session expired")
		}
		delete(s.sessions, key)
		return &answer{}
	}
	d, refused := s.known(cred)
	if refused != nil {
		return refused
	}
	switch c.op {
	case "getCertificate":
		return &answer{fields: []field{{name: "return", binary: d.Actor.Certificate.Raw}}}
	case "checkPassword":
		return &answer{}
	case "getOTPList":
		a := &answer{}
		for i, id := range d.IDs {
			a.fields = append(a.fields, field{name: "return", kids: []field{
				{name: "idOtp", text: fmt.Sprint(id)}, {name: "serialNumber", text: fmt.Sprintf("39333*****%02d", i)}, {name: "type", text: []string{"SMS", "OTP GENERATOR", "OTP PUSH"}[i%3]},
			}})
		}
		return a
	case "sendOtpBySMS", "sendOtpByPUSH":
		if id, err := strconv.Atoi(cred.kid("idOtp").text); err != nil || !slices.Contains(d.IDs, id) {
			return no(1001, "OTP device not found")
		}
		s.codesSent = append(s.codesSent, d.Name)
		return &answer{}
	case "openSession":
		if !d.OTP {
			return no(1, "Session not available for this device")
		}
		if refused := s.allowed(cred, d); refused != nil {
			return refused
		}
		key := "key-" + random(8)
		s.sessions[key] = d.Name
		return text(key)
	case "signPkcs1", "signPkcs1List":
		return s.signList(c, cred, d)
	}
	return no(1, "Generic error")
}

func (s *Service) signList(c *call, cred *node, d *Device) *answer {
	if refused := s.allowed(cred, d); refused != nil {
		return refused
	}
	if cred.kid("sessionKey").text != "" {
		d.busy++
		defer func() { d.busy-- }()
	}
	list := s.digests(c)
	hash, ok := hashes[c.body.kid("preferences").kid("hashAlgorithm").text]
	if !ok || len(list) == 0 {
		s.complain("%d digests of %q", len(list), c.body.kid("preferences").kid("hashAlgorithm").text)
		return no(1, "Generic error")
	}
	if len(list) > 100 {
		s.complain("%d digests at once", len(list))
	}
	a := &answer{}
	for _, digest := range list {
		if !s.Bare && len(digest) != hash.Size() {
			s.complain("%d bytes of %v", len(digest), hash)
			return no(1, "Generic error")
		}
		v, err := s.value(d, hash, digest)
		if err != nil {
			return no(1, err.Error())
		}
		a.fields = append(a.fields, field{name: "return", binary: v})
	}
	return a
}
