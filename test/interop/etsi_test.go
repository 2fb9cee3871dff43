package interop

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/trust"
)

// schemas are where the schema of the report and what it imports lie in the
// libraries of DSS, by the namespaces that they are imported for.
var schemas = map[string]struct{ jar, file string }{
	"":                                     {"specs-validation-report-*.jar", "TS119102-2-v141.xsd"},
	"http://www.w3.org/2000/09/xmldsig#":   {"specs-xmldsig-*.jar", "xmldsig-core-schema.xsd"},
	"http://uri.etsi.org/01903/v1.3.2#":    {"specs-xades-*.jar", "XAdES.xsd"},
	"http://uri.etsi.org/02231/v2#":        {"specs-trusted-list-v211-*.jar", "ts_119612v020101_xsd.xsd"},
	"http://www.w3.org/XML/1998/namespace": {"specs-xmldsig-*.jar", "xml.xsd"},
}

var schemaImport = regexp.MustCompile(`namespace="([^"]*)"\s+schemaLocation="[^"]*"`)

// etsiSchema puts the schema of TS 119 102-2 into a folder of the test, with
// imports that lead to files beside it.
func etsiSchema(t *testing.T) string {
	t.Helper()
	jars := dssLibraries(t)
	dir := t.TempDir()
	for _, s := range schemas {
		b := schemaImport.ReplaceAllFunc(fromJar(t, jars, s.jar, "xsd/"+s.file), func(found []byte) []byte {
			space := string(schemaImport.FindSubmatch(found)[1])
			return fmt.Appendf(nil, `namespace=%q schemaLocation=%q`, space, schemas[space].file)
		})
		if err := os.WriteFile(filepath.Join(dir, s.file), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, schemas[""].file)
}

// dssLibraries is the folder of the libraries that the oracle runs.
func dssLibraries(t *testing.T) string {
	t.Helper()
	dss.Validate(t, Ask{File: write(t, "a.txt", []byte("a"))}) // which builds it
	cache := os.Getenv("ROGITO_ORACLE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skipf("SKIPPED: no cache of the oracles: %v", err)
		}
		cache = filepath.Join(home, ".cache", "rogito-oracle")
	}
	found, _ := filepath.Glob(filepath.Join(cache, "dss", "*", schemas[""].jar))
	if len(found) == 0 {
		t.Skip("SKIPPED: the libraries of DSS, which hold the schema, are not in the cache of the oracles")
	}
	return filepath.Dir(found[len(found)-1])
}

func fromJar(t *testing.T, dir, jar, name string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, jar))
	if err != nil || len(found) == 0 {
		t.Skipf("SKIPPED: no %s among the libraries of DSS", jar)
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := readEntry(&z.Reader, name)
	if err != nil {
		t.Fatalf("%s: %v", jar, err)
	}
	return b
}

func readEntry(z *zip.Reader, name string) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// TestETSIReport holds our reports to the schema of TS 119 102-2: those on
// every document of the corpus, and those on ours at every level.
func TestETSIReport(t *testing.T) {
	shared(t)
	lint := tool(t, "xmllint")
	schema := etsiSchema(t)
	dir := t.TempDir()
	args := []string{"--nonet", "--noout", "--schema", schema}
	keep := func(name string, r *report.Report) {
		var b bytes.Buffer
		if err := paper.WriteETSI(&b, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := references(b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join(dir, name+".xml")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	for _, c := range append(corpus.Manifest(t), corpus.Attacks(t)...) {
		in := c.Reading(t)
		if r, err := new(rogito.Verifier).Verify(t.Context(), c.Source(t), rogito.VerifyOptions{Detached: in.Detached, Password: in.Password}); err == nil {
			keep(c.ID, r)
		}
	}
	ownReports(t, keep)
	out, err := exec.Command(lint, args...).CombinedOutput()
	bad := 0
	for line := range strings.Lines(string(out)) {
		valid, invalid := strings.HasSuffix(strings.TrimSpace(line), " validates"), strings.HasSuffix(strings.TrimSpace(line), " fails to validate")
		if valid || invalid {
			table.add(row{validator: "xmllint, of our reports", format: "TS 119 102-2 V1.4.1"}, valid)
		}
		if valid {
			continue
		}
		if bad++; bad <= 20 {
			t.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(line), dir))
		}
	}
	if err != nil || len(args) < 400 {
		t.Errorf("xmllint: %v over %d reports", err, len(args)-4)
	}
}

// ownReports are on documents whose signers are trusted, expired and revoked.
func ownReports(t *testing.T, keep func(string, *report.Report)) {
	t.Helper()
	store := new(trust.Store)
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		t.Fatal(err)
	}
	v := &rogito.Verifier{Trust: store}
	for _, level := range []ades.Level{ades.LevelB, ades.LevelT, ades.LevelLT, ades.LevelLTA} {
		signed := signPAdES(t, somePDF(t), padesCase{actor: "good", level: level})
		r, err := v.Verify(t.Context(), bytes.NewReader(signed), rogito.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		keep("ours-"+level.String(), r)
	}
	// Revoked after it was signed, and found in the file.
	late := adestest.Must(t, nil)
	a := late.Actor(t, "good")
	var out bytes.Buffer
	doc := rogito.File("a.txt", strings.NewReader("text"))
	late.Revoke(a, 1)
	o := rogito.Options{SignParams: a.Signing(late.Now()), Level: ades.LevelLT, Stamper: late.Unit, Gatherer: late}
	if _, err := rogito.Sign(t.Context(), doc, &out, a.Key, o); err != nil {
		t.Fatal(err)
	}
	anchors := new(trust.Store)
	if err := anchors.AddAnchors(late.RootPEM()); err != nil {
		t.Fatal(err)
	}
	r, err := (&rogito.Verifier{Trust: anchors, Now: func() time.Time { return late.Now().Add(time.Minute) }}).
		Verify(t.Context(), bytes.NewReader(out.Bytes()), rogito.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Conclusions.Signatures[0]; s.RevokedAt.IsZero() {
		t.Errorf("not found to be revoked: %s %s", s.Indication, s.SubIndication)
	}
	keep("ours-revoked", r)
}

// references checks what a schema cannot: ids are unique, and every reference
// leads to one.
func references(b []byte) error {
	ids, refs := map[string]bool{}, map[string]bool{}
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range start.Attr {
			switch a.Name.Local {
			case "id":
				if ids[a.Value] {
					return fmt.Errorf("id %s is given twice", a.Value)
				}
				ids[a.Value] = true
			case "VOReference":
				for id := range strings.FieldsSeq(a.Value) {
					refs[id] = true
				}
			}
		}
	}
	for id := range refs {
		if !ids[id] {
			return fmt.Errorf("reference to %s, which is not there", id)
		}
	}
	return nil
}
