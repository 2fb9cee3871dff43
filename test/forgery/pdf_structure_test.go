package forgery

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

func init() { register("pdf-structure", makeStructure) }

// pdfUpdate writes an incremental update by hand, right or wrong.
type pdfUpdate struct {
	bytes.Buffer
	at    int64 // of the update in the file
	prev  int
	size  int
	extra string // into the trailer
}

// pdfUpdateOf begins an update of a document; its last startxref is Prev.
func pdfUpdateOf(doc []byte) *pdfUpdate {
	i := bytes.LastIndex(doc, []byte("startxref"))
	var prev int
	_, _ = fmt.Sscan(string(doc[i+len("startxref"):]), &prev)
	return &pdfUpdate{at: int64(len(doc)), prev: prev, size: 60}
}

// here is the offset in the file of what is written next.
func (u *pdfUpdate) here() int { return int(u.at) + u.Len() }

// object writes one and returns its offset.
func (u *pdfUpdate) object(num, gen int, body string) int {
	at := u.here()
	fmt.Fprintf(u, "%d %d obj\n%s\nendobj\n", num, gen, body)
	return at
}

// line of a table; kind n or f.
func line(at, gen int, kind byte) string { return fmt.Sprintf("%010d %05d %c \n", at, gen, kind) }

// table writes subsections, given as heads and lines, and the end.
func (u *pdfUpdate) table(lines string) {
	at := u.here()
	fmt.Fprintf(u, "xref\n%strailer\n<</Size %d/Root 1 0 R/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n", lines, u.size, u.prev, u.extra, at)
}

// stream writes a cross-reference stream of rows {type, field 2, field 3}.
func (u *pdfUpdate) stream(num int, index string, rows [][3]int) int {
	at := u.here()
	var data bytes.Buffer
	for _, r := range rows {
		data.Write([]byte{byte(r[0]), byte(r[1] >> 24), byte(r[1] >> 16), byte(r[1] >> 8), byte(r[1]), byte(r[2])})
	}
	u.object(num, 0, content(fmt.Sprintf("/Type/XRef/W[1 4 1]/Index[%s]/Size %d/Root 1 0 R/Prev %d%s", index, u.size, u.prev, u.extra), data.String()))
	return at
}

func (u *pdfUpdate) end(at int) { fmt.Fprintf(u, "startxref\n%d\n%%%%EOF\n", at) }

func content(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

// packed is an object stream of numbers with bodies in turn.
func packed(extra string, objects ...any) string {
	var head, body string
	for i := 0; i < len(objects); i += 2 {
		head += fmt.Sprintf("%d %d ", objects[i], len(body))
		body += objects[i+1].(string) + " "
	}
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write([]byte(head + body))
	w.Close()
	return content(fmt.Sprintf("/Type/ObjStm/N %d/First %d/Filter/FlateDecode%s", len(objects)/2, len(head), extra), z.String())
}

const (
	evil    = "Pay EUR 900 to Mallory"
	tampers = "BT /F1 18 Tf 20 150 Td (" + evil + ") Tj ET"
	honest  = "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"
)

// target is an object of the document that a forger wants to replace, with
// what he writes in its place; shows is empty where it only hides or moves.
type target struct {
	num               int
	name, good, wrong string
	shows             string
}

func targets() []target {
	page := func(more string) string {
		return "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>" + more + ">>"
	}
	annots := "/Annots[7 0 R 9 0 R 12 0 R]"
	return []target{
		{4, "content", content("", honest), content("", tampers), evil},
		{3, "page", page("/Contents 4 0 R" + annots), page("/Contents 50 0 R" + annots), evil},
		{8, "appearance", "", content("/Type/XObject/Subtype/Form/BBox[0 0 300 20]/Resources<</Font<</Helv 5 0 R>>>>", "BT /Helv 12 Tf 2 5 Td ("+evil+") Tj ET"), evil},
	}
}

// offsetOf an object in the signed document.
func offsetOf(doc []byte, num int) int {
	return bytes.Index(doc, fmt.Appendf(nil, "\n%d 0 obj", num)) + 1
}

// makeStructure makes files that readers take in different ways. Where a
// specimen claims to show something, at least one of two readers shows it.
func makeStructure(t *testing.T, m *materials) []specimen {
	var out []specimen
	signed := m.signOne("contract.pdf", pdf(), nil)
	add := func(want, name string, shows string, data ...[]byte) {
		out = append(out, specimen{name: name, data: bytes.Join(data, nil), want: want, shows: shows})
	}
	for _, t := range targets() {
		twice(signed, t, add)
		freed(signed, t, add)
	}
	hybrids(signed, add)
	packs(signed, add)
	tails(m, add)
	slip := func(name string, doc []byte, means ...[]byte) {
		if signed, err := m.tryUnchecked(doc); err == nil {
			out = append(out, specimen{name: name, data: signed, want: slipped, means: means})
		} else { // where our own signing refuses it there is nothing to forge with
			t.Logf("%s: not signed: %v", name, err)
		}
	}
	hidden(m, add, slip)
	keys(t, slip)
	lengths(t, slip)
	chains(signed, add)
	prefixes(m, add)
	controls(m, signed, add)
	return out
}

type adder func(want, name, shows string, data ...[]byte)

// slipper adds a document as its author signs it, with a slip in it: no one else made it, so no one
// is to blame. Whether it is valid depends on what readers take it for.
type slipper func(name string, doc []byte, means ...[]byte)

// twice names an object twice in one section, in every order and form.
func twice(doc []byte, t target, add adder) {
	old := offsetOf(doc, t.num)
	for _, order := range []string{"forged first", "forged last"} {
		for _, form := range []string{"two subsections", "overlap", "one entry each", "stream index", "stream overlap", "three times"} {
			u := pdfUpdateOf(doc)
			u.object(50, 0, content("", tampers))
			at := u.object(t.num, 0, t.wrong)
			spare := int(u.at) // object 50 is named, so that nothing is hidden
			a, b := at, old
			if order == "forged last" {
				a, b = old, at
			}
			n := t.num
			base := fmt.Sprintf("50 1\n%s", line(spare, 0, 'n'))
			switch form {
			case "two subsections":
				u.table(base + fmt.Sprintf("%d 1\n%s%d 1\n%s", n, line(a, 0, 'n'), n, line(b, 0, 'n')))
			case "overlap":
				before := offsetOf(doc, n-1)
				u.table(base + fmt.Sprintf("%d 1\n%s%d 2\n%s%s", n, line(a, 0, 'n'), n-1, line(before, 0, 'n'), line(b, 0, 'n')))
			case "one entry each":
				u.table(fmt.Sprintf("%d 1\n%s", n, line(a, 0, 'n')) + base + fmt.Sprintf("%d 1\n%s", n, line(b, 0, 'n')))
			case "three times":
				u.table(base + strings.Repeat(fmt.Sprintf("%d 1\n%s", n, line(a, 0, 'n')), 2) + fmt.Sprintf("%d 1\n%s", n, line(b, 0, 'n')))
			case "stream index":
				x := u.stream(51, fmt.Sprintf("%d 1 %d 1 50 2", n, n), [][3]int{{1, a, 0}, {1, b, 0}, {1, spare, 0}, {1, u.here(), 0}})
				u.end(x)
			case "stream overlap":
				x := u.stream(51, fmt.Sprintf("%d 1 %d 2 50 2", n, n-1), [][3]int{{1, a, 0}, {1, offsetOf(doc, n-1), 0}, {1, b, 0}, {1, spare, 0}, {1, u.here(), 0}})
				u.end(x)
			}
			shows := ""
			if order == "forged first" { // readers take the first, we once took the last
				shows = evil
			}
			add(forged, fmt.Sprintf("%s twice, %s, %s", t.name, form, order), shows, doc, u.Bytes())
		}
	}
}

// freed takes an object away that is still referred to, or brings it back
// under another generation.
func freed(doc []byte, t target, add adder) {
	for _, gen := range []int{0, 1, 65535} {
		u := pdfUpdateOf(doc)
		u.table(fmt.Sprintf("%d 1\n%s", t.num, line(0, gen, 'f')))
		add(forged, fmt.Sprintf("%s freed, generation %d", t.name, gen), "", doc, u.Bytes())
	}
	u := pdfUpdateOf(doc)
	u.object(50, 0, content("", tampers))
	at := u.object(t.num, 1, t.wrong)
	u.table(fmt.Sprintf("50 1\n%s%d 1\n%s", line(int(u.at), 0, 'n'), t.num, line(at, 1, 'n')))
	add(forged, t.name+" under another generation", evil, doc, u.Bytes())

	u = pdfUpdateOf(doc)
	u.object(50, 0, content("", tampers))
	u.object(t.num, 0, t.wrong)
	u.table(fmt.Sprintf("50 1\n%s%d 1\n%s", line(int(u.at), 0, 'n'), t.num, line(0, 0, 'f')))
	add(forged, t.name+" freed, and there", evil, doc, u.Bytes())

	u = pdfUpdateOf(doc)
	x := u.stream(51, fmt.Sprintf("%d 1 51 1", t.num), [][3]int{{0, 0, 1}, {1, u.here(), 0}})
	u.end(x)
	add(forged, t.name+" freed in a stream", "", doc, u.Bytes())

	u = pdfUpdateOf(doc)
	x = u.stream(51, fmt.Sprintf("%d 1 51 1", t.num), [][3]int{{5, 0, 0}, {1, u.here(), 0}})
	u.end(x)
	add(forged, t.name+" of unknown type", "", doc, u.Bytes())
}

// hybrids let a table and the stream beside it contradict each other.
func hybrids(doc []byte, add adder) {
	old := offsetOf(doc, 4)
	for _, c := range []struct {
		name  string
		table func(forged int) string
		rows  func(forged int) [3]int
	}{
		{"table frees, stream forges", func(int) string { return "4 1\n" + line(0, 0, 'f') }, func(f int) [3]int { return [3]int{1, f, 0} }},
		{"table frees, stream keeps", func(int) string { return "4 1\n" + line(0, 0, 'f') }, func(int) [3]int { return [3]int{1, old, 0} }},
		{"table frees with a generation, stream keeps", func(int) string { return "4 1\n" + line(0, 1, 'f') }, func(int) [3]int { return [3]int{1, old, 0} }},
		{"only the stream forges", func(int) string { return "0 0\n" }, func(f int) [3]int { return [3]int{1, f, 0} }},
	} {
		u := pdfUpdateOf(doc)
		at := u.object(4, 0, content("", tampers))
		stm := u.stream(51, "4 1 51 1", [][3]int{c.rows(at), {1, u.here(), 0}})
		u.extra = fmt.Sprintf("/XRefStm %d", stm)
		u.table(c.table(at))
		add(forged, "hybrid, "+c.name, evil, doc, u.Bytes())
	}
}

// packs put objects into object streams that tables and index disagree about.
func packs(doc []byte, add adder) {
	page := "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents %d 0 R/Annots[7 0 R 9 0 R 12 0 R]>>"
	good, wrong := fmt.Sprintf(page, 4), fmt.Sprintf(page, 50)
	for _, c := range []struct {
		name    string
		shows   string
		stream  string
		entries func(stream int) (index string, rows [][3]int)
	}{
		{"index names another number", "", packed("", 33, wrong), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"index field is wrong", evil, packed("", 34, "null", 3, wrong), func(s int) (string, [][3]int) { return "3 1 34 1", [][3]int{{2, s, 0}, {2, s, 0}} }},
		{"a number twice in the stream", evil, packed("", 3, wrong, 3, good), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"a number twice, the last counts", evil, packed("", 3, wrong, 3, good), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 1}} }},
		{"packed but named plain", "", packed("", 3, wrong), func(int) (string, [][3]int) { return "3 1", [][3]int{{1, offsetOf(doc, 3), 0}} }},
		{"packed and in no table", "", packed("", 3, wrong), func(int) (string, [][3]int) { return "0 0", nil }},
		{"packed, beyond the stream", evil, packed("", 3, wrong), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 7}} }},
		{"more objects than N", evil, strings.Replace(packed("", 3, wrong, 34, "null"), "/N 2", "/N 1", 1), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"First is too large", evil, strings.Replace(packed("", 34, "null", 3, wrong), "/N 2", "/N 2/First 9", 1), func(s int) (string, [][3]int) { return "3 1 34 1", [][3]int{{2, s, 1}, {2, s, 0}} }},
		{"in a stream that is not there", evil, packed("", 3, wrong), func(int) (string, [][3]int) { return "3 1", [][3]int{{2, 49, 0}} }},
		{"a key twice in a packed object", evil, packed("", 3, strings.Replace(good, "/Contents 4 0 R", "/Contents 4 0 R/Contents 50 0 R", 1)), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"a key twice in a packed object, the other way", "", packed("", 3, strings.Replace(good, "/Contents 4 0 R", "/Contents 50 0 R/Contents 4 0 R", 1)), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"an escaped key twice", "", packed("", 3, strings.Replace(good, "/Contents 4 0 R", "/Cont#65nts 50 0 R/Contents 4 0 R", 1)), func(s int) (string, [][3]int) { return "3 1", [][3]int{{2, s, 0}} }},
		{"objects out of order", evil, packed("", 3, wrong, 34, "null"), func(s int) (string, [][3]int) { return "3 1 34 1", [][3]int{{2, s, 1}, {2, s, 0}} }},
	} {
		u := pdfUpdateOf(doc)
		a := u.object(50, 0, content("", tampers))
		b := u.object(52, 0, c.stream)
		index, rows := c.entries(52)
		x := u.here()
		u.stream(53, index+" 50 1 52 2", append(rows, [3]int{1, a, 0}, [3]int{1, b, 0}, [3]int{1, x, 0}))
		u.end(x)
		add(forged, "packed: "+c.name, c.shows, doc, u.Bytes())
	}
}

// tails follow the end of the file.
func tails(m *materials, add adder) {
	doc := pdf()
	hide := fmt.Sprintf("4 0 obj\n%s\nendobj\n", content("", tampers))
	at := bytes.LastIndex(doc, []byte("xref\n0 "))
	shadow := moved(doc, at, hide)
	signed, plain := m.signUnchecked(shadow), m.signOne("contract.pdf", doc, nil)
	for name, pad := range map[string]string{
		"blanks": strings.Repeat(" ", 3000), "line breaks": strings.Repeat("\n", 3000),
		"zeros": strings.Repeat("\x00", 3000), "returns": strings.Repeat("\r\n", 1500), "tabs": strings.Repeat("\t", 5000),
	} {
		add(forged, "hidden object, then "+name, evil, signed, []byte(pad))
		add(forged, "nothing hidden, but "+name, "", plain, []byte(pad))
	}
	add(forged, "an object after the end", "", plain, []byte(hide))
	add(forged, "an object in a comment after the end", "", plain, []byte("% "+strings.ReplaceAll(hide, "\n", " ")+"\n"))
	add(forged, "an object after the end, with padding", evil, plain, []byte(hide), []byte(strings.Repeat(" ", 2000)))
	add(forged, "another startxref after the end", "", plain, []byte("startxref\n0\n%%EOF\n"))
	add(forged, "a trailer after the end", "", plain, []byte("trailer\n<</Root 1 0 R/Size 5>>\n"))
	add(forged, "another file after the end", "", plain, bytes.Replace(doc, []byte("(Pay EUR 100 to Anna)"), []byte("("+evil+")"), 1))
}

// moved puts bytes into a document before its table, at at, and mends
// startxref.
func moved(doc []byte, at int, text string) []byte {
	out := bytes.Join([][]byte{doc[:at], []byte(text), doc[at:]}, nil)
	return bytes.Replace(out, fmt.Appendf(nil, "startxref\n%d\n", at), fmt.Appendf(nil, "startxref\n%d\n", at+len(text)), 1)
}

// hidden has objects in the signed revision that no table names.
func hidden(m *materials, add adder, slip slipper) {
	doc := pdf()
	at := bytes.LastIndex(doc, []byte("xref\n0 "))
	hide := fmt.Sprintf("4 0 obj\n%s\nendobj\n", content("", tampers))
	for name, text := range map[string]string{
		"an object":                   hide,
		"an object of a high number":  strings.Replace(hide, "4 0 obj", "77 0 obj", 1),
		"an object in a comment":      "% " + strings.ReplaceAll(hide, "\n", " ") + "\n",
		"a trailer":                   "trailer\n<</Root 1 0 R/Size 14>>\n",
		"a table":                     "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Root 1 0 R/Size 14>>\nstartxref\n1\n%%EOF\n",
		"a header in a comment":       "%PDF-1.4\n",
		"the head of an object":       "4 0 obj\n",
		"words":                       "hello\n",
		"an object with odd spaces":   strings.Replace(hide, "4 0 obj", "4\x000\fobj", 1),
		"an object glued to a number": strings.Replace(hide, "4 0 obj", "4 0 obj", 1) + "9",
	} {
		slip("signed with "+name+" in no table", moved(doc, at, text), doc, bytes.Replace(doc, []byte(content("", honest)), []byte(content("", tampers)), 1))
	}
	shadow := m.signUnchecked(moved(doc, at, hide))
	x := pdfUpdateOf(shadow)
	x.table("4 1\n" + line(at, 0, 'n'))
	add(forged, "a hidden object that an update names", evil, shadow, x.Bytes())
	x = pdfUpdateOf(shadow)
	x.object(14, 0, "null")
	x.table("40 1\n" + line(int(x.at)+1, 0, 'n'))
	add(forged, "a hidden object and an offset that misses", "", shadow, x.Bytes())
	add(forged, "a hidden object and a broken startxref", evil, shadow, []byte("startxref\n7\n%%EOF\n"))
}

// keys repeats keys of dictionaries in the signed revision.
func keys(t *testing.T, slip slipper) {
	doc := string(pdf())
	for name, change := range map[string][2]string{
		"MediaBox":     {"/MediaBox[0 0 300 200]", "/MediaBox[0 0 300 200]/MediaBox[0 0 10 10]"},
		"Annots":       {"/Annots[7 0 R 9 0 R 12 0 R]", "/Annots[7 0 R 9 0 R 12 0 R]/Annots[]"},
		"Contents":     {"/Contents 4 0 R", "/Contents 4 0 R/Contents 8 0 R"},
		"Resources":    {"/Resources<</Font<</F1 5 0 R>>>>/Contents", "/Resources<</Font<</F1 5 0 R>>>>/Resources<<>>/Contents"},
		"Kids":         {"/Kids[3 0 R]", "/Kids[3 0 R]/Kids[]"},
		"Pages":        {"/Pages 2 0 R", "/Pages 2 0 R/Pages 3 0 R"},
		"an escape":    {"/Contents 4 0 R", "/Contents 4 0 R/C#6Fntents 8 0 R"},
		"a nested key": {"<</F1 5 0 R>>", "<</F1 5 0 R/F1 6 0 R>>"},
		"a field's V":  {"/V(100)", "/V(100)/V(900)"},
		"Length":       {"/Length 50>>\nstream\nBT /F1", "/Length 50/Length 5>>\nstream\nBT /F1"},
		"Root":         {"/Root 1 0 R", "/Root 1 0 R/Root 2 0 R"},
		"Size":         {"/Size 14", "/Size 14/Size 4"},
	} {
		changed := strings.Replace(doc, change[0], change[1], 1)
		if changed == doc {
			t.Fatalf("%s: nothing to change", name)
		}
		// And the other way round: the new value first.
		extra := strings.Replace(change[1], change[0], "", 1)
		if extra == change[1] { // within
			extra = strings.Replace(change[1], "/F1 5 0 R", "", 1)
		}
		other := remade([]byte(strings.Replace(doc, change[0], extra, 1)))
		slip("key twice: "+name, remade([]byte(changed)), []byte(doc), other)
		if turned := strings.Replace(doc, change[0], extra+change[0], 1); strings.HasPrefix(change[1], change[0]) && strings.HasPrefix(extra, "/") {
			slip("key twice, turned: "+name, remade([]byte(turned)), []byte(doc), other)
		}
	}
}

// remade mends the table and startxref of a document of one revision.
func remade(doc []byte) []byte {
	at := bytes.LastIndex(doc, []byte("\nxref\n")) + 1
	var b bytes.Buffer
	b.Write(doc[:at])
	lines := bytes.Split(doc[at:], []byte("\n"))
	for i, l := range lines {
		if n := i - 3; n >= 0 && len(l) == 19 && l[17] == 'n' {
			l = []byte(strings.TrimSuffix(line(offsetOf(doc, n+1), 0, 'n'), "\n"))
		}
		if i > 0 && string(lines[i-1]) == "startxref" {
			l = fmt.Appendf(nil, "%d", at)
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.Write(l)
	}
	return b.Bytes()
}

// lengths lets a stream end in two places, or begin in two.
func lengths(t *testing.T, slip slipper) {
	doc := string(pdf())
	for name, change := range map[string][2]string{
		"too short":            {"/Length 50>>\nstream\nBT /F1", "/Length 10>>\nstream\nBT /F1"},
		"too long":             {"/Length 50>>\nstream\nBT /F1", "/Length 5000>>\nstream\nBT /F1"},
		"missing":              {"/Length 50>>\nstream\nBT /F1", ">>\nstream\nBT /F1"},
		"of a missing object":  {"/Length 50>>\nstream\nBT /F1", "/Length 99 0 R>>\nstream\nBT /F1"},
		"a name":               {"/Length 50>>\nstream\nBT /F1", "/Length/X>>\nstream\nBT /F1"},
		"negative":             {"/Length 50>>\nstream\nBT /F1", "/Length -5>>\nstream\nBT /F1"},
		"words after stream":   {"/Length 50>>\nstream\nBT /F1", "/Length 50>>\nstream % x\nBT /F1"},
		"a return only":        {"/Length 50>>\nstream\nBT /F1", "/Length 50>>\nstream\rBT /F1"},
		"endobj missing":       {"Tj ET\nendstream\nendobj\n5 0 obj", "Tj ET\nendstream\n5 0 obj"},
		"endobj misspelt":      {"Tj ET\nendstream\nendobj\n5 0 obj", "Tj ET\nendstream\nendobi\n5 0 obj"},
		"a second object":      {"Tj ET\nendstream\nendobj\n5 0 obj", "Tj ET\nendstream\n4 0 obj null\nendobj\n5 0 obj"},
		"a number with a sign": {"[0 0 300 200]", "[0 0 3-00 200]"},
		"a number of two dots": {"[0 0 300 200]", "[0 0 3.0.0 200]"},
		"a key without value":  {"/F 28/P 3 0 R>>", "/F 28/P>>"},
	} {
		changed := strings.Replace(doc, change[0], change[1], 1)
		if changed == doc {
			t.Fatalf("%s: nothing to change", name)
		}
		slip("stream or syntax: "+name, remade([]byte(changed)), []byte(doc), remade([]byte(strings.Replace(doc, honest, "", 1))))
	}
}

// chains have sections, markers and linearisation that lead two ways.
func chains(doc []byte, add adder) {
	for name, f := range map[string]func(u *pdfUpdate){
		"numbers beyond Size": func(u *pdfUpdate) {
			at := u.object(4, 0, content("", tampers))
			u.size = 4
			u.table("4 1\n" + line(at, 0, 'n'))
		},
		"a line of 19 bytes": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			u.table("40 1\n" + strings.Replace(line(at, 0, 'n'), " \n", "\n", 1))
		},
		"an offset before the object": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			u.table("40 1\n" + line(at-20, 0, 'n'))
		},
		"an offset into a number": func(u *pdfUpdate) {
			at := u.object(140, 0, "null")
			u.table("40 1\n" + line(at+1, 0, 'n'))
		},
		"an offset into a string": func(u *pdfUpdate) {
			at := u.object(41, 0, "(41 0 obj 40 0 obj null endobj)")
			u.table("40 2\n" + line(at+9+len("41 0 obj "), 0, 'n') + line(at, 0, 'n'))
		},
		"an offset outside the file": func(u *pdfUpdate) {
			u.object(40, 0, "null")
			u.table("40 1\n" + line(99999999, 0, 'n'))
		},
		"another generation at the offset": func(u *pdfUpdate) {
			at := u.object(40, 3, "null")
			u.table("40 1\n" + line(at, 0, 'n'))
		},
		"a Prev that is no integer": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			x := u.here()
			fmt.Fprintf(u, "xref\n40 1\n%strailer\n<</Size 60/Root 1 0 R/Prev %d.0>>\nstartxref\n%d\n%%%%EOF\n", line(at, 0, 'n'), u.prev, x)
		},
		"no end marker": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			x := u.here()
			fmt.Fprintf(u, "xref\n40 1\n%strailer\n<</Size 60/Root 1 0 R/Prev %d>>\nstartxref\n%d\n", line(at, 0, 'n'), u.prev, x)
		},
		"an object in a comment of the table": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			u.table("40 1 % 4 0 obj null endobj\n" + line(at, 0, 'n'))
		},
		"an object between": func(u *pdfUpdate) {
			at := u.object(40, 0, "null")
			u.object(4, 0, content("", tampers))
			u.table("40 1\n" + line(at, 0, 'n'))
		},
		"encryption added": func(u *pdfUpdate) {
			key := strings.Repeat("00", 32)
			at := u.object(40, 0, "<</Filter/Standard/V 1/R 2/P -4/O<"+key+">/U<"+key+">>>")
			u.extra = "/Encrypt 40 0 R/ID[<00><00>]"
			u.table("40 1\n" + line(at, 0, 'n'))
		},
		"fewer entries than Index": func(u *pdfUpdate) {
			x := u.stream(51, "51 1 40 5", [][3]int{{1, u.here(), 0}})
			u.end(x)
		},
	} {
		u := pdfUpdateOf(doc)
		f(u)
		add(forged, "chain: "+name, "", doc, u.Bytes())
	}
}

// prefixes stand before the header.
func prefixes(m *materials, add adder) {
	signed := m.signOne("contract.pdf", pdf(), nil)
	hide := fmt.Sprintf("4 0 obj\n%s\nendobj\n", content("", tampers))
	for name, text := range map[string]string{"a line": "junk\n", "an object": hide, "a byte": "x", "another header": "%PDF-1.3\n"} {
		add(forged, "before the header, after signing: "+name, "", []byte(text), signed)
	}
}

// controls are what readers agree on.
func controls(m *materials, signed []byte, add adder) {
	add(genuine, "as it was signed", "", signed)
	for name, pad := range map[string]string{"blanks": strings.Repeat(" ", 700), "line breaks": strings.Repeat("\n", 700), "zeros": strings.Repeat("\x00", 300)} {
		add(genuine, "a few "+name+" at the end", "", signed, []byte(pad))
	}
	doc := string(pdf())
	for name, change := range map[string][2]string{
		"a key again with the same value": {"/MediaBox[0 0 300 200]", "/MediaBox[0 0 300 200]/MediaBox[0 0 300 200]"},
		"comments":                        {"endobj\n5 0 obj", "endobj\n% made by hand\n5 0 obj"},
		"blank lines":                     {"endobj\n5 0 obj", "endobj\n\n  \r\n\n5 0 obj"},
		"a line end before endstream":     {"/Length 50>>\nstream\nBT /F1", "/Length 51>>\nstream\nBT /F1"},
	} {
		add(genuine, "signed with "+name, "", m.signOne("control.pdf", remade([]byte(strings.Replace(doc, change[0], change[1], 1))), nil))
	}
	again := m.signOne("again.pdf", signed, nil)
	add(genuine, "signed twice", "", again)
	add(genuine, "signed three times", "", m.signOne("again.pdf", again, nil))
	u := pdfUpdateOf(signed)
	u.table("0 0\n")
	add(genuine, "an empty update", "", signed, u.Bytes())
}
