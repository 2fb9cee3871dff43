package slips

import (
	"bytes"
	"fmt"
	"strings"
)

// draft is a document as its author writes and signs it: one revision with the
// signature in it, so that everything in it stands inside the signed bytes.
type draft struct {
	objects  []object
	size     int            // Size of the trailer; 0: as it should be
	offsets  map[int]int    // what the table says is so far off
	rows     string         // subsections behind the first
	lineEnd  string         // of the table's lines
	first    int            // number that the table begins with
	start    int            // added to startxref
	end      string         // in place of %%EOF
	trailer  string         // further entries
	table    map[int]string // rows in place of the right ones
	streamed bool           // the table is a stream
	second   int            // Size of an empty update behind it; 0: none
}

// object is one of the file.
type object struct {
	num    int
	body   string
	before string // bytes that stand in front of it
	bare   bool   // the body is everything, and no table names it
}

const (
	said  = "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"
	other = "BT /F1 18 Tf 20 150 Td (Pay EUR 900 to Mallory) Tj ET"
	room  = 6000 // for the signature, in hexadecimal digits
)

func stream(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

// contract is a document of two pages: 1 catalog, 2 pages, 3 and 4 the pages, 5
// and 6 their content, 7 a font, 8 the form, 9 the field, 10 the signature, 11
// another content, which nothing shows.
func contract() *draft {
	page := func(content int, more string) string {
		return fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 7 0 R>>>>/Contents %d 0 R%s>>", content, more)
	}
	d := &draft{lineEnd: " \n", end: "%%EOF"}
	for i, body := range []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm 8 0 R>>",
		"<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>",
		page(5, "/Annots[9 0 R]"),
		page(6, ""),
		stream("", said),
		stream("", strings.Replace(said, "100 to Anna", "7 to Bruno", 1)),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Fields[9 0 R]/SigFlags 3>>",
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(Signature1)/Rect[0 0 0 0]/F 132/P 3 0 R/V 10 0 R>>",
		"<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/adbe.pkcs7.detached/ByteRange[0 1111111111 2222222222 3333333333]/Contents<" + strings.Repeat("0", room) + ">>>",
		stream("", other),
	} {
		d.objects = append(d.objects, object{num: i + 1, body: body})
	}
	return d
}

// at is the object of a number.
func (d *draft) at(num int) *object {
	for i := range d.objects {
		if d.objects[i].num == num && !d.objects[i].bare {
			return &d.objects[i]
		}
	}
	panic("no such object")
}

// replace changes the text of an object.
func (d *draft) replace(num int, old, new string) *draft {
	o := d.at(num)
	if !strings.Contains(o.body, old) {
		panic("nothing to replace: " + old)
	}
	o.body = strings.Replace(o.body, old, new, 1)
	return d
}

// add puts an object at the end, and names it in the table.
func (d *draft) add(num int, body string) *draft {
	d.objects = append(d.objects, object{num: num, body: body})
	return d
}

// hide puts bytes at the end that no table names.
func (d *draft) hide(text string) *draft {
	d.objects = append(d.objects, object{body: text, bare: true})
	return d
}

// bytes writes the document, with room for the signature.
func (d *draft) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	at, last := map[int]int{}, 0
	for _, o := range d.objects {
		b.WriteString(o.before)
		if o.bare {
			b.WriteString(o.body)
			continue
		}
		at[o.num], last = b.Len(), max(last, o.num)
		fmt.Fprintf(&b, "%d 0 obj\n%s", o.num, o.body)
		if !strings.Contains(o.body, "endobj") {
			b.WriteString("\nendobj\n")
		}
	}
	xref := b.Len()
	if d.streamed {
		at[last+1] = xref
		var rows strings.Builder
		for n := range last + 2 {
			kind := byte(1)
			if at[n] == 0 {
				kind = 0
			}
			off := at[n] + d.offsets[n]
			rows.Write([]byte{kind, byte(off >> 16), byte(off >> 8), byte(off), 0})
		}
		if d.size == 0 {
			d.size = last + 2
		}
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n", last+1,
			stream(fmt.Sprintf("/Type/XRef/W[1 3 1]/Size %d/Root 1 0 R%s", d.size, d.trailer), rows.String()), xref)
		return d.again(&b, xref)
	}
	fmt.Fprintf(&b, "xref\n%d %d\n0000000000 65535 f%s", d.first, last+1, d.lineEnd)
	for n := 1; n <= last; n++ {
		switch off, ok := at[n]; {
		case d.table[n] != "":
			b.WriteString(d.table[n])
		case ok:
			fmt.Fprintf(&b, "%010d 00000 n%s", off+d.offsets[n], d.lineEnd)
		default:
			fmt.Fprintf(&b, "0000000000 00000 f%s", d.lineEnd)
		}
	}
	if d.size == 0 {
		d.size = last + 1
	}
	rows := d.rows
	for n, off := range at {
		rows = strings.ReplaceAll(rows, fmt.Sprintf("@%d@", n), fmt.Sprintf("%010d", off))
	}
	fmt.Fprintf(&b, "%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%s\n", rows, d.size, d.trailer, xref+d.start, d.end)
	return d.again(&b, xref)
}

// again writes an empty update, still the author's own, where its Size is given.
func (d *draft) again(b *bytes.Buffer, prev int) []byte {
	at := b.Len()
	switch {
	case d.second == 0:
	case d.streamed:
		fmt.Fprintf(b, "40 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n",
			stream(fmt.Sprintf("/Type/XRef/W[1 3 1]/Size %d/Root 1 0 R/Prev %d/Index[0 1]", d.second, prev), "\x00\x00\x00\x00\x00"), at)
	default:
		fmt.Fprintf(b, "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size %d/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n", d.second, prev, at)
	}
	return b.Bytes()
}
