package pdf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

// writeFile writes a document of one page with a stream of each kind.
func writeFile(t *testing.T, password string, long []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	f := NewFile(&b, "1.7")
	if password != "" {
		if err := f.Encrypt(password); err != nil {
			t.Fatal(err)
		}
	}
	root, pages, page, content, never, big := f.Reserve(), f.Reserve(), f.Reserve(), f.Reserve(), f.Reserve(), f.Reserve()
	put := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	put(f.Put(pages, NewDict(Name("Type"), Name("Pages"), Name("Kids"), Array{page}, Name("Count"), Integer(1))))
	put(f.Put(root, NewDict(Name("Type"), Name("Catalog"), Name("Pages"), pages, Name("Lang"), Text("it"), Name("Nothing"), never, Name("Big"), big)))
	put(f.Put(page, NewDict(Name("Type"), Name("Page"), Name("Parent"), pages, Name("MediaBox"), Array{Integer(0), Integer(0), Integer(10), Integer(10)}, Name("Contents"), content)))
	put(f.Put(content, &Stream{Dict: NewDict(), Data: []byte("q Q")}))
	put(f.PutStream(big, NewDict(), bytes.NewReader(long), int64(len(long))))
	put(f.Close(NewDict(Name("Root"), root)))
	return b.Bytes()
}

func TestFile(t *testing.T) {
	for _, password := range []string{"", "secret", "pässwörd €", strings.Repeat("long", 50)} {
		for _, n := range []int{0, 1, 15, 16, 17, 32<<10 - 1, 32 << 10, 32<<10 + 1, 100_000} {
			long := bytes.Repeat([]byte("x"), n)
			b := writeFile(t, password, long)
			d, err := Open(bytes.NewReader(b), Options{Password: password})
			if err != nil {
				t.Fatalf("%q, %d bytes: %v", password, n, err)
			}
			cat, err := d.Catalog()
			if err != nil || d.Text(cat.Get("Lang")) != "it" || d.Encrypted() != (password != "") {
				t.Fatalf("%v %v", cat, err)
			}
			if o, err := d.Resolve(cat.Get("Nothing")); o != nil || err != nil {
				t.Errorf("what was never written: %v, %v", o, err)
			}
			o, err := d.Resolve(cat.Get("Big"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := d.Data(o.(*Stream)); err != nil || !bytes.Equal(got, long) {
				t.Errorf("%q: %d of %d bytes, %v", password, len(got), n, err)
			}
		}
	}
	b := writeFile(t, "secret", nil)
	if _, err := Open(bytes.NewReader(b), Options{Password: "wrong"}); !errors.Is(err, ades.ErrPassword) {
		t.Errorf("opened with a wrong password: %v", err)
	}
	if bytes.Contains(b, []byte("(it)")) {
		t.Error("a string in clear")
	}
}

// Others read it too.
func TestFileOfOthers(t *testing.T) {
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		t.Skip("SKIPPED: qpdf is not installed")
	}
	for _, password := range []string{"", "secret", "pässwörd"} {
		name := filepath.Join(t.TempDir(), "f.pdf")
		if err := os.WriteFile(name, writeFile(t, password, bytes.Repeat([]byte("y"), 70_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(qpdf, "--check", "--password="+password, name).CombinedOutput()
		if err != nil || password != "" && !bytes.Contains(out, []byte("R = 6")) {
			t.Errorf("%q: %v: %s", password, err, out)
		}
	}
}

func TestFileRefuses(t *testing.T) {
	f := NewFile(io.Discard, "1.7")
	ref := f.Reserve()
	if err := f.Encrypt("x"); err == nil {
		t.Error("encrypted after the first object")
	}
	if err := f.Put(ref, Integer(1)); err != nil {
		t.Error(err)
	}
	if f.Put(ref, Integer(1)) == nil || f.Put(Ref{Num: 9}, nil) == nil {
		t.Error("an object twice, or one that was not reserved")
	}
	if err := f.PutStream(f.Reserve(), NewDict(), strings.NewReader("ab"), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream cut short: %v", err)
	}
}
