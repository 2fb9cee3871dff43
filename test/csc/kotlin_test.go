package csc

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// rqes is the EU's library for remote signing, as Maven names it.
const rqes = "eu.europa.ec.eudi:eudi-lib-jvm-rqes-csc-kt:0.3.0"

// kotlin builds testdata/kotlin, once, in a folder that is kept, and returns
// its class path. The test is skipped where it cannot be built.
func kotlin(t testing.TB) string {
	t.Helper()
	asked(t)
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not tried: %v", rqes, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rogito-csc", "kotlin-0.3.0")
	changed := false
	from := filepath.Join("testdata", "kotlin")
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, text) {
			return nil
		}
		changed = true
		return os.WriteFile(to, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "classpath.txt"))
	if err != nil || changed {
		maven := func(args ...string) {
			cmd := exec.Command("mvn", append([]string{"-q", "-B"}, args...)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: %s cannot be built: %v: %s", rqes, err, out[max(0, len(out)-1500):])
			}
		}
		maven("org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy", "-Dartifact="+rqes+":aar", "-DoutputDirectory="+dir)
		if err := extract(filepath.Join(dir, "eudi-lib-jvm-rqes-csc-kt-0.3.0.aar"), "classes.jar", filepath.Join(dir, "rqes.jar")); err != nil {
			t.Fatal(err)
		}
		maven("compile")
		if list, err = os.ReadFile(filepath.Join(dir, "classpath.txt")); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "target", "classes") + string(os.PathListSeparator) + strings.TrimSpace(string(list))
}

// extract takes one file out of an archive.
func extract(archive, name, to string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	f, err := z.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// overTLS gives a server a certificate of its own for loopback.
func overTLS(s *server) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "loopback"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("tls.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	s.write("tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	store, err := pkcs12.Legacy.EncodeTrustStore([]*x509.Certificate{cert}, "password")
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("trust.p12", string(store))
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	s.secure = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	config, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("rogito.yaml", string(config)+fmt.Sprintf("tls:\n  cert: %s\n  key: %s\n", filepath.Join(s.data, "tls.pem"), filepath.Join(s.data, "tls.key")))
}

// TestServerKotlin: the EU's library runs the code flow, with pushed requests
// and without, with authorization details and with scopes, and signs hashes.
func TestServerKotlin(t *testing.T) {
	classes := kotlin(t)
	r := &remote{server: newServer(t, "public_url: https://{addr}\n", overTLS)}
	o := r.client("kotlin")
	for _, way := range []struct{ par, rar, kind string }{{"par", "rar", "automatic"}, {"plain", "scope", "eseal"}, {"par", "scope", "otp"}, {"plain", "rar", "automatic"}} {
		t.Run(way.par+" "+way.rar+" "+way.kind, func(t *testing.T) {
			_, username, password := r.key(way.kind)
			doc := []byte(t.Name())
			algorithm := "1.2.840.10045.4.3.2"
			if way.kind == "automatic" {
				algorithm = "1.2.840.113549.1.1.11"
			}
			cmd := exec.Command("java", "-Djavax.net.ssl.trustStore="+filepath.Join(r.data, "trust.p12"), "-Djavax.net.ssl.trustStorePassword=password", "-Djavax.net.ssl.trustStoreType=PKCS12",
				"-cp", classes, "MainKt", r.url()+"/csc/v2", o.id, o.secret, o.redirect, way.par, way.rar, algorithm, hashOf(string(doc)), hashOf(string(doc)+" 2"))
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
			var values []string
			rounds, refused := 0, ""
			for lines := bufio.NewScanner(out); lines.Scan(); {
				word, rest, _ := strings.Cut(lines.Text(), " ")
				switch word {
				case "LOGIN":
					code := ""
					if way.kind == "otp" {
						code = r.code()
					}
					u, err := url.Parse(rest)
					if err != nil {
						t.Fatal(err)
					}
					back, b := o.login(u.Query(), username, password, code)
					if back == nil || back.Query().Get("code") == "" {
						t.Fatalf("no code at %s: %v %d %.1500s", rest, back, b.status, b.text)
					}
					fmt.Fprintf(in, "%s\n%s\n", back.Query().Get("code"), back.Query().Get("state"))
				case "VALUE":
					values = append(values, rest)
				case "SIGNED":
					rounds++
				case "REFUSED":
					refused = rest
				default:
					t.Log(lines.Text())
				}
			}
			if len(values) != 2 || rounds != 1 || refused == "" {
				t.Fatalf("%d values in %d rounds, then: %s", len(values), rounds, refused)
			}
			t.Logf("the second time: %s", refused)
			id, _, _ := r.key(way.kind)
			_, info := r.post(2, "credentials/info", r.sandbox.Token, m{"credentialID": id, "certificates": "single"})
			der, err := base64.StdEncoding.DecodeString(info["cert"].(m)["certificates"].([]any)[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			cert, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			value, err := base64.StdEncoding.DecodeString(values[0])
			if err == nil {
				err = verifies(cert, doc, value)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
