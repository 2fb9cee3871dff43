package verification

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"testing"

	"rogito.dev/rogito/ades"
)

// Archives are folders, down to a depth; what programs leave in folders is left
// out, and a detached signature has the file beside it.
func TestGather(t *testing.T) {
	t.Parallel()
	signed := newVerifyServer(t).sign(true)
	file := func(name string, content []byte) ades.File {
		return ades.File{Name: name, Source: bytes.NewReader(content)}
	}
	pack := func(files map[string][]byte) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, content := range files {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	deep := []byte("testo")
	for i := range maxZips + 1 {
		deep = pack(map[string][]byte{fmt.Sprintf("%d", i): deep})
	}
	got := ""
	for _, d := range gather(context.Background(), nil, "", []ades.File{
		file("a/x.txt", []byte("x")), file("a/plan.dwg", []byte("content")), file("b/plan.dwg.p7s", signed), file("plan.dwg.p7s", signed), file("plan.dwg", []byte("content")),
		file("a/.DS_Store", []byte("x")), file("deep.zip", deep), file("empty.zip", pack(nil)),
	}, 0) {
		got += fmt.Sprintf("%s %d\n", d.Name, len(d.beside))
	}
	const want = "a/x.txt 0\na/plan.dwg 0\nb/plan.dwg.p7s 0\nplan.dwg.p7s 1\ndeep.zip/4/3/2/1 0\nempty.zip 0\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
