package ers

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/oid"
)

type text string

func (t text) Digest(h crypto.Hash) ([]byte, error) { return oid.Sum(h, []byte(t)), nil }

func (t text) XML() ([]byte, error) {
	if strings.HasPrefix(string(t), "<") {
		return []byte(t), nil
	}
	return nil, nil
}

func hash(parts ...string) []byte {
	d := sha256.Sum256([]byte(strings.Join(parts, "")))
	return d[:]
}

func octets(b []byte) []byte { return cms.TLV(cms.TagOctetString, b) }

func seq(parts ...[]byte) []byte { return cms.TLV(cms.TagSequence, parts...) }

// token is any SEQUENCE here.
func token(n byte) []byte { return seq([]byte{cms.TagInteger, 1, n}) }

func record(chains ...[]byte) []byte {
	return seq([]byte{cms.TagInteger, 1, 1}, seq(), seq(chains...))
}

func sha(token []byte) crypto.Hash { return crypto.SHA256 }

// TestASN1 has two data objects under a tree, the time-stamp renewed, and then
// the tree (RFC 4998, 4.3 and 5.3).
func TestASN1(t *testing.T) {
	a, b, neighbour := hash("a"), hash("b"), hash("neighbour")
	group := [][]byte{a, b}
	slices.SortFunc(group, bytes.Compare)
	inner := oid.Sum(crypto.SHA256, group...)
	upper := [][]byte{inner, neighbour}
	slices.SortFunc(upper, bytes.Compare)
	first := seq(cms.TLV(0xa2, seq(octets(a), octets(b)), seq(octets(neighbour))), token(1))
	second := seq(token(2))
	chain1 := seq(first, second)
	old := oid.Sum(crypto.SHA256, seq(chain1))
	ra, rb := oid.Sum(crypto.SHA256, a, old), oid.Sum(crypto.SHA256, b, old)
	renewed := [][]byte{ra, rb}
	slices.SortFunc(renewed, bytes.Compare)
	third := seq(cms.TLV(0xa2, seq(octets(ra), octets(rb))), token(3))
	raw := record(chain1, seq(third))

	r, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Check([]Object{text("a"), text("b")}, sha)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d time-stamps, %v", len(got), err)
	}
	for i, want := range [][]byte{oid.Sum(crypto.SHA256, upper...), oid.Sum(crypto.SHA256, token(1)), oid.Sum(crypto.SHA256, renewed...)} {
		if !bytes.Equal(got[i].Roots[0], want) || !bytes.Equal(got[i].Token, token(byte(i+1))) {
			t.Errorf("time-stamp %d is over %x, want %x", i, got[i].Roots[0], want)
		}
	}
	for _, objects := range [][]Object{{text("c")}, {text("a"), text("c")}, {}} {
		got, err := r.Check(objects, sha)
		if err != nil || got[0].Roots != nil || got[2].Roots != nil {
			t.Errorf("%v: a record for other data: %+v, %v", objects, got, err)
		}
	}
}

// TestXML: an object that is XML may be digested in its canonical form.
func TestXML(t *testing.T) {
	doc := func(value []byte) []byte {
		return fmt.Appendf(nil, `<EvidenceRecord xmlns="%s" Version="1.0"><ArchiveTimeStampSequence><ArchiveTimeStampChain Order="1"><DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><CanonicalizationMethod Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/><ArchiveTimeStamp Order="1"><HashTree><Sequence Order="1"><DigestValue>%s</DigestValue></Sequence></HashTree><TimeStamp><TimeStampToken Type="RFC3161">%s</TimeStampToken></TimeStamp></ArchiveTimeStamp></ArchiveTimeStampChain></ArchiveTimeStampSequence></EvidenceRecord>`,
			space, base64.StdEncoding.EncodeToString(value), base64.StdEncoding.EncodeToString(token(1)))
	}
	for _, row := range []struct {
		object text
		value  []byte
		held   bool
	}{
		{"a", hash("a"), true}, {"a", hash("b"), false}, {"<x  b='1'/>", hash("<x  b='1'/>"), true}, {"<x  b='1'/>", hash(`<x b="1"></x>`), true}, {"<x b='2'/>", hash(`<x b="1"></x>`), false},
	} {
		r, err := Parse(doc(row.value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Check([]Object{row.object}, sha)
		if err != nil || (got[0].Roots != nil) != row.held {
			t.Errorf("%s: %+v, %v", row.object, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(record(seq(seq(token(1)))))
	corpus.Seeds(f, 32<<10, "files", "xades", "*")
	f.Fuzz(func(_ *testing.T, in []byte) {
		r, err := Parse(in)
		if err != nil {
			return
		}
		_, _ = r.Check([]Object{text("a"), text("<x/>")}, sha)
	})
}
