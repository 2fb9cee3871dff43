package blackbox

import "strings"

// callbackRefusal is a callback that no request may have.
type callbackRefusal struct {
	name     string
	callback any
	code     int
	word     string
}

// callbackRefusals are all of them, beside one good address.
func callbackRefusals(good string) []callbackRefusal {
	return []callbackRefusal{
		{"callback no object", "x", 704, "callback"},
		{"callback without url", m{}, 704, "callback.url"},
		{"callback url null", m{"url": nil}, 704, "callback.url"},
		{"callback url no string", m{"url": 1}, 704, "callback.url"},
		{"callback url empty", m{"url": ""}, 704, "callback.url"},
		{"callback url malformed", m{"url": "::"}, 704, "callback.url"},
		{"callback url without host", m{"url": "http:///x"}, 704, "callback.url"},
		{"callback method", m{"url": good, "method": "PUT"}, 704, "callback.method"},
		{"callback field", m{"url": good, "method": "POST", "field": ""}, 704, "callback.field"},
		{"callback scheme", m{"url": "ftp://receiver.example/"}, 706, "callback.url"},
		{"callback to loopback", m{"url": "http://127.0.0.1:1/"}, 706, "callback.url"},
		{"callback to a private host", m{"url": "https://10.1.2.3/"}, 706, "callback.url"},
		{"callback headers no object", m{"url": good, "headers": "x"}, 708, "callback.headers"},
		{"callback headers a list", m{"url": good, "headers": []string{"X: y"}}, 708, "callback.headers"},
		{"callback header key", m{"url": good, "headers": m{strings.Repeat("k", 257): "v"}}, 709, "256"},
		{"callback header value", m{"url": good, "headers": m{"X-Key": 1}}, 710, "X-Key"},
		{"callback headers large", m{"url": good, "headers": m{"X-Key": strings.Repeat("v", 2045)}}, 711, "2 kB"},
		{"callback custom", m{"url": good, "custom": strings.Repeat("v", 511)}, 730, "512"},
		{"callback retry", m{"url": good, "retry": 6}, 740, "callback.retry"},
		{"callback retry below", m{"url": good, "retry": -1}, 740, "callback.retry"},
		{"callback retry no integer", m{"url": good, "retry": "5"}, 740, "callback.retry"},
	}
}
