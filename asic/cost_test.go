package asic

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/internal/yardstick"
)

// zipped is a container of files with these names and contents, one after the other.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBudgetOfReports: what a report says of every file for every signature is paid for.
func TestBudgetOfReports(t *testing.T) {
	files := []string{"mimetype", MediaTypeE, metaInf + "signatures.xml", `<a>` + strings.Repeat(`<Signature xmlns="`+xmldsig.Space+`"/>`, 20) + `</a>`}
	for i := range 1000 {
		files = append(files, fmt.Sprint("file ", i), "")
	}
	ctx := limits.WithBudget(t.Context(), limits.NewBudget(1<<20))
	if _, err := Read(ctx, bytes.NewReader(zipped(t, files...)), ades.ReadOptions{}); !errors.Is(err, limits.ErrBudget) {
		t.Errorf("error %v", err)
	}
}

// TestBudgetOfManySigners: every signer of one manifest refers to all of its files.
func TestBudgetOfManySigners(t *testing.T) {
	a := adestest.Must(t, clock).Actor(t, "p256")
	p := a.Signing(clock())
	var files []ades.File
	for i := range 100 {
		files = append(files, file(fmt.Sprint("file ", i), ""))
	}
	b := sign(t, a, files, Options{CAdES: true})
	b = rewrite(t, b, func(name string, content []byte) []byte {
		if strings.HasSuffix(name, ".p7s") {
			c, err := open(t.Context(), bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			over := c.of(roleManifest)[0]
			for range 30 {
				d, err := cades.Parallel(t.Context(), bytes.NewReader(content), over, p, cades.Options{Detached: true})
				if err != nil {
					t.Fatal(err)
				}
				content = a.Finish(t, d, p)
			}
		}
		return content
	}, nil)
	budget := limits.NewBudget(3 << 20)
	doc, err := Read(limits.WithBudget(t.Context(), budget), bytes.NewReader(b), ades.ReadOptions{})
	if !budget.Exceeded() {
		t.Errorf("%d signatures, error %v", len(doc.Signatures), err)
	}
}

// TestOneNameManyTimes: entries of one name are compared once, and not for each of them.
func TestOneNameManyTimes(t *testing.T) {
	files := []string{"mimetype", MediaTypeE, metaInf + "signatures.xml", `<a><Signature xmlns="` + xmldsig.Space + `"/></a>`}
	for range 5000 {
		files = append(files, "a", "")
	}
	start := yardstick.Processor()
	read(t, zipped(t, files...))
	if d := yardstick.Processor() - start; d > 2*yardstick.Second() {
		t.Errorf("took %v", d)
	}
}

// TestManyTypesOfOneFile: what signers say of the type of a file is compared with every entry of the
// manifest, but not one by one.
func TestManyTypesOfOneFile(t *testing.T) {
	entry := `<m:file-entry m:full-path="a" m:media-type="application/octet-stream"/>`
	manifest := `<m:manifest xmlns:m="` + nsManifest + `">` + strings.Repeat(entry, 5000) + `</m:manifest>`
	c, err := open(t.Context(), bytes.NewReader(zipped(t, "mimetype", MediaTypeE, "a", "", metaInf+odfManifestName, manifest)))
	if err != nil {
		t.Fatal(err)
	}
	s := &ades.Signature{ValueIntact: ades.Yes}
	for i := range 5000 {
		s.References = append(s.References, ades.Reference{URI: "a", MediaType: fmt.Sprint("text/x", i), Found: true, Intact: ades.Yes})
	}
	r := &reader{ctx: t.Context(), c: c, doc: &ades.Document{Format: ades.ASiCE, Signatures: []*ades.Signature{s}}}
	start := yardstick.Processor()
	r.packageManifest()
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
	if len(r.doc.Problems) != 1 || r.doc.Problems[0].Code != "ASIC_MEDIA_TYPE" {
		t.Errorf("problems %v", r.doc.Problems)
	}
}

// TestOrderOfProblems: the same container has the same problems in the same order.
func TestOrderOfProblems(t *testing.T) {
	files := []string{"mimetype", MediaTypeE, metaInf + "signatures.xml", `<a><Signature xmlns="` + xmldsig.Space + `"/></a>`}
	for i := range 100 {
		files = append(files, fmt.Sprint("a", i), "", fmt.Sprint("A", i), "")
	}
	b := zipped(t, files...)
	if one, other := fmt.Sprint(read(t, b).Problems), fmt.Sprint(read(t, b).Problems); one != other {
		t.Error("the problems differ")
	}
}
