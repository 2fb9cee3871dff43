package tsl_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/tsl"
)

// The certificates that come with the package are those that the notice
// C/2026/1944 names, by their digests there.
func TestOfficialJournal(t *testing.T) {
	want := []string{
		"c0641c4f7d56c431b1c924742db7fce9c1eef7d7fd212113a2768486b3abcdc5",
		"e0a620fbb6747362bb933ac44169d676a553444716cf5f31605f12a22b8396b1",
		"df7e29360c34b2b8d6d5f40325c1d4d12c9922cecd33b7407674a74b2b3ca1e5",
		"b63d416744e7098bf9ec2caa596a93bc2468e37f8284ba65ecc061711bcbaa18",
		"236103f03a8031ae8f47f9059bf8de38564cdbfebedde4a597d50f8980aa653b",
		"d2064fdd70f6982dcc516b86d9d5c56aea939417c624b2e478c0b29de54f8474",
	}
	var got []string
	for _, der := range tsl.OfficialJournal() {
		sum := sha256.Sum256(der)
		got = append(got, hex.EncodeToString(sum[:]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the certificates are %v", got)
	}
}

// at2023 is when the given set of real lists was current.
var at2023 = time.Date(2023, 10, 28, 0, 0, 0, 0, time.UTC)

// europe2023 is a set that believes the notice of 2019.
func europe2023(t testing.TB, dir string) *tsl.Set {
	t.Helper()
	text, err := os.ReadFile(corpus.Shared(t, "trust", "oj-2019-276.pem"))
	if err != nil {
		t.Fatal(err)
	}
	c := tsl.Config{Dir: dir, Now: func() time.Time { return at2023 }}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c.Anchors = append(c.Anchors, block.Bytes)
	}
	s, err := tsl.NewSet(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// believed lists what is verified, by territory. Whether a list is past its
// next update is another matter.
func believed(s *tsl.Set) (good []string, missing []string) {
	for _, l := range s.State() {
		if l.Verified {
			good = append(good, l.Territory)
		} else {
			missing = append(missing, l.Territory)
		}
	}
	return good, missing
}

// TestRealLists imports the real set of 2023: the anchors of 2019 lead over pivots to list of lists
// 332, that of Germany is missing and the others work. What is exported is imported elsewhere, and
// loads again from the disk.
func TestRealLists(t *testing.T) {
	pool := os.DirFS(corpus.Shared(t, "trust", "pool"))
	dir := t.TempDir()
	s := europe2023(t, dir)
	err := s.Import(t.Context(), pool)
	var lotl *tsl.LOTLError
	if err == nil || errors.As(err, &lotl) {
		t.Fatalf("import: %v", err)
	}
	good, missing := believed(s)
	if len(good) != 31 || !slices.Equal(missing, []string{"DE"}) {
		t.Fatalf("believed %v, not %v: %v", good, missing, err)
	}
	if st := s.State()[0]; st.Territory != "EU" || st.Sequence != 332 {
		t.Errorf("list of lists %+v", st)
	}

	var zipped bytes.Buffer
	if err := s.Export(&zipped); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(zipped.Bytes()), int64(zipped.Len()))
	if err != nil {
		t.Fatal(err)
	}
	other := europe2023(t, t.TempDir())
	_ = other.Import(t.Context(), archive)
	if again, _ := believed(other); !slices.Equal(again, good) {
		t.Errorf("after export and import %v", again)
	}

	start := time.Now()
	third := europe2023(t, dir)
	_ = third.Load(t.Context())
	took := time.Since(start)
	if again, _ := believed(third); !slices.Equal(again, good) {
		t.Errorf("from the disk %v", again)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d lists loaded from the disk in %v; %d bytes zipped; heap with three sets %d MB", len(good), took, zipped.Len(), m.HeapAlloc>>20)
	runtime.KeepAlive(s)
	runtime.KeepAlive(other)
	runtime.KeepAlive(third)

	for _, name := range []string{"EU.xml", "EU-282.xml", "EU-300.xml", "IT.xml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	_ = europe2023(b, dir).Import(context.Background(), os.DirFS(corpus.Shared(b, "trust", "pool")))
	for b.Loop() {
		s := europe2023(b, dir)
		if err := s.Load(context.Background()); err == nil {
			b.Fatal("Germany is there")
		}
	}
}
