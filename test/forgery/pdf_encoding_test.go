package forgery

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"strings"
	"testing"

	"rogito.dev/rogito"
	raw "rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
)

func init() { register("pdf-encoding", makeStreamEncodings) }

// recoding writes the data of a stream in another encoding.
type recoding struct {
	name string
	// keys go into the dictionary of the stream.
	do func(data []byte) (keys string, encoded []byte)
	// seen: the content of the page, written so, looks otherwise in a viewer.
	seen bool
	// shows: what a viewer shows then is the overlay.
	shows bool
	// slip: real producers write it, and viewers show the same. It is no reason
	// for doubt where it was signed.
	slip bool
}

// overlay covers the page and says something else.
const overlay = " q 1 g 0 0 300 200 re f Q BT /F1 18 Tf 20 180 Td (" + evil + ") Tj ET "

func deflated(b []byte) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write(b)
	w.Close()
	return z.Bytes()
}

// stored is DEFLATE without compression, in blocks.
func stored(bad bool, blocks ...[]byte) []byte {
	z, sum := []byte{0x78, 0x9c}, adler32.New()
	for i, b := range blocks {
		last := byte(0)
		if i+1 == len(blocks) {
			last = 1
		}
		inverse := ^uint16(len(b))
		if bad && last == 1 {
			inverse ^= 1
		} else {
			sum.Write(b)
		}
		z = append(z, last)
		z = binary.LittleEndian.AppendUint16(z, uint16(len(b)))
		z = binary.LittleEndian.AppendUint16(z, inverse)
		z = append(z, b...)
	}
	return binary.BigEndian.AppendUint32(z, sum.Sum32())
}

// bitsOf packs codes of given widths, as a string of binary digits.
type bitsOf struct{ strings.Builder }

func (b *bitsOf) put(code, width int) { fmt.Fprintf(b, "%0*b", width, code) }

func (b *bitsOf) bytes() []byte {
	s := b.String()
	s += strings.Repeat("0", (8-len(s)%8)%8)
	out := make([]byte, len(s)/8)
	for i := range s {
		out[i/8] = out[i/8]<<1 | s[i]&1
	}
	return out
}

// literals writes LZW codes of single bytes, and clears before the table has
// more than nine bits.
func (b *bitsOf) literals(data []byte) {
	for i, c := range data {
		if i > 0 && i%200 == 0 {
			b.put(256, 9)
		}
		b.put(int(c), 9)
	}
}

func lzwLiterals(data []byte) []byte {
	var b bitsOf
	b.put(256, 9)
	b.literals(data)
	b.put(257, 9)
	return b.bytes()
}

// lzwLate ends the data for a reader that widens its codes one early, and goes
// on for one that takes EarlyChange for a number.
func lzwLate(data []byte) []byte {
	var b bitsOf
	b.put(256, 9)
	head := max(0, len(data)-254)
	b.literals(data[:head])
	b.put(256, 9)
	for _, c := range data[head:] {
		b.put(int(c), 9)
	}
	b.put(257, 10)
	b.put(0, 8)
	b.literals([]byte(overlay))
	b.put(257, 9)
	return b.bytes()
}

// lzwFull fills the table and clears it never: the end of the data to one
// reader is text to one that clears it by itself.
func lzwFull(data []byte) []byte {
	var b bitsOf
	b.put(256, 9)
	head := max(0, len(data)-3841)
	b.literals(data[:head])
	b.put(256, 9)
	next, width := 258, 9
	for i, c := range data[head:] {
		b.put(int(c), width)
		if i > 0 && next < 4096 {
			next++
		}
		if next+1 >= 1<<width && width < 12 {
			width++
		}
	}
	b.WriteString("000100000001")
	tail := "ET" + overlay
	b.WriteString(fmt.Sprintf("%09b", tail[0])[3:])
	b.literals([]byte(tail[1:]))
	b.put(257, 9)
	return b.bytes()
}

// rowsOf puts the tag of a PNG filter before every k bytes.
func rowsOf(data []byte, k int) []byte {
	var out []byte
	for ; len(data) > 0; data = data[min(k, len(data)):] {
		out = append(append(out, 0), data[:min(k, len(data))]...)
	}
	return out
}

// split is a length of rows that breaks an operator apart.
func split(data []byte) int {
	if i := bytes.LastIndex(data, []byte("Tj")); i >= 0 {
		return i + 1
	}
	return len(data)*2/3 + 1
}

func a85(data []byte) string {
	out := make([]byte, ascii85.MaxEncodedLen(len(data)))
	return string(out[:ascii85.Encode(out, data)])
}

// runs is RunLength: literal runs and the end.
func runs(data []byte, end ...byte) []byte {
	var out []byte
	for ; len(data) > 0; data = data[min(128, len(data)):] {
		n := min(128, len(data))
		out = append(append(out, byte(n-1)), data[:n]...)
	}
	return append(out, end...)
}

// oddRecodings decode to the same bytes in some readers, and not in all.
func oddRecodings() []recoding {
	as := func(keys string, encode func([]byte) []byte) func([]byte) (string, []byte) {
		return func(data []byte) (string, []byte) { return keys, encode(data) }
	}
	flate := func(change func([]byte) []byte) func([]byte) (string, []byte) {
		return as("/Filter/FlateDecode", func(b []byte) []byte { return change(deflated(b)) })
	}
	predicted := func(filter, before, after string) func([]byte) (string, []byte) {
		return func(b []byte) (string, []byte) {
			k := split(b)
			return fmt.Sprintf("/Filter%s/DecodeParms%s/Columns %d%s", filter, before, k, after), deflated(rowsOf(b, k))
		}
	}
	more := func(text string) func([]byte) []byte { return func(b []byte) []byte { return append(b, text...) } }
	a85s := func(before, after string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(before + a85(b) + after) }
	}
	hex := func(after string) func([]byte) []byte {
		return func(b []byte) []byte { return fmt.Appendf(nil, "%x%s", b, after) }
	}
	const lzwKeys, a85Keys, hexKeys, runKeys = "/Filter/LZWDecode", "/Filter/ASCII85Decode", "/Filter/ASCIIHexDecode", "/Filter/RunLengthDecode"
	return []recoding{
		{name: "a block of a wrong length", do: as("/Filter/FlateDecode", func(b []byte) []byte { return stored(true, b, []byte(overlay)) }), seen: true, shows: true},
		{name: "a block of no type", do: as("/Filter/FlateDecode", func(b []byte) []byte {
			z := stored(false, b, nil)
			z[len(z)-9] = 7
			return z
		})},
		{name: "a wrong checksum", do: flate(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), slip: true},
		{name: "no checksum", do: flate(func(b []byte) []byte { return b[:len(b)-4] }), slip: true},
		{name: "bytes behind DEFLATE", do: flate(more(overlay)), slip: true},
		{name: "DEFLATE twice in a row", do: flate(func(b []byte) []byte { return append(b, deflated([]byte(overlay))...) }), slip: true},
		{name: "DEFLATE without its head", do: flate(func(b []byte) []byte { return b[2:] })},
		{name: "EarlyChange -1", do: as(lzwKeys+"/DecodeParms<</EarlyChange -1>>", lzwLate), seen: true, shows: true},
		{name: "EarlyChange 2", do: as(lzwKeys+"/DecodeParms<</EarlyChange 2>>", lzwLiterals)},
		{name: "EarlyChange true", do: as(lzwKeys+"/DecodeParms<</EarlyChange true>>", lzwLiterals)},
		{name: "EarlyChange 1.0", do: as(lzwKeys+"/DecodeParms<</EarlyChange 1.0>>", lzwLiterals)},
		{name: "a full table", do: as(lzwKeys, lzwFull), seen: true, shows: true},
		{name: "LZW without an end", do: as(lzwKeys, func(b []byte) []byte {
			var w bitsOf
			w.put(256, 9)
			w.literals(b)
			return w.bytes()
		}), slip: true},
		{name: "LZW without a clear code", do: as(lzwKeys, func(b []byte) []byte {
			var w bitsOf
			w.literals(b)
			w.put(257, 9)
			return w.bytes()
		}), slip: true},
		{name: "bytes behind LZW", do: as(lzwKeys, func(b []byte) []byte { return append(lzwLiterals(b), overlay...) }), slip: true},
		{name: "Predictor 3", do: predicted("/FlateDecode", "<</Predictor 3", ">>"), seen: true},
		{name: "Predictor 9", do: predicted("/FlateDecode", "<</Predictor 9", ">>"), seen: true},
		{name: "Predictor 16", do: predicted("/FlateDecode", "<</Predictor 16", ">>"), seen: true},
		{name: "Predictor 12.0", do: predicted("/FlateDecode", "<</Predictor 12.0", ">>"), seen: true},
		{name: "Predictor 4294967308", do: predicted("/FlateDecode", "<</Predictor 4294967308", ">>")},
		{name: "Predictor 0", do: as("/Filter/FlateDecode/DecodeParms<</Predictor 0>>", deflated)},
		{name: "Predictor -1", do: as("/Filter/FlateDecode/DecodeParms<</Predictor -1>>", deflated)},
		{name: "a key that is no parameter", do: as("/Filter/FlateDecode/DecodeParms<</Predictor 1/Rows 7>>", deflated)},
		{name: "three bits", do: predicted("/FlateDecode", "<</Predictor 12", "/BitsPerComponent 3>>")},
		{name: "a last row that is not whole", do: predicted("/FlateDecode", "<</Predictor 12", ">>"), seen: true},
		{name: "parameters beside an array", do: predicted("[/FlateDecode]", "<</Predictor 12", ">>"), seen: true},
		{name: "parameters in an array beside a name", do: predicted("/FlateDecode", "[<</Predictor 12", ">>]"), seen: true},
		{name: "parameters of the second filter of one", do: as("/Filter[/FlateDecode]/DecodeParms[null<</Predictor 12>>]", deflated)},
		{name: "parameters that are a number", do: as("/Filter/FlateDecode/DecodeParms 12", deflated)},
		{name: "parameters under DP", do: predicted("/FlateDecode/DP<<>>", "<</Predictor 12", ">>")},
		{name: "a filter under F", do: as("/F/FlateDecode", deflated)},
		{name: "filters under both names", do: as("/Filter/FlateDecode/F/ASCIIHexDecode", deflated)},
		{name: "a short name", do: as("/Filter/Fl", deflated), slip: true},
		{name: "a filter that nobody knows", do: func(b []byte) (string, []byte) { return "/Filter/Foo", b }, seen: true},
		{name: "a filter that is nothing", do: func(b []byte) (string, []byte) { return "/Filter[null]", b }},
		{name: "a filter of pictures", do: func(b []byte) (string, []byte) { return "/Filter/CCITTFaxDecode", b }},
		{name: "data in another file", do: as("/Filter/FlateDecode/F(other.txt)/FFilter/FlateDecode", deflated)},
		{name: "a crypt filter", do: as("/Filter[/Crypt/FlateDecode]/DecodeParms[<</Name/Identity>>null]", deflated), seen: true},
		{name: "a mark before ASCII85", do: as(a85Keys, a85s("<~", "~>")), seen: true},
		{name: "ASCII85 without an end", do: as(a85Keys, a85s("", "")), slip: true},
		{name: "ASCII85 with half an end", do: as(a85Keys, a85s("", "~")), slip: true},
		{name: "bytes behind ASCII85", do: as(a85Keys, a85s("", "~>"+overlay)), slip: true},
		{name: "a group of ASCII85 that is too large", do: as(a85Keys, func(b []byte) []byte {
			// 85^4 times 84 and so on: the same four bytes, and 2^32.
			b = append(b, strings.Repeat(" ", (4-len(b)%4)%4)...)
			return []byte(a85(b) + "s8W-\"~>")
		})},
		{name: "a last group of one character", do: as(a85Keys, func(b []byte) []byte {
			b = append(b, strings.Repeat(" ", (4-len(b)%4)%4)...)
			return []byte(a85(b) + "5~>")
		})},
		{name: "hexadecimal without an end", do: as(hexKeys, hex("")), slip: true},
		{name: "half a byte", do: as(hexKeys, func(b []byte) []byte { return fmt.Appendf(nil, "%x2>", b) }), slip: true},
		{name: "bytes behind hexadecimal", do: as(hexKeys, hex(">"+overlay)), slip: true},
		{name: "hexadecimal with other letters", do: as(hexKeys, func(b []byte) []byte { return fmt.Appendf(nil, "%xgg>", b) })},
		{name: "runs without an end", do: as(runKeys, func(b []byte) []byte { return runs(b) }), slip: true},
		{name: "runs with bytes behind them", do: as(runKeys, func(b []byte) []byte { return append(runs(b, 128), overlay...) }), slip: true},
		{name: "a run that is cut", do: as(runKeys, func(b []byte) []byte { return runs(b, 5, ' ', ' ') }), slip: true},
		{name: "hexadecimal without an end over DEFLATE", do: as("/Filter[/ASCIIHexDecode/FlateDecode]", func(b []byte) []byte { return fmt.Appendf(nil, "%x", deflated(b)) }), slip: true},
	}
}

// strictRecodings are what programs write that are right.
func strictRecodings() []recoding {
	goLZW := func(b []byte) []byte {
		var z bytes.Buffer
		w := lzw.NewWriter(&z, lzw.MSB, 8)
		_, _ = w.Write(b)
		w.Close()
		return z.Bytes()
	}
	return []recoding{
		{name: "DEFLATE", do: func(b []byte) (string, []byte) { return "/Filter/FlateDecode", deflated(b) }},
		{name: "DEFLATE, in blocks as they are", do: func(b []byte) (string, []byte) { return "/Filter[/FlateDecode]", stored(false, b[:9], b[9:]) }},
		{name: "DEFLATE and a line end", do: func(b []byte) (string, []byte) { return "/Filter/FlateDecode", append(deflated(b), '\n') }},
		{name: "DEFLATE with empty parameters", do: func(b []byte) (string, []byte) { return "/Filter[/FlateDecode]/DecodeParms[null]", deflated(b) }},
		{name: "DEFLATE, rows", do: func(b []byte) (string, []byte) {
			return fmt.Sprintf("/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns %d>>", len(b)), deflated(rowsOf(b, len(b)))
		}},
		{name: "DEFLATE, rows of one byte, in an array", do: func(b []byte) (string, []byte) {
			return "/Filter[/FlateDecode]/DecodeParms[<</Predictor 15/Colors 1/BitsPerComponent 8/Columns 1>>]", deflated(rowsOf(b, 1))
		}},
		{name: "LZW, late", do: func(b []byte) (string, []byte) { return "/Filter/LZWDecode/DecodeParms<</EarlyChange 0>>", goLZW(b) }},
		{name: "LZW, early", do: func(b []byte) (string, []byte) { return "/Filter/LZWDecode", lzwLiterals(b) }},
		{name: "ASCII85", do: func(b []byte) (string, []byte) { return "/Filter/ASCII85Decode", []byte(a85(b) + "~>") }},
		{name: "ASCII85 over DEFLATE", do: func(b []byte) (string, []byte) {
			return "/Filter[/ASCII85Decode/FlateDecode]", []byte(a85(deflated(b)) + "~>\n")
		}},
		{name: "hexadecimal", do: func(b []byte) (string, []byte) { return "/Filter/ASCIIHexDecode", fmt.Appendf(nil, "%X>", b) }},
		{name: "runs", do: func(b []byte) (string, []byte) { return "/Filter/RunLengthDecode", runs(b, 128) }},
		{name: "no filter", do: func(b []byte) (string, []byte) { return "", b }},
	}
}

// drawn is a page that is drawn by content 4, form 7, glyph 9 of the font 8,
// picture 10 and the font 11 with the map 12.
func drawn(recode *recoding) []byte {
	keys, data := "", []byte(pageCode())
	if recode != nil {
		keys, data = recode.do(data)
	}
	picture := bytes.Repeat([]byte{0, 80, 160, 240}, 16)
	return build([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/T3 8 0 R/F2 11 0 R>>/XObject<</Fm 7 0 R/Im 10 0 R>>>>>>",
		content(keys, string(data)),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Title(Contract)>>",
		content(drawnKeys[7], "BT /F1 12 Tf 2 5 Td (within thirty days) Tj ET\n"),
		"<</Type/Font/Subtype/Type3/FontBBox[0 0 10 10]/FontMatrix[.1 0 0 .1 0 0]/CharProcs<</a 9 0 R>>/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[10]/Resources<<>>>>",
		content("", "10 0 0 0 10 10 d1 0 0 5 5 re f\n"),
		content(drawnKeys[10], string(picture)),
		"<</Type/Font/Subtype/Type1/BaseFont/Courier/Encoding/WinAnsiEncoding/ToUnicode 12 0 R>>",
		content("", "/CIDInit/ProcSet findresource begin begincmap 1 begincodespacerange <00><FF> endcodespacerange 1 beginbfchar <41><0041> endbfchar endcmap end\n"),
	}, "/Info 6 0 R")
}

var drawnKeys = map[int]string{
	7:  "/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F1 5 0 R>>>>",
	10: "/Type/XObject/Subtype/Image/Width 8/Height 8/BitsPerComponent 8/ColorSpace/DeviceGray",
}

func pageCode() string {
	code := honest + "\nq 1 0 0 1 20 100 cm /Fm Do Q\nBT /T3 10 Tf 20 80 Td (a) Tj /F2 10 Tf 20 0 Td (A) Tj ET\nq 20 0 0 20 250 20 cm /Im Do Q\n"
	for i := range 90 {
		code += fmt.Sprintf("BT /F1 4 Tf %d %d Td (terms and conditions %d) Tj ET\n", 20+i%4*60, 70-i/4*3, i)
	}
	return code
}

func makeStreamEncodings(t *testing.T, m *materials) []specimen {
	var out []specimen
	add := func(want, name string, data []byte) { out = append(out, specimen{name: name, data: data, want: want}) }
	certified := m.signOne("contract.pdf", drawn(nil), func(o *rogito.Options) { o.PAdES = pades.Options{Certify: 1} })
	plain := m.signOne("contract.pdf", drawn(nil), nil)
	add(genuine, "certified", certified)
	see := newEyes(t)
	recoded := func(base []byte, num int, r recoding) []byte {
		return change(t, base, func(e *editor) {
			o, err := e.doc.Get(raw.Ref{Num: num})
			if err != nil {
				t.Fatal(err)
			}
			data, err := e.doc.Data(o.(*raw.Stream))
			if err != nil {
				t.Fatal(err)
			}
			keys, data := r.do(data)
			e.setStream(num, drawnKeys[num]+keys, string(data))
		})
	}
	for i, r := range oddRecodings() {
		forgery := recoded(certified, 4, r)
		if r.seen {
			see.differ(r.name, certified, forgery)
		}
		add(forged, "content: "+r.name, forgery)
		if r.shows {
			out[len(out)-1].shows = evil
		}
		for k, num := range []int{7, 9, 10, 12} {
			if (i+k)%4 == 0 { // each way in one other place
				add(forged, fmt.Sprintf("object %d: %s", num, r.name), recoded(plain, num, r))
			}
		}
		if signed, err := m.tryUnchecked(drawn(&r)); err == nil {
			want := forged
			if r.slip {
				want = genuine
			}
			add(want, "signed so: "+r.name, signed)
			out[len(out)-1].means = [][]byte{drawn(nil)}
		}
	}
	for _, r := range strictRecodings() {
		for _, num := range []int{4, 7, 9, 10, 12} {
			add(genuine, fmt.Sprintf("object %d: %s", num, r.name), recoded(certified, num, r))
		}
		add(genuine, "signed so: "+r.name, m.signOne("contract.pdf", drawn(&r), nil))
	}
	packedEncodings(t, plain, see, add)
	tableEncodings(plain, add)
	wideNumbers(t, m, plain, add, func(name string, signed []byte, means ...[]byte) {
		out = append(out, specimen{name: name, data: signed, want: slipped, means: means})
	})
	return out
}

// packedEncodings write the page again, in an object stream.
func packedEncodings(t *testing.T, base []byte, see *eyes, add func(want, name string, data []byte)) {
	page := "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/T3 8 0 R/F2 11 0 R>>/XObject<</Fm 7 0 R/Im 10 0 R>>>>/Annots[%s]>>"
	doc, err := raw.Open(bytes.NewReader(base), raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var annots []string
	pageDict, _ := doc.Dict(raw.Ref{Num: 3})
	list, _ := doc.Array(pageDict.Get("Annots"))
	for _, a := range list {
		annots = append(annots, fmt.Sprint(a))
	}
	page = fmt.Sprintf(page, strings.Join(annots, " "))
	write := func(head, body, keys string, encoded []byte) []byte {
		u := pdfUpdateOf(base)
		at := u.object(50, 0, content(fmt.Sprintf("/Type/ObjStm/N %d/First %d%s", len(strings.Fields(head))/2, len(head), keys), string(encoded)))
		other := u.object(52, 0, content("", tampers))
		rows, index := [][3]int{{2, 50, 0}, {1, at, 0}}, "3 1 50 1 "
		if strings.Contains(body, "/Decoy") {
			rows[0][2] = 1
			rows, index = append(rows, [3]int{2, 50, 0}), index+"51 1 "
		}
		here := u.here()
		u.end(u.stream(53, index+"52 2", append(rows, [3]int{1, other, 0}, [3]int{1, here, 0})))
		return append(bytes.Clone(base), u.Bytes()...)
	}
	head := "3 0 "
	for _, r := range oddRecodings() {
		keys, encoded := r.do([]byte(head + page + " "))
		add(forged, "object stream: "+r.name, write(head, page, keys, encoded))
	}
	for _, r := range strictRecodings() {
		keys, encoded := r.do([]byte(head + page + " "))
		add(genuine, "object stream: "+r.name, write(head, page, keys, encoded))
	}
	for _, keys := range []string{"/N 1.0/First 4", "/N 1/First 4.0"} {
		data := content("/Type/ObjStm"+keys, head+page)
		u := pdfUpdateOf(base)
		at := u.object(50, 0, data)
		u.end(u.stream(53, "3 1 50 1 53 1", [][3]int{{2, 50, 0}, {1, at, 0}, {1, u.here(), 0}}))
		add(forged, "object stream: "+keys, append(bytes.Clone(base), u.Bytes()...))
	}
	// The tags of rows move what stands behind them for a reader that takes the
	// Predictor for none: it finds another page within a string.
	const columns = 400
	wrong := strings.Replace(page, "/Contents 4 0 R", "/Contents 52 0 R", 1)
	for fill := range 400_000 {
		decoy := "<</A(" + strings.Repeat("x", fill) + ")/Decoy " + wrong + ">> "
		head := fmt.Sprintf("51 0 3 %d ", len(decoy))
		inner := len(head) + len(decoy) - 3 - len(wrong) // of the other page
		if inner+inner/columns+1 != len(head)+len(decoy) || inner/columns != (inner+len(wrong))/columns {
			continue
		}
		data := []byte(head + decoy + page + " ")
		forgery := write(head, decoy, fmt.Sprintf("/Filter/FlateDecode/DecodeParms<</Predictor 3/Columns %d>>", columns), deflated(rowsOf(data, columns)))
		see.differ("object stream, moved", base, forgery)
		add(forged, "object stream: another page within a string", forgery)
		return
	}
	t.Error("no length moves the page")
}

// tableEncodings write a cross-reference stream in odd ways.
func tableEncodings(base []byte, add func(want, name string, data []byte)) {
	write := func(keys string, encode func([]byte) []byte, more ...string) []byte {
		u := pdfUpdateOf(base)
		info := u.object(6, 0, "<</Title(Contract)>>")
		length := u.object(51, 0, "5")
		here := u.here()
		var rows []byte
		for _, r := range [][3]int{{1, info, 0}, {1, length, 0}, {1, here, 0}} {
			rows = append(rows, byte(r[0]), byte(r[1]>>24), byte(r[1]>>16), byte(r[1]>>8), byte(r[1]), byte(r[2]))
		}
		shape := "/W[1 4 1]/Index[6 1 51 2]"
		if len(more) > 0 {
			shape = more[0]
		}
		u.object(52, 0, content(fmt.Sprintf("/Type/XRef%s/Size 60/Root 1 0 R/Info 6 0 R/Prev %d%s", shape, u.prev, keys), string(encode(rows))))
		u.end(here)
		return append(bytes.Clone(base), u.Bytes()...)
	}
	for _, list := range []struct {
		want string
		list []recoding
	}{{forged, oddRecodings()}, {genuine, strictRecodings()}} {
		for _, r := range list.list {
			keys := ""
			encode := func(b []byte) (out []byte) { keys, out = r.do(b); return out }
			write("", encode) // to know the keys, which follow from the number of rows
			add(list.want, "table: "+r.name, write(keys, encode))
		}
	}
	same := func(b []byte) []byte { return b }
	add(genuine, "table", write("", same))
	for _, shape := range []string{
		"/W[1 4 1 0]/Index[6 1 51 2]", "/W[1 4 1]/Index[6 1 51 2 7]", "/W[1 4 1]/Index 51 0 R", "/W 51 0 R/Index[6 1 51 2]",
	} {
		add(forged, "table: "+shape, write("", same, shape))
	}
	wide := func(field int) func([]byte) []byte {
		return func(b []byte) []byte {
			var out []byte
			for i := 0; i+6 <= len(b); i += 6 {
				row := append(append([]byte{b[i], 0, 0, 0, 0}, b[i+1:i+5]...), 0, 0, 0, 0, 0, 0, 0, b[i+5])
				if i == 0 {
					row[field] = 0x40
				}
				out = append(out, row...)
			}
			return out
		}
	}
	add(forged, "table: an offset beyond all bounds", write("", wide(1), "/W[1 8 8]/Index[6 1 51 2]"))
	add(forged, "table: a generation beyond all bounds", write("", wide(9), "/W[1 8 8]/Index[6 1 51 2]"))
}

// wideNumbers: some readers take 32 bits of a number.
func wideNumbers(t *testing.T, m *materials, base []byte, add func(want, name string, data []byte), slip slipper) {
	turned := change(t, base, func(e *editor) { e.put(3, "Rotate", "4294967400") })
	add(forged, "a rotation of more than 32 bits", turned)
	for _, more := range []string{"/Rotate 4294967386", "/UserUnit 4294967298", "/Foo[1 -9999999999]"} {
		doc := bytes.Replace(drawn(nil), []byte("/Type/Page/"), []byte("/Type/Page"+more+"/"), 1)
		slip("signed with "+more, m.signUnchecked(remade(doc)), drawn(nil))
	}
	u := pdfUpdateOf(base)
	u.size = 8
	at := u.object(6, 0, "<</Title(Contract)>>")
	u.extra = "/Info 6 0 R"
	u.table("6 1\n" + line(at, 0, 'n'))
	forgery := append(bytes.Clone(base), u.Bytes()...)
	add(forged, "a Size below objects", forgery)
}
