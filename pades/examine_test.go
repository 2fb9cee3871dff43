package pades

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// said is what reading a document says of its last signature.
func said(t *testing.T, src ades.Source) string {
	doc, err := Read(t.Context(), src, ades.ReadOptions{})
	if err != nil {
		return "error"
	}
	if len(doc.Signatures) == 0 {
		return "none"
	}
	s := doc.Signatures[len(doc.Signatures)-1]
	return fmt.Sprint(s.Intact(), s.ValueIntact, s.ContentIsWhole, s.Problems, s.PDF.Changes, doc.Problems, doc.StoreRevision, doc.Evidence)
}

// A document whose beginning was examined is read as one that was not, whatever
// is wrong with what was written behind it.
func TestExaminedReadBack(t *testing.T) {
	t.Parallel()
	pki, err := adestest.New(nil, "http://pki.test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := pki.Enter("good")
	if err != nil {
		t.Fatal(err)
	}
	pdf := simplePDF(2000)
	found, err := Examine(t.Context(), bytes.NewReader(pdf), "")
	if err != nil || len(found.Twofold) > 0 || found.audited == nil {
		t.Fatalf("%+v, %v", found, err)
	}
	src := &examined{bytes.NewReader(pdf), found}
	draft, out := completed(t, signer, pki.Now(), src)
	g := out.(*grown)
	if text := said(t, g); !strings.HasPrefix(text, fmt.Sprint(ades.Yes, ades.Yes, true)+" []") || examinationOf(g).audited == nil {
		t.Fatal(text)
	}
	contents := bytes.Index(g.tail, []byte("/Contents<")) // long, and all alike
	tried := 0
	for i := range g.tail {
		if i > contents+300 && i < contents+int(draft.inc.to-draft.inc.from) && i%97 > 0 {
			continue
		}
		tail := bytes.Clone(g.tail)
		tail[i] = []byte{tail[i] ^ 1, ' ', '9'}[i%3]
		tried++
		short := said(t, &grown{src: src, tail: tail})
		whole := said(t, bytes.NewReader(append(bytes.Clone(pdf), tail...)))
		if short != whole {
			t.Fatalf("byte %d of the update is %q: going on says %s, the whole %s", i, tail[i], short, whole)
		}
	}
	for _, more := range []string{"4 0 obj null endobj\n", "% 9 0 obj\n", "startxref\n9\n%%EOF\n", " "} {
		tail := append(bytes.Clone(g.tail), more...)
		if short, whole := said(t, &grown{src: src, tail: tail}), said(t, bytes.NewReader(append(bytes.Clone(pdf), tail...))); short != whole {
			t.Errorf("%q behind it: going on says %s, the whole %s", more, short, whole)
		}
	}
	if tried < 1000 {
		t.Errorf("%d updates are few", tried)
	}
}

// What can be read in two ways is told, and not gone on from.
func TestExamineTwofold(t *testing.T) {
	t.Parallel()
	pdf := bytes.Replace(simplePDF(100), []byte("/Count 1"), []byte("/Count 1%"), 1)
	found, err := Examine(t.Context(), bytes.NewReader(pdf), "")
	if err != nil || len(found.Twofold) == 0 || found.audited != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// What is known of a document is true of it: stores in it are read, and so are
// its sections where they are streams, and where it was updated before.
func TestExaminedStores(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	raised := func(level ades.Level) []byte {
		var out bytes.Buffer
		r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
		if err := sign(t.Context(), bytes.NewReader(simplePDF(2000)), &out, signer.Key, signer.Signing(pki.Now()), Options{}, r); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	stored := newBuilder()
	stored.object(1, "<</Type/Catalog/Pages 2 0 R/DSS<</Certs[6 0 R]>>>>")
	stored.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	stored.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>")
	stored.stream(6, "", string(pki.Root.Raw))
	for name, c := range map[string]struct {
		pdf       []byte
		storeless bool
		evidence  bool
	}{
		"plain":    {simplePDF(2000), true, false},
		"deflated": {deflatedPDF(2000), true, false},
		"signed":   {raised(ades.LevelB), false, false},
		"raised":   {raised(ades.LevelLTA), false, true},
		"stored":   {stored.table("/Root 1 0 R/ID[<01020304><05060708>]"), false, true},
	} {
		found, err := Examine(t.Context(), bytes.NewReader(c.pdf), "")
		if err != nil || found.audited == nil || found.storeless != c.storeless {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		_, out := completed(t, signer, pki.Now(), &examined{bytes.NewReader(c.pdf), found})
		whole := append(bytes.Clone(c.pdf), out.(*grown).tail...)
		short, full := said(t, out), said(t, bytes.NewReader(whole))
		if short != full || strings.Contains(full, "certificate") != c.evidence {
			t.Errorf("%s: going on says %s, the whole %s", name, short, full)
		}
	}
}

// completed signs a document, and returns what was prepared too.
func completed(tb testing.TB, signer *adestest.Actor, at time.Time, src ades.Source) (*Draft, ades.Source) {
	tb.Helper()
	draft, err := Prepare(tb.Context(), src, signer.Signing(at), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := draft.Complete(tb.Context(), value, ades.AugmentOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return draft, out
}
