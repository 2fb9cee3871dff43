package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
)

// runTool runs a command that must succeed.
func runTool(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = brief()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestCAdESByOpenSSL(t *testing.T) {
	openssl := tool(t, "openssl")
	content := someBytes(200_000)
	for _, actor := range []string{"good", "p256", "p384", "p521", "rsa3072"} {
		for _, pss := range []bool{false, true} {
			for _, level := range levels {
				a := pki.Actor(t, actor)
				p := a.Signing(pki.Now())
				p.PSS = pss
				file := write(t, "a.p7m", raiseCAdES(t, signCAdES(t, a, content, p, cades.Options{}), level))
				out := file + ".out"
				args := []string{"cms", "-verify", "-binary", "-inform", "DER", "-in", file, "-out", out, "-CAfile", rootPEM, "-purpose", "any", "-cades"}
				runTool(t, openssl, args...)
				got, err := os.ReadFile(out)
				table.add(row{"OpenSSL", "CAdES", "attached", level.String(), algorithm(p)}, err == nil && bytes.Equal(got, content))
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s: content differs: %v", actor, err)
				}
			}
		}
	}
}

func TestOpenSSLReadByUs(t *testing.T) {
	openssl := tool(t, "openssl")
	a := pki.Actor(t, "good")
	dir := t.TempDir()
	content := write(t, "content", someBytes(150_000))
	cert := write(t, "cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw}))
	key := write(t, "key.pem", keyPEM(t, a.Key))
	second := pki.Actor(t, "second")
	cert2 := write(t, "cert2.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: second.Certificate.Raw}))
	key2 := write(t, "key2.pem", keyPEM(t, second.Key))
	variants := map[string][]string{
		"attached":   {"-nodetach"},
		"detached":   {},
		"cades":      {"-nodetach", "-cades"},
		"streamed":   {"-nodetach", "-stream", "-indef"},
		"key id":     {"-nodetach", "-keyid"},
		"no attrs":   {"-nodetach", "-noattr"},
		"PSS":        {"-nodetach", "-keyopt", "rsa_padding_mode:pss"},
		"PSS, max":   {"-nodetach", "-keyopt", "rsa_padding_mode:pss", "-keyopt", "rsa_pss_saltlen:-2"},
		"SHA-512":    {"-nodetach", "-md", "sha512"},
		"PEM":        {"-nodetach", "-outform", "PEM"},
		"no certs":   {"-nodetach", "-nocerts"},
		"two signer": {"-nodetach", "-signer", cert2, "-inkey", key2},
	}
	for name, more := range variants {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
			args := append([]string{"cms", "-sign", "-binary", "-in", content, "-out", out, "-outform", "DER", "-signer", cert, "-inkey", key}, more...)
			runTool(t, openssl, args...)
			signed, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var r ades.ReadOptions
			if name == "detached" {
				r.Detached = []ades.File{{Source: bytes.NewReader(someBytes(150_000))}}
			}
			doc, err := cades.Read(context.Background(), bytes.NewReader(signed), r)
			if err != nil {
				t.Fatal(err)
			}
			want := ades.Yes
			if name == "no certs" {
				want = ades.Unknown
			}
			for _, s := range doc.Signatures {
				table.add(row{"rogito, of OpenSSL", "CMS", name, "", ""}, s.Intact() == want)
				if s.Intact() != want {
					t.Errorf("intact %v, problems %v", s.Intact(), s.Problems)
				}
			}
			if name == "cades" || name == "detached" {
				raised := raiseCAdES(t, signed, ades.LevelLTA, r.Detached...)
				ask := Ask{File: write(t, "a.p7m", raised)}
				if name == "detached" { // without -cades, OpenSSL signs no reference to the certificate
					ask.Detached, ask.Warns = []any{content}, "BBB_ICS_ISASCP_ANS"
				}
				dss.Passed(t, ask, "")
			}
		})
	}
}

// TestCAdESOfDSS raises what DSS has signed, and has DSS raise what we have.
func TestCAdESOfDSS(t *testing.T) {
	bin := filepath.Join(shared(t), "oracle", "bin", "dss")
	tool(t, "java")
	a := pki.Actor(t, "good")
	p12 := writeP12(t, a)
	content := write(t, "content.bin", someBytes(1000))
	dir := t.TempDir()
	for _, packaging := range []string{"enveloping", "detached"} {
		theirs := filepath.Join(dir, "dss-"+packaging+".p7m")
		runTool(t, bin, "sign", "--p12", p12, "--password", "password", "--format", "cades", "--packaging", packaging, "--out", theirs, content)
		signed, err := os.ReadFile(theirs)
		if err != nil {
			t.Fatal(err)
		}
		var files []ades.File
		ask := Ask{}
		if packaging == "detached" {
			files = []ades.File{{Source: bytes.NewReader(someBytes(1000))}}
			ask.Detached = []any{content}
		}
		for _, level := range levels[1:] {
			ask.File = write(t, "raised.p7m", raiseCAdES(t, signed, level, files...))
			dss.Passed(t, ask, "CAdES-BASELINE-"+level.String())
		}
	}

	ours := write(t, "ours.p7m", signCAdES(t, a, someBytes(1000), a.Signing(pki.Now()), cades.Options{}))
	out := filepath.Join(dir, "extended.p7m")
	runTool(t, bin, "extend", "--level", "LTA", "--tsa", pki.TSA(), "--trust", rootPEM, "--out", out, ours)
	dss.Passed(t, Ask{File: out}, "CAdES-BASELINE-LTA")
	extended, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := cades.Read(context.Background(), bytes.NewReader(extended), ades.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ts := range doc.Signatures[0].Timestamps {
		if ts.ImprintIntact != ades.Yes || ts.Signature.Intact() != ades.Yes {
			t.Errorf("%s of DSS: imprint %v", ts.Path, ts.ImprintIntact)
		}
	}
	ask := Ask{File: write(t, "again.p7m", raiseCAdES(t, extended, ades.LevelLTA))}
	dss.Passed(t, ask, "CAdES-BASELINE-LTA")
}

func TestCAdESPyHanko(t *testing.T) {
	shared(t)
	content := someBytes(2000)
	// pyHanko judges as of when it began, and refuses an OCSP answer that was made more than a second
	// later, which happens on a busy machine. Real responders make theirs in advance.
	pki := adestest.Start(t, func() time.Time { return time.Now().Add(-time.Minute) })
	root := write(t, "root.pem", pki.RootPEM())
	for _, actor := range []string{"good", "p256", "p384", "p521"} {
		for _, pss := range []bool{false, true} {
			for _, detached := range []bool{false, true} {
				a := pki.Actor(t, actor)
				p := a.Signing(pki.Now())
				p.PSS = pss
				args := []string{"validate", "--trust", root}
				if detached {
					args = append(args, "--detached", write(t, "content", content))
				}
				out := oracleRun(t, "pyhanko-oracle", append(args, write(t, "a.p7m", signCAdES(t, a, content, p, cades.Options{Detached: detached})))...)
				var v struct {
					Integrity string `json:"integrity"`
					Valid     bool   `json:"valid"`
				}
				if err := json.Unmarshal(out, &v); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				ok := v.Integrity == "intact" && v.Valid
				table.add(row{"pyHanko", "CAdES", map[bool]string{false: "attached", true: "detached"}[detached], "B", algorithm(p)}, ok)
				if !ok {
					t.Errorf("%s, pss %v, detached %v: %s", actor, pss, detached, out)
				}
			}
		}
	}
}
