package pkix

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"rogito.dev/rogito/internal/corpus"
)

var (
	embedded = regexp.MustCompile(`(?s)X509Certificate>([A-Za-z0-9+/=\s]+)<`)
	v3Start  = []byte{0xa0, 3, 2, 1, 2, 2}
)

// certificatesIn finds what looks like certificates in any file: encoded in
// the open, in XML text, and inside ZIP members.
func certificatesIn(b []byte, found map[[32]byte][]byte, zips bool) {
	add := func(der []byte) { found[sha256.Sum256(der)] = der }
	if !bytes.HasPrefix(b, []byte("PK")) {
		zips = false
	}
	if r, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); zips && err == nil {
		for _, f := range r.File[:min(len(r.File), 100)] {
			if in, err := f.Open(); err == nil {
				inner, _ := io.ReadAll(io.LimitReader(in, 2<<20))
				in.Close()
				certificatesIn(inner, found, false)
			}
		}
		return
	}
	for _, m := range embedded.FindAllSubmatch(b, -1) {
		if der, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(m[1]), nil))); err == nil {
			add(der)
		}
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], v3Start)
		if i < 0 {
			return
		}
		at += i + 1
		start := at - 1 - 8
		if start < 0 {
			continue
		}
		r := reader(b[start:])
		if e, ok := r.take(tagSequence); ok && len(e.body) > 4 && e.body[0] == tagSequence {
			add(e.full)
		}
	}
}

func corpusCertificates(t testing.TB) map[[32]byte][]byte {
	found := map[[32]byte][]byte{}
	err := filepath.WalkDir(corpus.Path(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 8<<20 {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil {
			certificatesIn(b, found, true)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCorpusCertificates: whatever crypto/x509 reads we read alike, and almost
// all of the rest too.
func TestCorpusCertificates(t *testing.T) {
	all := corpusCertificates(t)
	var theirs, ours, keyless, bad int
	for _, der := range all {
		std, stdErr := x509.ParseCertificate(der)
		c, err := ParseCertificate(der)
		if stdErr == nil {
			theirs++
		}
		if err != nil {
			bad++
			if stdErr == nil {
				t.Errorf("crypto/x509 reads one that we refuse: %v", err)
			}
			continue
		}
		ours++
		if c.PublicKey == nil {
			keyless++
			t.Logf("no key: %v", c.KeyError)
		}
		if stdErr != nil {
			continue
		}
		if c.SerialNumber.Cmp(std.SerialNumber) != 0 || !c.NotAfter.Equal(std.NotAfter) ||
			!bytes.Equal(c.RawTBS, std.RawTBSCertificate) || !bytes.Equal(c.RawSPKI, std.RawSubjectPublicKeyInfo) ||
			!bytes.Equal(c.SubjectKeyID, std.SubjectKeyId) || !bytes.Equal(c.AuthorityKeyID, std.AuthorityKeyId) ||
			KeyUsage(std.KeyUsage) != c.KeyUsage {
			t.Errorf("certificate %x read differently", sha256.Sum256(der))
		}
	}
	t.Logf("%d candidates: crypto/x509 reads %d, we read %d (%d without a key we know), %d are none", len(all), theirs, ours, keyless, bad)
	if ours < theirs || keyless > 20 {
		t.Errorf("too few read")
	}
}
