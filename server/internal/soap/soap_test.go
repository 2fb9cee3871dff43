package soap

import (
	"strings"
	"testing"
)

const good = `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><n:pingResponse xmlns:n="urn:x"><return>T0s=</return></n:pingResponse></S:Body></S:Envelope>`

// FuzzRead: whatever a service answers, reading it ends, and what is read is the
// answer of the operation or a fault.
func FuzzRead(f *testing.F) {
	related := "multipart/related; boundary=b; start=\"<r>\""
	f.Add("text/xml", good)
	f.Add(related, "--b\r\nContent-ID: <r>\r\n\r\n"+strings.Replace(good, "T0s=", `<i:Include xmlns:i="http://www.w3.org/2004/08/xop/include" href="cid:v"/>`, 1)+"\r\n--b\r\nContent-ID: <v>\r\n\r\nOK\r\n--b--\r\n")
	f.Add("text/xml", `<!DOCTYPE x>`+good)
	f.Add(related, "--b")
	f.Fuzz(func(t *testing.T, media, text string) {
		a, err := read(media, []byte(text))
		if err != nil {
			return
		}
		if a.of("ping", "urn:x") != nil {
			return
		}
		if strings.Contains(text, "<!DOCTYPE") && !strings.Contains(text, "<![CDATA[") && !strings.Contains(text, "<!--") && media == "text/xml" {
			t.Error("a document type declaration was read")
		}
		if b, err := a.Bytes(Find(a.Body, "return")); err == nil && len(b) == 0 {
			t.Error("a value of no bytes")
		}
	})
}

// Requests escape what stands in them.
func TestRequest(t *testing.T) {
	if _, err := New(Config{Namespace: "urn:x"}); err == nil {
		t.Fatal("a client without an address")
	}
	c := &Client{config: Config{Namespace: "urn:x"}}
	got := c.request("op", append([]Element{{Name: "a", In: Text("b", `<&">`)}}, Text("c", "")...))
	want := `<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body><s:op xmlns:s="urn:x"><a><b>&lt;&amp;&#34;&gt;</b></a></s:op></soapenv:Body></soapenv:Envelope>`
	if got != want {
		t.Errorf("%s", got)
	}
}
