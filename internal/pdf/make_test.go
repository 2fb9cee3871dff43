package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"sort"
	"strings"
	"testing"
)

// file writes PDF files by hand, right and wrong ones.
type file struct {
	bytes.Buffer
	offsets map[int]int
}

func newFile() *file {
	f := &file{offsets: make(map[int]int)}
	f.WriteString("%PDF-1.7\n")
	return f
}

func (f *file) object(num int, body string) *file {
	f.offsets[num] = f.Len()
	fmt.Fprintf(f, "%d 0 obj\n%s\nendobj\n", num, body)
	return f
}

func (f *file) nums() []int {
	var out []int
	for n := range f.offsets {
		out = append(out, n)
	}
	sort.Ints(out)
	return out
}

// table writes a cross-reference table and returns its offset.
func (f *file) table(trailer string) int {
	at := f.Len()
	f.WriteString("xref\n0 1\n0000000000 65535 f \n")
	for _, n := range f.nums() {
		fmt.Fprintf(f, "%d 1\n%010d 00000 n \n", n, f.offsets[n])
	}
	fmt.Fprintf(f, "trailer\n<<%s>>\nstartxref\n%d\n%%%%EOF\n", trailer, at)
	f.offsets = make(map[int]int)
	return at
}

// xrefStream writes a cross-reference stream; entries in streams are given as
// number → {stream, index}.
func (f *file) xrefStream(num int, extra string, inStream map[int][2]int) int {
	at := f.Len()
	f.offsets[num] = at
	var rows bytes.Buffer
	var index []string
	all := f.nums()
	for n := range inStream {
		all = append(all, n)
	}
	sort.Ints(all)
	for _, n := range all {
		index = append(index, fmt.Sprintf("%d 1", n))
		if e, ok := inStream[n]; ok {
			rows.Write([]byte{2, byte(e[0] >> 8), byte(e[0]), byte(e[1])})
			continue
		}
		rows.Write([]byte{1, byte(f.offsets[n] >> 8), byte(f.offsets[n]), 0})
	}
	data := deflate(rows.Bytes())
	fmt.Fprintf(f, "%d 0 obj\n<</Type/XRef/W[1 2 1]/Index[%s]/Filter/FlateDecode/Length %d%s>>\nstream\n%s\nendstream\nendobj\n",
		num, strings.Join(index, " "), len(data), extra, data)
	fmt.Fprintf(f, "startxref\n%d\n%%%%EOF\n", at)
	f.offsets = make(map[int]int)
	return at
}

func deflate(b []byte) string {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(b)
	w.Close()
	return z.String()
}

// body adds a document of one page as objects 1 to 4.
func (f *file) body() *file {
	f.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 200 300]>>")
	f.object(3, "<</Type/Page/Parent 2 0 R/Rotate 90/CropBox[10 10 190 290]/Contents 4 0 R>>")
	return f.object(4, "<</Length 5>>\nstream\n0 0 m\nendstream")
}

func classic() []byte {
	f := newFile().body()
	f.table("/Size 5/Root 1 0 R/ID[<AA><BB>]")
	return f.Bytes()
}

// modern has a cross-reference stream and an object stream.
func modern() []byte {
	f := newFile()
	f.object(4, "<</Length 5>>\nstream\n0 0 m\nendstream")
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>"}
	head, data := "", ""
	for i, o := range objects {
		head += fmt.Sprintf("%d %d ", i+1, len(data))
		data += o + " "
	}
	z := deflate([]byte(head + data))
	f.object(5, fmt.Sprintf("<</Type/ObjStm/N 3/First %d/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream", len(head), len(z), z))
	f.xrefStream(6, "/Size 7/Root 1 0 R", map[int][2]int{1: {5, 0}, 2: {5, 1}, 3: {5, 2}})
	return f.Bytes()
}

// hybrid hides its page from readers that know no cross-reference streams.
func hybrid() []byte {
	f := newFile()
	f.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	f.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	f.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]>>")
	hidden := f.offsets[3]
	table := f.offsets
	f.offsets = map[int]int{3: hidden}
	stm := f.Len()
	f.xrefStream(4, "/Size 5", nil)
	f.Truncate(bytes.LastIndex(f.Bytes(), []byte("startxref")))
	f.offsets = table
	at := f.Len()
	fmt.Fprintf(f, "xref\n0 5\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \n0000000000 00000 f \n0000000000 00000 f \n", f.offsets[1], f.offsets[2])
	fmt.Fprintf(f, "trailer\n<</Size 5/Root 1 0 R/XRefStm %d>>\nstartxref\n%d\n%%%%EOF\n", stm, at)
	return f.Bytes()
}

func open(t testing.TB, b []byte, o Options) *Document {
	t.Helper()
	d, err := Open(bytes.NewReader(b), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
