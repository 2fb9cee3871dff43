package xades

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/yardstick"
)

// TestHostile reads what is made to exhaust a reader; each must end soon.
func TestHostile(t *testing.T) {
	attributes := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ` a%d="x"`, i)
		}
		return b.String()
	}
	const sig = `<ds:Signature xmlns:ds="` + ds + `"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>%s</ds:SignedInfo><ds:SignatureValue>AA==</ds:SignatureValue></ds:Signature>`
	const ref = `<ds:Reference URI=""><ds:Transforms><ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>AA==</ds:DigestValue></ds:Reference>`
	for name, tt := range map[string]struct {
		doc  string
		want error
	}{
		"external entity":  {`<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, xmldom.ErrDoctype},
		"billion laughs":   {`<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>`, xmldom.ErrDoctype},
		"parameter entity": {`<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/"> %x;]><a/>`, xmldom.ErrDoctype},
		"nested":           {strings.Repeat("<a>", 100_000) + strings.Repeat("</a>", 100_000), xmldom.ErrLimit},
		"attributes":       {"<a" + attributes(1_000_000) + "/>", xmldom.ErrLimit},
		"references":       {fmt.Sprintf(sig, strings.Repeat(ref, 20_000)), nil},
		"signatures":       {"<a>" + strings.Repeat(fmt.Sprintf(sig, ref), 900) + "</a>", nil},
		"many signatures":  {"<a>" + strings.Repeat(fmt.Sprintf(sig, ref), 5000) + "</a>", xmldom.ErrLimit},
		"cdata":            {"<a>" + strings.Repeat("<![CDATA[x]]>", 500_000) + "</a>", nil},
		"comments":         {"<a>" + strings.Repeat("<!---->", 500_000) + "</a>", nil},
		"same id":          {"<a>" + strings.Repeat(`<b Id="x"/>`, 200_000) + "</a>", nil},
		"character refs":   {"<a>" + strings.Repeat("&#65;", 500_000) + "</a>", nil},
	} {
		t.Run(name, func(t *testing.T) {
			start := yardstick.Processor()
			doc, err := Read(context.Background(), bytes.NewReader([]byte(tt.doc)), ades.ReadOptions{})
			if took := yardstick.Processor() - start; took > time.Second && took > 5*yardstick.Second() {
				t.Errorf("took %v of the processor", took)
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if doc != nil {
				for _, s := range doc.Signatures {
					if s.Intact() == ades.Yes {
						t.Fatal("intact")
					}
				}
			}
		})
	}
}

// TestWrapping moves signed content away and puts other content in its place.
func TestWrapping(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	const doc = `<r><order Id="o1"><amount>1</amount></order></r>`
	signed := string(sign(t, a, []ades.File{file("", doc)}, Options{SignElement: "o1"}))
	const genuine, evil = `<order Id="o1"><amount>1</amount></order>`, `<order Id="o1"><amount>1000000</amount></order>`
	other := strings.Replace(evil, `"o1"`, `"o2"`, 1)
	end := strings.Index(signed, "</ds:Signature>")
	into := func(s, extra string) string { return strings.Replace(s, "</ds:Signature>", extra+"</ds:Signature>", 1) }
	for name, attack := range map[string]string{
		"duplicate id":                   strings.Replace(signed, genuine, evil+genuine, 1),
		"duplicate id, genuine wrapped":  strings.Replace(signed, genuine, evil+"<wrap>"+genuine+"</wrap>", 1),
		"duplicate id in other spelling": strings.Replace(signed, genuine, strings.Replace(evil, "Id=", "ID=", 1)+genuine, 1),
		"genuine in an object":           into(strings.Replace(signed, genuine, evil, 1), "<ds:Object>"+genuine+"</ds:Object>"),
		"genuine moved, other in place":  into(strings.Replace(signed, genuine, other, 1), "<ds:Object>"+genuine+"</ds:Object>"),
		"root renamed around":            "<x>" + other + signed + "</x>",
		"second SignedInfo":              strings.Replace(signed, "<ds:SignatureValue", signed[strings.Index(signed, "<ds:SignedInfo>"):strings.Index(signed, "<ds:SignatureValue")]+"<ds:SignatureValue", 1),
		"properties of another":          strings.Replace(signed, "<ds:Object><xades:Q", `<ds:Object><xades:QualifyingProperties xmlns:xades="`+ns132+`" Target="#x"/></ds:Object><ds:Object><xades:Q`, 1),
		"changed outside":                strings.Replace(signed, "<r>", "<r><note>pay the other account</note>", 1),
	} {
		if attack == signed || end < 0 {
			t.Fatalf("%s: nothing changed", name)
		}
		d, err := Read(context.Background(), bytes.NewReader([]byte(attack)), ades.ReadOptions{})
		if err != nil {
			continue
		}
		s := d.Signatures[0]
		fatal := false
		for _, pr := range s.Problems {
			fatal = fatal || pr.Fatal
		}
		if s.Intact() == ades.Yes && !fatal && s.ContentIsWhole {
			t.Errorf("%s: passes for the whole document", name)
		}
		if strings.HasPrefix(name, "duplicate") && (s.Intact() == ades.Yes || !fatal) {
			t.Errorf("%s: intact %v, fatal %v", name, s.Intact(), fatal)
		}
		for _, c := range s.Content {
			b := make([]byte, c.Source.Size())
			if _, err := c.Source.ReadAt(b, 0); err == nil && bytes.Contains(b, []byte("1000000")) {
				t.Errorf("%s: unsigned content is handed out as signed", name)
			}
		}
	}
}

// TestIdsAreUnique: proofs of existence are looked up by the id of a signature. Whoever writes Ids must
// not be able to share that of another signature, of evidence or of a token.
func TestIdsAreUnique(t *testing.T) {
	fact := ades.FactID([]byte("an OCSP response"))
	unnamed := func(value string) string {
		return `<ds:Signature%s><ds:SignedInfo/><ds:SignatureValue>` + value + `</ds:SignatureValue></ds:Signature>`
	}
	doc := `<r xmlns:ds="` + ds + `">`
	for _, id := range []string{"X", "X", "X~2", "X~3", "X", fact, ""} {
		attribute := ""
		if id != "" {
			attribute = ` Id="` + id + `"`
		}
		doc += fmt.Sprintf(unnamed("AA=="), attribute)
	}
	seen := map[string]bool{fact: true}
	for _, s := range readBack(t, []byte(doc+`</r>`), nil).Signatures {
		if seen[s.ID] {
			t.Errorf("%s is the id of something else", s.ID)
		}
		seen[s.ID] = true
	}
	if len(seen) != 8 {
		t.Errorf("ids %v", seen)
	}
}

// TestLaterCounterSignature: an archive time-stamp proves the counter-signatures before it, and not
// those that were added since.
func TestLaterCounterSignature(t *testing.T) {
	p := adestest.Must(t, clock)
	doc := string(raise(t, p, sign(t, p.Actor(t, "p256"), []ades.File{file("", invoice)}, Options{}), ades.LevelLT, nil))
	add := func(id string) {
		const end = "</xades:UnsignedSignatureProperties>"
		signature := `<xades:CounterSignature><ds:Signature Id="` + id + `"><ds:SignedInfo/></ds:Signature></xades:CounterSignature>`
		doc = strings.Replace(doc, end, signature+end, 1)
	}
	add("before")
	doc = string(raise(t, p, []byte(doc), ades.LevelLTA, nil))
	add("after")
	s := readBack(t, []byte(doc), nil).Signatures[0]
	archive := s.Timestamps[len(s.Timestamps)-1]
	if len(s.CounterSignatures) != 2 || archive.Kind != ades.ArchiveTimestamp || archive.ImprintIntact != ades.Yes {
		t.Fatalf("%d counter-signatures, %s", len(s.CounterSignatures), archive.Kind)
	}
	for i, c := range s.CounterSignatures {
		if slices.Contains(archive.Covers, c.ID) != (i == 0) {
			t.Errorf("counter-signature %d: proven %v", i, i != 0)
		}
	}
}

// TestNoSignatureIsLeftOut: a signature that only looks like a counter-signature of another one is
// read as one of its own.
func TestNoSignatureIsLeftOut(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	first := string(sign(t, a, []ades.File{file("", `<r><a Id="x">1</a><b Id="y">2</b></r>`)}, Options{SignElement: "x"}))
	both := string(sign(t, a, []ades.File{file("", first)}, Options{SignElement: "y"}))
	second := both[strings.LastIndex(both, "<ds:Signature ") : strings.LastIndex(both, "</ds:Signature>")+len("</ds:Signature>")]
	wrapped := strings.Replace(both, second, `<c:CounterSignature xmlns:c="`+ns132+`">`+second+`</c:CounterSignature>`, 1)
	for name, doc := range map[string]string{"whole": both, "wrapped": wrapped, "wrapped and broken": strings.Replace(wrapped, ">2<", "><", 1)} {
		if n := len(readBack(t, []byte(doc), nil).Signatures); n != 2 {
			t.Errorf("%s: %d signatures", name, n)
		}
	}
}

// TestStampOfSomethingElse: a token over an older element, which anybody may have, or over references
// alone does not prove that the signature is as old. Include lists what a time-stamp is over (TS 101
// 903, 7.1.4.3.1).
func TestStampOfSomethingElse(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "p256")
	const old = `<old Id="old">of another day</old>`
	raised := string(raise(t, p, sign(t, a, []ades.File{file("", `<r>`+old+`</r>`)}, Options{}), ades.LevelT, nil))
	stamp := regexp.MustCompile(`<xades:SignatureTimeStamp[^>]*>.*</xades:SignatureTimeStamp>`)
	value := regexp.MustCompile(`<ds:SignatureValue Id="([^"]+)"`).FindStringSubmatch(raised)[1]
	include := func(id string) string { return `<xades:Include URI="#` + id + `"/>` }
	property := func(name, includes, over string) string {
		sum := sha256.Sum256([]byte(over))
		token, err := p.Unit.Stamp(t.Context(), crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return stamp.ReplaceAllString(raised, fmt.Sprintf(`<xades:%[1]s>%[2]s<xades:EncapsulatedTimeStamp>%[3]s</xades:EncapsulatedTimeStamp></xades:%[1]s>`,
			name, includes, base64.StdEncoding.EncodeToString(token)))
	}
	for name, tt := range map[string]struct {
		doc    string
		proves bool
	}{
		"the signature value":      {regexp.MustCompile(`<xades:SignatureTimeStamp[^>]*>`).ReplaceAllString(raised, "$0"+include(value)), true},
		"another element":          {property("SignatureTimeStamp", include("old"), old), false},
		"another, with references": {property("SigAndRefsTimeStamp", include("old"), old), false},
		"another, in an archive":   {property("ArchiveTimeStamp", include("old"), old), false},
		"no references":            {property("RefsOnlyTimeStamp", "", ""), false},
		"another as references":    {property("RefsOnlyTimeStamp", include("old"), old), false},
	} {
		if tt.doc == raised {
			t.Fatalf("%s: nothing changed", name)
		}
		s := readBack(t, []byte(tt.doc), nil).Signatures[0]
		if s.Intact() != ades.Yes || len(s.Timestamps) != 1 {
			t.Fatalf("%s: intact %v, %d time-stamps, %v", name, s.Intact(), len(s.Timestamps), s.Problems)
		}
		ts := s.Timestamps[0]
		if proves := ts.ImprintIntact == ades.Yes && slices.Contains(ts.Covers, s.ID); proves != tt.proves {
			t.Errorf("%s: imprint %v, proves the signature: %v, %v", name, ts.ImprintIntact, proves, ts.Problems)
		}
	}
}
