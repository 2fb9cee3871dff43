package jades_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/jades"
)

// dssFiles are the files of EU DSS's own tests and what those assert of them, in
// a line each: level and integrity of every signature, then the imprints of its
// time-stamps; "-" is broken, "?" undecided. A code behind it is a fatal finding
// of ours. What differs stands in docs/divergences.md.
var dssFiles = map[string]string{
	"altered-jws.json":                                                         "B -",
	"double-lta-in-container.json":                                             "LTA + signature+ archive+ archive+",
	"dss2620/jades-b-level-with-etsiu-in-crit.json":                            "NOT + JWS_CRIT_ABSENT",
	"dss2620/jades-t-level-with-etsiu-in-crit.json":                            "T + signature+",
	"dss2620/jades-with-b64-not-in-crit.json":                                  "NOT + JWS_CRIT_MISSING",
	"dss2620/jades-with-crit-string-type.json":                                 "NOT + JWS_CRIT_FORM",
	"dss2620/jades-with-crit-with-duplicated-header.json":                      "NOT + JWS_CRIT_FORM",
	"dss2620/jades-with-crit-with-wrong-entry-type.json":                       "NOT + JWS_CRIT_FORM",
	"dss2620/jades-with-critical-headers-in-crit.json":                         "NOT + JWS_CRIT_DEFINED",
	"dss2620/jades-with-empty-crit.json":                                       "NOT + JWS_CRIT_FORM",
	"dss2620/jades-with-expiration-time-header-in-crit.json":                   "B +",
	"dss2620/jades-with-expiration-time-header.json":                           "B +",
	"dss2620/jades-with-extra-crit-entry.json":                                 "NOT + JWS_CRIT_ABSENT",
	"dss2620/jades-with-notBefore-header-in-crit.json":                         "NOT + JWS_CRIT_UNKNOWN",
	"dss2620/jades-with-notBefore-header.json":                                 "B +",
	"dss2620/jades-without-non-critical-header-in-crit.json":                   "B +",
	"evidence-record/Signature-J-LT-a0baac29-c2b6-4544-abc5-d26ac6c8b655.json": "LT + signature+",
	"flattened-extra-element.json":                                             "B +",
	"jades-b-copied-cnttst.json":                                               "B + content+ content+",
	"jades-b-iat-and-sigt.json":                                                "NOT +",
	"jades-b-no-signing-time.json":                                             "NOT +",
	"jades-b-with-xvals.json":                                                  "B +",
	"jades-detached-by-uri-encoded-pars.json":                                  "B +",
	"jades-detached-by-uri-hash-encoded-pars.json":                             "B +",
	"jades-double-sig-different-etsiU.json":                                    "LT + signature+ | LTA + signature+ archive+",
	"jades-flattened-BpB-detached-objectByURIHash.json":                        "B +",
	"jades-flattened-BpT-broken-sigTst.json":                                   "T + signature-",
	"jades-level-b-full-type.json":                                             "B +",
	"jades-level-b-sig-policy-invalid-digest-algo.json":                        "B +",
	"jades-lta-broken-arcTst.json":                                             "LTA + signature+ archive-",
	"jades-lta-copied-arctst.json":                                             "LTA + signature+ archive-",
	"jades-lta-with-etsiU-whitespaces.json":                                    "LTA + signature+ archive+",
	"jades-lta.json":                                                           "LTA + signature+ archive+",
	"jades-t-clear-etsiu.json":                                                 "T + signature-",
	"jades-t-copied-sigtst.json":                                               "T + content+ signature-",
	"jades-t-duplicated-sigtst.json":                                           "T + signature+ signature+",
	"jades-triple-LTA.json":                                                    "LTA + signature+ archive+ archive+ archive+",
	"jades-two-sigs-copied-tst.json":                                           "T + signature+ | T + signature-",
	"jades-unsupported-signature-algorithm.json":                               "B ?",
	"jades-with-asn1policy-digPSp.json":                                        "B +",
	"jades-with-asn1policy.json":                                               "B +",
	"jades-with-attached-counter-signature-replace-attack.json":                "B + / B - JADES_COUNTER_SIGNS_OTHER",
	"jades-with-broken-attached-counter-signature.json":                        "B + / B - JADES_COUNTER_SIGNS_OTHER",
	"jades-with-broken-detached-counter-signature.json":                        "B + / B -",
	"jades-with-certified.json":                                                "B +",
	"jades-with-counter-signature.json":                                        "B + / B +",
	"jades-with-double-sigt.json":                                              "NOT ? JSON_NAME_TWICE",
	"jades-with-line-break.json":                                               "B +",
	"jades-with-mixed-etsiU-type.json":                                         "B + JADES_ETSIU",
	"jades-with-multiple-sign-cert-refs.json":                                  "B +",
	"jades-with-sigAndRefsTst-with-dot.json":                                   "T + signature+ sig-and-refs+ refs-only+ sig-and-refs+",
	"jades-with-sigAndRefsTst-without-dot.json":                                "T + signature+ sig-and-refs- refs-only+ sig-and-refs-",
	"jades-with-spUserNotice.json":                                             "B +",
	"jades-with-spdspec.json":                                                  "B +",
	"jades-wrong-etsiu-type.json":                                              "B + JADES_ETSIU",
	"jades-wrong-x5c-header.json":                                              "NOT ? JWS_HEADER_FORM",
	"jws-serialization-no-signatures.json":                                     "no JWS",
	"malformed-jades-serialization.json":                                       "no JWS",
	"serialization-extra-element.json":                                         "B +",
	"serialization-wrong-payload-type.json":                                    "malformed",
	"simple-detached-wrong-algo.json":                                          "B ? JADES_SIGD",
	"simple-detached.json":                                                     "B +",
}

// dssContents are what the tests of DSS give to detached signatures, by name.
func dssContents(t *testing.T, root string) []ades.File {
	all := []ades.File{file("TEST-DOC.txt", "TL-039 Test Document")}
	for name, as := range map[string]string{
		"sample.json": "", "ObjectIdByURI-1.html": "https://nowina.lu/pub/JAdES/", "ObjectIdByURI-2.html": "https://nowina.lu/pub/JAdES/",
		"ObjectIdByURIHash-1.html": "https://signature-plugtests.etsi.org/pub/JAdES/", "ObjectIdByURIHash-2.html": "https://signature-plugtests.etsi.org/pub/JAdES/",
	} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ades.File{Name: as + name, Source: bytes.NewReader(b)})
	}
	return all
}

// The files of EU DSS's tests are judged as those tests assert. ROGITO_DSS names a
// copy of its sources.
func TestFilesOfDSS(t *testing.T) {
	dir := os.Getenv("ROGITO_DSS")
	if dir == "" {
		t.Skip("SKIPPED: set ROGITO_DSS to a copy of the sources of EU DSS (esig/dss)")
	}
	root := filepath.Join(dir, "dss-jades", "src", "test", "resources")
	contents := dssContents(t, root)
	for name, want := range dssFiles {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "validation", filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			if got := inALine(t, text, contents); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// inALine tells a file as dssFiles does.
func inALine(t *testing.T, text []byte, contents []ades.File) string {
	if jades.Detect(bytes.NewReader(text)) == jades.NoJWS {
		return "no JWS"
	}
	doc, err := jades.Read(t.Context(), bytes.NewReader(text), ades.ReadOptions{Detached: contents})
	if err != nil {
		return "malformed"
	}
	sign := map[ades.Tri]string{ades.Yes: "+", ades.No: "-", ades.Unknown: "?"}
	var tell func(s *ades.Signature) string
	tell = func(s *ades.Signature) string {
		level := strings.TrimPrefix(strings.TrimSuffix(jades.Profile(s, doc, nil).Name, "-ETSI"), "JAdES-BASELINE-")
		line := fmt.Sprintf("%s %s", strings.TrimPrefix(level, "JSON-"), sign[s.Intact()])
		for _, ts := range s.Timestamps {
			line += fmt.Sprintf(" %s%s", ts.Kind, sign[ts.ImprintIntact])
		}
		for _, p := range s.Problems {
			if p.Fatal {
				line += " " + p.Code
				break
			}
		}
		for _, c := range s.CounterSignatures {
			line += " / " + tell(c)
		}
		return line
	}
	var all []string
	for _, s := range doc.Signatures {
		all = append(all, tell(s))
	}
	return strings.Join(all, " | ")
}
