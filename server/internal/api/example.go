package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Example is a body as a client sends it. Its value is anything that is JSON;
// words in it that only a sandbox knows (Words) are filled in when the document
// is served.
type Example struct {
	Name    string
	Summary string
	Value   any
}

func examples(list []Example) map[string]*huma.Example {
	m := map[string]*huma.Example{}
	for _, e := range list {
		m[e.Name] = &huma.Example{Summary: e.Summary, Value: e.Value}
	}
	return m
}

// Words that examples leave open, and what a person reads outside a sandbox.
// Inside one they are those of its test certificates, so that the examples run
// as they are.
const (
	AutomaticUsername = "{automatic.username}"
	AutomaticPassword = "{automatic.password}"
	SealUsername      = "{eseal.username}"
	SealPassword      = "{eseal.password}"
	OTPUsername       = "{otp.username}"
	OTPPassword       = "{otp.password}"
	OTPCode           = "{otp.code}"
)

var outside = map[string]string{
	AutomaticUsername: "AHI0000000000000", AutomaticPassword: "the password of the certificate",
	SealUsername: "SHI0000000000000", SealPassword: "the password of the certificate",
	OTPUsername: "RHI0000000000000", OTPPassword: "the password of the certificate", OTPCode: "000000",
}

// fill puts the words of this server into the document.
func (a *API) fill(doc []byte) []byte {
	words := outside
	if a.opts.Words != nil {
		if w := a.opts.Words(); w != nil {
			words = w
		}
	}
	var pairs []string
	for open, word := range words {
		pairs = append(pairs, open, word)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(doc)))
}
