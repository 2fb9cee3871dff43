package wild

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// draft is a PDF in the making: what it says, and how it is written down.
type draft struct {
	before  string   // the header
	header  string   // with its line end
	objects []string // from number 1; the first is the catalog
	packed  []int    // numbers that stand in an object stream; empty: there is none
	gens    map[int]int
	open    string // between "num gen obj" and the object
	shut    string // behind an object
	between string // behind each object and its end

	first    int           // number that the table says it begins with
	line     string        // end of a line in the table
	move     map[int]int   // what is added to the offset of an object; 0: of all
	size     func(int) int // what Size says
	entries  string        // further ones of the trailer
	noRoot   bool          // the trailer names no catalog
	table    func(s string) string
	start    func(at int) string // what stands behind the trailer
	after    string
	finished func(b []byte) []byte
}

func newDraft(objects ...string) *draft {
	return &draft{
		header: "%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", objects: objects, gens: map[int]int{}, open: "\n", shut: "\nendobj\n", line: " \n",
		move: map[int]int{}, size: func(n int) int { return n }, table: func(s string) string { return s },
		start:    func(at int) string { return fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at) },
		finished: func(b []byte) []byte { return b },
	}
}

// replace changes the first object that has the words.
func (d *draft) replace(old, new string) {
	for i := range d.objects {
		if strings.Contains(d.objects[i], old) {
			d.objects[i] = strings.Replace(d.objects[i], old, new, 1)
			return
		}
	}
}

// bytes writes the document with a table, or, where some objects are packed,
// with an object stream and a cross-reference stream.
func (d *draft) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(d.before + d.header)
	base := len(d.before)
	offsets := make([]int, len(d.objects)+1)
	inStream := map[int]int{}
	for i, n := range d.packed {
		inStream[n] = i
	}
	put := func(n int, o string) int {
		at := b.Len() - base + d.move[0] + d.move[n]
		fmt.Fprintf(&b, "%d %d obj%s%s%s%s", n, d.gens[n], d.open, o, d.shut, d.between)
		return at
	}
	for i, o := range d.objects {
		if _, ok := inStream[i+1]; !ok {
			offsets[i+1] = put(i+1, o)
		}
	}
	root := "/Root 1 0 R"
	if d.noRoot {
		root = ""
	}
	if len(d.packed) > 0 {
		d.putStreams(&b, base, offsets, inStream, root)
	} else {
		at := b.Len() - base
		t := fmt.Sprintf("xref\n%d %d\n0000000000 65535 f%s", d.first, len(d.objects)+1, d.line)
		for i := range d.objects {
			t += fmt.Sprintf("%010d %05d n%s", max(0, offsets[i+1]), d.gens[i+1], d.line)
		}
		t += fmt.Sprintf("trailer\n<</Size %d%s%s>>\n", d.size(len(d.objects)+1), root, d.entries)
		b.WriteString(d.table(t) + d.start(at))
	}
	b.WriteString(d.after)
	return d.finished(b.Bytes())
}

func (d *draft) putStreams(b *bytes.Buffer, base int, offsets []int, inStream map[int]int, root string) {
	index, body := "", ""
	for _, n := range d.packed {
		index += fmt.Sprintf("%d %d ", n, len(body))
		body += d.objects[n-1] + "\n"
	}
	holder, table := len(d.objects)+1, len(d.objects)+2
	holderAt := b.Len() - base + d.move[0] + d.move[holder]
	fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", holder, stream(fmt.Sprintf("/Type/ObjStm/N %d/First %d", len(d.packed), len(index)), index+body))
	at := b.Len() - base
	rows := []byte{0, 0, 0, 0, 0}
	for n := 1; n <= table; n++ {
		kind, x, y := byte(1), 0, 0
		i, packed := inStream[n]
		switch {
		case packed && d.move[n] == 0:
			kind, x, y = 2, holder, i
		case packed: // its place is told wrongly
			kind, x, y = 2, holder, i+d.move[n]
		case n == holder:
			x = holderAt
		case n == table:
			x = at
		default:
			x = offsets[n]
		}
		rows = append(rows, kind, byte(x>>16), byte(x>>8), byte(x), byte(y))
	}
	fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", table, stream(fmt.Sprintf("/Type/XRef/W[1 3 1]/Index[0 %d]/Size %d%s%s", table+1, d.size(table+1), root, d.entries), string(rows)))
	b.WriteString(d.start(at))
}

func stream(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflated(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s)) // a buffer takes everything
	_ = w.Close()
	return b.String()
}

const font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

func text(s string) string {
	return "BT /F 14 Tf 20 150 Td (" + s + ") Tj ET 0.8 0 0 rg 20 60 120 30 re f"
}

func onePage() *draft {
	return newDraft("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>", stream("", text("the amount is 12.50")), font)
}

// bases are documents without a slip.
var bases = map[string]func() *draft{
	"one page": onePage,
	"three pages": func() *draft {
		return newDraft("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 6 0 R]/Count 3/MediaBox[0 0 300 200]/Resources<</Font<</F 5 0 R>>>>>>",
			"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>", stream("", text("first")), font, "<</Type/Pages/Parent 2 0 R/Kids[7 0 R 8 0 R]/Count 2/Rotate 90>>",
			"<</Type/Page/Parent 6 0 R/Contents 9 0 R>>", "<</Type/Page/Parent 6 0 R/Contents 10 0 R/Rotate 0>>", stream("", text("second")), stream("", text("third")))
	},
	"a form": func() *draft {
		return newDraft("<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[6 0 R]/DR<</Font<</F 5 0 R>>>>/DA(/F 12 Tf 0 g)>>/Names<</EmbeddedFiles<</Names[(a.txt)8 0 R]>>>>>>",
			"<</Type/Pages/Kids[3 0 R]/Count 1>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Annots[6 0 R 10 0 R]/Resources<</Font<</F 5 0 R>>>>>>", stream("", text("fill in")), font,
			"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada)/Rect[20 20 120 40]/P 3 0 R/F 4/AP<</N 7 0 R>>>>",
			stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</F 5 0 R>>>>", "/Tx BMC q BT /F 12 Tf 0 g 2 5 Td (Ada) Tj ET Q EMC"),
			"<</Type/Filespec/F(a.txt)/UF(a.txt)/EF<</F 9 0 R>>>>", stream("/Type/EmbeddedFile", "3 0 obj\n<</Type/Page>>\nendobj\n"),
			"<</Type/Annot/Subtype/Link/Rect[20 60 140 90]/Border[0 0 0]/Dest[3 0 R/Fit]>>")
	},
	"compressed": func() *draft {
		meta := "<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'/><?xpacket end='w'?>"
		return newDraft("<</Type/Catalog/Pages 2 0 R/Metadata 6 0 R/StructTreeRoot 7 0 R/MarkInfo<</Marked true>>/Lang(en)>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/StructParents 0/Resources<</Font<</F 5 0 R>>>>>>", stream("/Filter/FlateDecode", deflated(text("deflated"))), font,
			stream("/Type/Metadata/Subtype/XML", meta), "<</Type/StructTreeRoot/K 8 0 R>>", "<</Type/StructElem/S/Document/P 7 0 R>>")
	},
	"object stream": func() *draft {
		d := onePage()
		d.packed = []int{1, 2, 3, 5}
		return d
	},
}

// slips are what producers do wrong, one at a time.
var slips = map[string]func(*draft){
	"Size of one":            func(d *draft) { d.size = func(int) int { return 1 } },
	"Size too small by one":  func(d *draft) { d.size = func(n int) int { return n - 1 } },
	"Size too large":         func(d *draft) { d.size = func(n int) int { return n + 50 } },
	"lines of 19 bytes":      func(d *draft) { d.line = "\n" },
	"lines that end with CR": func(d *draft) { d.line = "\r" },
	"lines of 21 bytes":      func(d *draft) { d.line = " \r\n" },
	"a table from 1":         func(d *draft) { d.first = 1 },
	"a comment in the table": func(d *draft) {
		d.table = func(s string) string { return strings.Replace(s, "xref\n", "xref % lines\n", 1) }
	},
	"offsets one too far": func(d *draft) { d.move[0] = 1 },
	"offsets too short":   func(d *draft) { d.move[0] = -3 },
	"offsets far off":     func(d *draft) { d.move[0] = 4000 },
	"one offset misses":   func(d *draft) { d.move[3] = 7 },
	"the content misses":  func(d *draft) { d.move[4] = 11 },
	"startxref misses":    func(d *draft) { d.start = func(at int) string { return fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at+3) } },
	"startxref of 0":      func(d *draft) { d.start = func(int) string { return "startxref\n0\n%%EOF\n" } },
	"no startxref":        func(d *draft) { d.start = func(int) string { return "%%EOF\n" } },
	"no end marker":       func(d *draft) { d.start = func(at int) string { return fmt.Sprintf("startxref\n%d\n", at) } },
	"no table": func(d *draft) {
		d.table = func(s string) string { return s[strings.Index(s, "trailer"):] }
		d.start = func(int) string { return "" }
	},
	"neither table nor trailer": func(d *draft) { d.table = func(string) string { return "" }; d.start = func(int) string { return "" } },
	"no root":                   func(d *draft) { d.noRoot = true },
	"junk before the header":    func(d *draft) { d.before = "Content-Type: application/pdf\r\n\r\n" },
	"junk that is counted": func(d *draft) {
		d.before = "\r\n\r\n"
		d.move[0] = 4
		d.start = func(at int) string { return fmt.Sprintf("startxref\n%d\n%%%%EOF\n", at+4) }
	},
	"junk behind the end":   func(d *draft) { d.after = strings.Repeat("\x00", 1500) },
	"a page behind the end": func(d *draft) { d.after = "<html><body>thank you</body></html>\n" },
	"bytes between objects": func(d *draft) { d.between = "garbage\n" },
	"comments with objects": func(d *draft) { d.between = "% 3 0 obj\n" },
	"no endobj":             func(d *draft) { d.shut = "\n" },
	"no line ends":          func(d *draft) { d.open, d.shut = "", "endobj " },
	"Length too small":      func(d *draft) { d.replace("/Length ", "/Length 3/Was ") },
	"Length too large":      func(d *draft) { d.replace("/Length ", "/Length 9") },
	"Length missing":        func(d *draft) { d.replace("/Length ", "/Long ") },
	"Length of nothing":     func(d *draft) { d.replace("/Length ", "/Length 77 0 R/Was ") },
	"no endstream":          func(d *draft) { d.replace("\nendstream", "") },
	"a key twice":           func(d *draft) { d.replace("/Type/Page/", "/Type/Page/Rotate 90/Rotate 0/") },
	"a long number": func(d *draft) {
		d.replace("/Type/Catalog", "/Type/Catalog/PieceInfo<</X<</LastModified(D:2020)/Private 98765432109876>>>>")
	},
	"a key without a value": func(d *draft) { d.replace("/Encoding/WinAnsiEncoding>>", "/Encoding/WinAnsiEncoding/Odd>>") },
	"a short filter name":   func(d *draft) { d.replace("/Filter/FlateDecode", "/Filter/Fl") },
	"data that end early": func(d *draft) {
		for i, o := range d.objects {
			if dict, data, ok := strings.Cut(strings.TrimSuffix(o, "\nendstream"), "\nstream\n"); ok && strings.Contains(dict, "FlateDecode") {
				d.objects[i] = stream("/Filter/FlateDecode", data[:len(data)-4])
			}
		}
	},
	"Count too large":       func(d *draft) { d.replace("/Count 1", "/Count 9") },
	"Count missing":         func(d *draft) { d.replace("/Count ", "/Counted ") },
	"a kid that is nothing": func(d *draft) { d.replace("/Kids[3 0 R", "/Kids[3 0 R 66 0 R") },
	"a page without parent": func(d *draft) { d.replace("/Type/Page/Parent 2 0 R", "/Type/Page") },
	"a wrong parent":        func(d *draft) { d.replace("/Type/Page/Parent 2 0 R", "/Type/Page/Parent 5 0 R") },
	"a box that is null": func(d *draft) {
		d.replace("/Type/Pages/", "/Type/Pages/MediaBox[0 0 300 200]/Rotate 90/")
		d.replace("/Type/Page/", "/Type/Page/MediaBox null/Rotate 66 0 R/")
	},
	"a page that is none": func(d *draft) { d.replace("/Type/Page/", "/Type/Leaf/") },
	"a generation": func(d *draft) {
		d.gens[4] = 3
		for i := range d.objects {
			d.objects[i] = strings.ReplaceAll(d.objects[i], "4 0 R", "4 3 R")
		}
	},
	"the tables say otherwise": func(d *draft) { d.packed = []int{5}; d.move[5] = 3 },
	"a packed object twice":    func(d *draft) { d.packed = []int{5}; d.between = "5 0 obj\n" + font + "\nendobj\n" },
	"defined twice":            func(d *draft) { d.after = "4 0 obj\nnull\nendobj\n" },
	"a stray bracket":          func(d *draft) { d.replace("/Type/Font", "/Type/Font>") },
	"a word for a key":         func(d *draft) { d.replace("/Type/Font", "/Type/Font oops") },
	"a bad version":            func(d *draft) { d.header = "%PDF-1.\n" },
	"cut off": func(d *draft) {
		d.finished = func(b []byte) []byte { return b[:bytes.LastIndex(b, []byte("endobj"))+6] }
	},
	"line ends lost": func(d *draft) {
		d.finished = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	},
	"Prev to nowhere":       func(d *draft) { d.entries = "/Prev 99999999" },
	"Prev to itself":        func(d *draft) { d.entries = "/Prev 1" },
	"a hybrid that is none": func(d *draft) { d.entries = "/XRefStm 17" },
}
