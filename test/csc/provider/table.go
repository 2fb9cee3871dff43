package provider

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Faults are all there are. What a record may end as is from section 10 of the
// contract: before signHash all is 121, or 112 for a credential that cannot be
// used; in signHash 4xx and useless 2xx are 121, what leaves it open whether
// something was signed is 122.
var Faults = []Fault{
	// Values that signHash answers with.
	{Name: "values-swapped", About: "the values of two hashes change places", At: signing, Docs: 2, Want: "121", after: values(func(_ *Provider, _ *Call, v []string) any {
		slices.Reverse(v)
		return v
	})},
	{Name: "values-garbage", About: "random bytes of the right length", At: signing, Want: "121", after: each(func(b []byte) string { return b64([]byte(strings.Repeat("x", len(b)))) })},
	{Name: "values-flipped", About: "one bit of each value is wrong", At: signing, Want: "121", after: each(func(b []byte) string {
		b[len(b)-1] ^= 1
		return b64(b)
	})},
	{Name: "values-too-few", About: "one value less than hashes", At: signing, Docs: 3, Want: "121 DONE", after: values(func(_ *Provider, _ *Call, v []string) any { return v[:len(v)-1] })},
	{Name: "values-none", About: "an empty list", At: signing, Want: "121", after: values(func(*Provider, *Call, []string) any { return []string{} })},
	{Name: "values-too-many", About: "one value more than hashes", At: signing, Want: "121 DONE", after: values(func(_ *Provider, _ *Call, v []string) any { return append(v, v[0]) })},
	{Name: "values-missing", About: "no member signatures", At: signing, Want: "121", after: member("signatures", nil)},
	{Name: "values-string", About: "signatures is a string", At: signing, Want: "121", after: member("signatures", "AAAA")},
	{Name: "values-null", About: "each value is null", At: signing, Want: "121", after: values(func(_ *Provider, _ *Call, v []string) any { return make([]any, len(v)) })},
	{Name: "values-numbers", About: "each value is a number", At: signing, Want: "121", after: values(func(*Provider, *Call, []string) any { return []any{1} })},
	{Name: "values-empty", About: "each value is the empty string", At: signing, Want: "121", after: each(func([]byte) string { return "" })},
	{Name: "values-hex", About: "hexadecimal in place of base64", At: signing, Want: "121", after: each(func(b []byte) string { return strings.Repeat("0f", len(b)) })},
	{Name: "values-raw", About: "ECDSA as r‖s", At: signing, Key: "p256", Want: "DONE", after: each(plainValue)},
	{Name: "values-der", About: "ECDSA as DER, the other s of the two", At: signing, Key: "p256", Want: "DONE", after: values(negate)},
	{Name: "values-raw-short", About: "r‖s with a byte missing", At: signing, Key: "p256", Want: "121", after: each(func(b []byte) string {
		v, _ := base64.StdEncoding.DecodeString(plainValue(b))
		return b64(v[:63])
	})},
	{Name: "values-der-trailing", About: "bytes after the DER", At: signing, Key: "p256", Want: "121 DONE", after: each(func(b []byte) string { return b64(append(b, 0, 0)) })},
	{Name: "base64-lines", About: "base64 with a line break after 64 characters", At: signing, Want: "DONE", after: each(func(b []byte) string {
		s := b64(b)
		var out strings.Builder
		for len(s) > 64 {
			out.WriteString(s[:64] + "\r\n")
			s = s[64:]
		}
		return out.String() + s + "\r\n"
	})},
	{Name: "base64-url", About: "URL-safe base64 without padding", At: signing, Want: "121 DONE", after: each(base64.RawURLEncoding.EncodeToString)},
	{Name: "value-of-another-key", About: "the values are of another key", At: signing, Want: "121", after: values(otherKey)},
	{Name: "value-of-another-hash", About: "the values are of other hashes", At: signing, Want: "121", after: values(otherHash)},
	{Name: "value-of-another-hash-ec", About: "the same with an elliptic curve", At: signing, Key: "p256", Want: "121", after: values(otherHash)},
	{Name: "response-id", About: "the answer of the asynchronous mode, unasked", At: signing, Only: 2, Want: "121", after: with(func(a *answer) { a.body = map[string]any{"responseID": "1"} })},
	{Name: "error-in-200", About: "an error with status 200", At: signing, Want: "121", after: with(func(a *answer) {
		a.body = map[string]any{"error": "invalid_request", "error_description": "It did not work"}
	})},

	// The form of signHash's answer.
	{Name: "not-json", About: "text", At: signing, Want: "121", after: raw("signed, thank you", "application/json")},
	{Name: "html", About: "a page", At: signing, Want: "121", after: raw("<!doctype html><title>Welcome</title>", "text/html")},
	{Name: "wrong-content-type", About: "the right answer as text/plain", At: signing, Want: "DONE 121", after: with(func(a *answer) { a.header = map[string]string{"Content-Type": "text/plain"} })},
	{Name: "no-content-type", About: "the right answer without a content type", At: signing, Want: "DONE 121", after: with(func(a *answer) { a.header = map[string]string{"Content-Type": ""} })},
	{Name: "empty", About: "200 without a body", At: signing, Want: "121", after: raw("", "application/json")},
	{Name: "no-content", About: "204", At: signing, Want: "121", after: with(func(a *answer) { a.status, a.body = http.StatusNoContent, nil })},
	{Name: "half-json", About: "JSON that ends early, with the length that goes with it", At: signing, Want: "121", after: raw(`{"signatures":["AAAA`, "application/json")},
	{Name: "json-list", About: "a list in place of an object", At: signing, Want: "121", after: raw(`["AAAA"]`, "application/json")},
	{Name: "huge", About: "80 MB of white space before the answer", At: signing, Want: "121 122", after: with(hugely)},

	// The status of signHash.
	{Name: "401-once", About: "the token has ended", At: signing, Times: 1, Want: "DONE", before: status(http.StatusUnauthorized, "WWW-Authenticate", `Bearer error="invalid_token"`)},
	{Name: "401-always", About: "every token has ended", At: signing, Want: "121", before: status(http.StatusUnauthorized)},
	{Name: "403", About: "forbidden", At: signing, Want: "121", before: status(http.StatusForbidden)},
	{Name: "404", About: "no such method", At: signing, Want: "121", before: status(http.StatusNotFound)},
	{Name: "408", About: "a time-out of its own, as 408", At: signing, Want: "121", before: status(http.StatusRequestTimeout)},
	{Name: "400-words", About: "a refusal with words", At: signing, Want: "121", before: says("invalid_request", "The key is on holiday")},
	{Name: "429-retry", About: "429 with Retry-After, once", At: signing, Times: 1, Want: "DONE", before: status(http.StatusTooManyRequests, "Retry-After", "1")},
	{Name: "429-twice", About: "429 with Retry-After, twice", At: signing, Times: 2, Want: "DONE 121", before: status(http.StatusTooManyRequests, "Retry-After", "1")},
	{Name: "429-date", About: "429 with a date in Retry-After, once", At: signing, Times: 1, Want: "DONE", before: func(p *Provider, c *Call) *answer {
		return status(http.StatusTooManyRequests, "Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))(p, c)
	}},
	{Name: "429-always", About: "429 with Retry-After, for ever", At: signing, Want: "121", before: status(http.StatusTooManyRequests, "Retry-After", "1")},
	{Name: "429-bare", About: "429 without Retry-After", At: signing, Want: "121", before: status(http.StatusTooManyRequests)},
	{Name: "429-tomorrow", About: "429 with a Retry-After of a day", At: signing, Want: "121", before: status(http.StatusTooManyRequests, "Retry-After", "86400")},
	{Name: "503-retry", About: "503 with Retry-After, once", At: signing, Times: 1, Want: "DONE", before: status(http.StatusServiceUnavailable, "Retry-After", "1")},
	{Name: "503-always", About: "503 with Retry-After, for ever", At: signing, Want: "121 122", before: status(http.StatusServiceUnavailable, "Retry-After", "1")},
	{Name: "503-bare", About: "503 without Retry-After", At: signing, Want: "122", before: status(http.StatusServiceUnavailable)},
	{Name: "500", About: "500", At: signing, Want: "122", before: status(http.StatusInternalServerError)},
	{Name: "502", About: "502 of a proxy, after signing", At: signing, Want: "122", after: with(func(a *answer) {
		a.status, a.raw, a.header = http.StatusBadGateway, []byte("<h1>Bad gateway</h1>"), map[string]string{"Content-Type": "text/html"}
	})},
	{Name: "504", About: "504 of a proxy, after signing", At: signing, Want: "122", after: with(func(a *answer) { a.status, a.raw = http.StatusGatewayTimeout, []byte("time-out") })},
	{Name: "302", About: "a redirect to somewhere else", At: signing, Want: "121 122", before: elsewhere(http.StatusFound)},
	{Name: "307", About: "a redirect that keeps method and body", At: signing, Want: "121 122", before: elsewhere(http.StatusTemporaryRedirect)},

	// The connection in signHash.
	{Name: "cut-unsigned", About: "cut before anything was done", At: signing, Want: "122", before: func(*Provider, *Call) *answer { return &answer{cut: "before"} }},
	{Name: "cut-before", About: "signed, then cut without a word", At: signing, Want: "122", after: with(func(a *answer) { a.cut = "before" })},
	{Name: "cut-headers", About: "cut after the headers", At: signing, Want: "122", after: with(func(a *answer) { a.cut = "headers" })},
	{Name: "cut-body", About: "cut in the middle of the body", At: signing, Want: "122", after: with(func(a *answer) { a.cut = "body" })},
	{Name: "cut-after", About: "closed after the whole answer", At: signing, Want: "DONE", after: with(func(a *answer) { a.cut = "after" })},
	{Name: "hang", About: "signed, and never an answer", At: signing, Want: "122", after: with(func(a *answer) { a.hang = true })},
	{Name: "drip", About: "a byte now and then, beyond the time-out", At: signing, Want: "122", after: with(func(a *answer) { a.drip = true })},

	// In the middle of a batch.
	{Name: "second-401", About: "the token ends between two calls to sign", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE", before: status(http.StatusUnauthorized)},
	{Name: "second-429", About: "429 with Retry-After at the second call", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE", before: status(http.StatusTooManyRequests, "Retry-After", "1")},
	{Name: "second-500", About: "500 at the second call", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE 122", before: status(http.StatusInternalServerError)},
	{Name: "second-cut", About: "signed and cut at the second call", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE 122", after: with(func(a *answer) { a.cut = "body" })},
	{Name: "second-400", About: "refused at the second call", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE 121", before: says("invalid_request", "No more today")},
	{Name: "second-swapped", About: "values swapped at the second call", At: signing, Skip: 1, Times: 1, Docs: 25, Want: "DONE 121", after: values(func(_ *Provider, _ *Call, v []string) any {
		slices.Reverse(v)
		return v
	})},
	{Name: "second-authorize", About: "authorize refuses the second time", At: approving, Skip: 1, Times: 1, Docs: 25, Want: "DONE 121", before: says("invalid_request", "No more today")},
	{Name: "second-suspended", About: "suspended after the first group", At: signing, Times: 1, Docs: 25, Want: "DONE 112 121", after: become("suspended")},

	// Authorisation.
	{Name: "authorize-500", About: "500 in authorize", At: approving, Want: "121", before: status(http.StatusInternalServerError)},
	{Name: "authorize-503", About: "503 without Retry-After in authorize", At: approving, Want: "121", before: status(http.StatusServiceUnavailable)},
	{Name: "authorize-cut", About: "cut in authorize", At: approving, Want: "121", before: func(*Provider, *Call) *answer { return &answer{cut: "before"} }},
	{Name: "authorize-hang", About: "no answer in authorize", At: approving, Want: "121", after: with(func(a *answer) { a.hang = true })},
	{Name: "authorize-html", About: "a page in authorize", At: approving, Want: "121", after: raw("<html>", "text/html")},
	{Name: "authorize-401-once", About: "the token has ended in authorize", At: approving, Times: 1, Want: "DONE", before: status(http.StatusUnauthorized)},
	{Name: "authorize-429-retry", About: "429 with Retry-After in authorize, once", At: approving, Times: 1, Want: "DONE 121", before: status(http.StatusTooManyRequests, "Retry-After", "1")},
	{Name: "authorize-redirect", About: "a redirect in authorize", At: approving, Want: "121", before: elsewhere(http.StatusTemporaryRedirect)},
	{Name: "wrong-pin", About: "the PIN was changed there", At: approving, Want: "121", before: says("invalid_pin", "The PIN is wrong")},
	{Name: "pin-locked", About: "the PIN is locked", At: approving, Want: "121", before: says("invalid_request", "Locked PIN")},
	{Name: "no-sad", About: "authorize without a SAD", At: approving, Want: "121", after: member("SAD", nil)},
	{Name: "sad-number", About: "the SAD is a number", At: approving, Want: "121", after: member("SAD", 7)},
	{Name: "sad-handle", About: "the handle of an asynchronous authorisation", At: approving, Only: 2, Want: "121", after: with(func(a *answer) { a.body = map[string]any{"handle": "h"} })},
	{Name: "sad-gone", About: "the SAD is not known any more", At: approving, Want: "121", after: gone},
	{Name: "sad-expired", About: "the SAD has expired when it arrives", At: approving, Want: "121", after: hasty},
	{Name: "sad-life-odd", About: "expiresIn is a string", At: approving, Want: "DONE 121", after: member("expiresIn", "300")},
	{Name: "sad-life-missing", About: "no expiresIn", At: approving, Want: "DONE", after: member("expiresIn", nil)},
	{Name: "sad-bound-to-token", About: "the SAD is good only with the token that asked for it", Want: "DONE"},

	// The credential.
	{Name: "key-disabled", About: "the key is disabled", Want: "112 121", set: all(func(c *Credential) { c.KeyStatus = "disabled" })},
	{Name: "expired", About: "the certificate is expired there", Want: "112", set: all(func(c *Credential) { c.Status = "expired" })},
	{Name: "suspended", About: "the certificate is suspended there", Want: "112", set: all(func(c *Credential) { c.Status = "suspended" })},
	{Name: "revoked", About: "the certificate is revoked there", Want: "112", set: all(func(c *Credential) { c.Status = "revoked" })},
	{Name: "suspended-midway", About: "suspended between authorize and signHash", At: approving, Want: "112 121", after: become("suspended")},
	{Name: "revoked-midway", About: "revoked between authorize and signHash", At: approving, Want: "112 121", after: become("revoked")},
	{Name: "disabled-midway", About: "disabled between credentials/info and authorize", At: asking, Want: "112 121", after: become("disabled")},
	{Name: "credential-gone", About: "the credential is not known any more", At: asking, Want: "121", before: says("invalid_request", "Invalid parameter credentialID")},
	{Name: "credential-500", About: "500 in credentials/info", At: asking, Want: "121", before: status(http.StatusInternalServerError)},
	{Name: "credential-hang", About: "no answer in credentials/info", At: asking, Want: "121", before: func(*Provider, *Call) *answer { return &answer{hang: true} }},
	{Name: "multisign-1", About: "one hash at a time", Docs: 3, Want: "DONE", Enrol: true, set: all(func(c *Credential) { c.Multisign = 1 })},
	{Name: "multisign-odd", About: "multisign is a string", At: asking, Docs: 2, Want: "DONE 121", Enrol: true, after: member("multisign", "2")},
	{Name: "multisign-missing", About: "no multisign: one at a time", At: asking, Docs: 2, Want: "DONE 121", Enrol: true, after: member("multisign", nil)},
	{Name: "multisign-zero", About: "multisign 0", At: asking, Docs: 2, Want: "DONE 121", Enrol: true, after: member("multisign", 0)},
	{Name: "scal-1", About: "hashes need not be named in authorize", Want: "DONE", Enrol: true, set: all(func(c *Credential) { c.SCAL = "1" })},
	{Name: "implicit", About: "authorisation without PIN or OTP", Want: "DONE", Enrol: true, set: all(func(c *Credential) { c.Mode = "implicit" })},
	{Name: "bare-rsa", About: "key.algo names RSA without a hash", Want: "DONE", Enrol: true, set: algorithms(true, oidRSA)},
	{Name: "bare-ec", About: "key.algo names the curve's key without a hash", Key: "p256", Want: "DONE 121", Enrol: true, set: algorithms(false, oidEC)},
	{Name: "only-pss", About: "key.algo names RSASSA-PSS alone", Want: "DONE 121", Enrol: true, set: algorithms(true, oidPSS)},
	{Name: "rsa-and-hashes", About: "key.algo has the bare identifier among the others", Want: "DONE", Enrol: true, set: algorithms(true, oidRSA, oidRSASHA512, oidRSASHA256)},
	{Name: "hash-algorithm-required", About: "the hash is to be named though signAlgo names it", Want: "DONE 121"},
	{Name: "hash-algorithm-forbidden", About: "the hash must not be named where signAlgo names it", Want: "DONE 121"},

	// The chain.
	{Name: "chain-reversed", About: "the root first", Want: "DONE", Enrol: true, set: chained("reversed")},
	{Name: "chain-shuffled", About: "issuers in another order", Want: "DONE", Enrol: true, set: chained("shuffled")},
	{Name: "chain-no-root", About: "without the root", Want: "DONE", Enrol: true, set: chained("no-root")},
	{Name: "chain-leaf-only", About: "the signer's certificate alone", Want: "DONE", Enrol: true, set: chained("leaf-only")},
	{Name: "chain-twice", About: "every certificate twice", Want: "DONE", Enrol: true, set: chained("twice")},
	{Name: "chain-wrong-leaf", About: "the certificate of another key", Want: "121 refused", Enrol: true, set: chained("wrong-leaf")},
	{Name: "chain-garbage", About: "no certificate at all", Want: "121 refused", Enrol: true, set: chained("garbage")},
	{Name: "chain-none", About: "an empty list", Want: "121 refused", Enrol: true, set: chained("none")},

	// Tokens and the clock.
	{Name: "token-500", About: "500 for tokens", At: tokens, Want: "121", before: status(http.StatusInternalServerError), set: (*Provider).Expire},
	{Name: "token-refused", About: "the client is not known any more", At: tokens, Want: "121", before: says("invalid_client", "The client is not known"), set: (*Provider).Expire},
	{Name: "token-html", About: "a page for tokens", At: tokens, Want: "121", after: raw("<html>", "text/html"), set: (*Provider).Expire},
	{Name: "token-brief", About: "tokens that have expired when they arrive", At: tokens, Want: "DONE 121", after: member("expires_in", 0), set: (*Provider).Expire},
	{Name: "token-life-odd", About: "expires_in is a string", At: tokens, Want: "DONE 121", after: member("expires_in", "3600"), set: (*Provider).Expire},
	{Name: "token-expired", About: "tokens ended before their time", Want: "DONE", set: (*Provider).Expire},
	{Name: "clock-behind", About: "a clock ten minutes behind", At: signing, Want: "DONE", after: with(func(a *answer) {
		a.header = map[string]string{"Date": time.Now().Add(-10 * time.Minute).UTC().Format(http.TimeFormat)}
	})},
	{Name: "clock-ahead", About: "a clock ten minutes ahead", At: approving, Want: "DONE", after: with(func(a *answer) {
		a.header = map[string]string{"Date": time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)}
	})},
}
