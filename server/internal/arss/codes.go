package arss

import (
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/soap"
)

// good is the return code of what was done.
const good = "0000"

// codes are the return codes that are known: what they are here, and what they
// mean. After none of them can something have been signed; that would be
// remote.Unknown. Others are refusals.
var codes = map[string]struct {
	kind  remote.Kind
	means string
}{
	"0001": {remote.Refused, "generic error"},
	"0002": {remote.Refused, "a parameter is wrong"},
	"0003": {remote.Credentials, "user, password or one-time password is wrong"},
	"0004": {remote.Credentials, "the PIN is wrong"},
	"0005": {remote.Refused, "the transport is wrong"},
	"0006": {remote.Refused, "the transport is wrong"},
	"0007": {remote.Refused, "the profile is wrong"},
	"0008": {remote.Unusable, "the certificate cannot sign any more"},
	"0009": {remote.Credentials, "the delegate's credentials are wrong"},
	"0010": {remote.Locked, "the user is suspended or locked"},
}

// judge reads status and return code of an answer; coded says that a one-time
// password went along, which 0003 may be about.
func judge(answer *xmldom.Node, l remote.Login, operation string, coded bool) error {
	status, code := strings.ToUpper(soap.Word(answer, "status")), soap.Word(answer, "return_code")
	if status != "KO" && (code == good || code == "" && status == "OK") {
		return nil
	}
	return refusalBy(code, soap.Word(answer, "description"), l, operation, coded)
}

// refusalBy is a refusal with a code, in the provider's words where there are any.
func refusalBy(code, words string, l remote.Login, operation string, coded bool) *remote.Error {
	known := codes[code]
	if code == "0003" && coded {
		known.kind = remote.Code
	}
	if words == "" {
		words = known.means
	}
	if code != "" {
		words = strings.TrimSpace(code + " " + words)
	}
	return refusal(known.kind, l, operation, words)
}
