package forgery

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/goregular"

	"rogito.dev/rogito"
	raw "rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
)

func init() {
	register("pdf-below", makeBelow)
	register("pdf-glyphs", makeGlyphs)
	register("pdf-pictures", makePictures)
	register("pdf-encrypted", makeEncrypted)
	register("pdf-spelled", makeSpelled)
	register("pdf-harmless", makeHarmless)
}

// overAmount is a field that lies over the amount on the page.
const overAmount = "/Type/Annot/Subtype/Widget/Rect[15 140 285 175]/F 4/P 3 0 R/DA(/Helv 18 Tf 0 g)/T(note)"

const overBox = "/Type/XObject/Subtype/Form/BBox[0 0 270 35]/Resources<</Font<</Helv 5 0 R>>>>"

// putField makes object 101 a field of the page.
func (e *editor) putField(keys string) {
	e.set(101, "<<"+keys+">>")
	e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R 101 0 R]")
	e.put(6, "Fields", "[7 0 R 9 0 R 101 0 R]")
}

// makeBelow fills in fields that showed the page below them.
func makeBelow(t *testing.T, m *materials) []specimen {
	var list []prepared
	const text = " BT 0 g /Helv 18 Tf 5 10 Td (Pay EUR 900 to Anna) Tj ET"
	empties := []struct{ name, ap string }{
		{"no appearance", ""},
		{"an empty dictionary", "/AP<<>>"},
		{"a null", "/AP<</N null>>"},
		{"nothing", "/AP<</N 119 0 R>>"},
		{"no dictionary", "/AP 5"},
		{"the pressed one only", "/AP<</D 102 0 R>>"},
		{"the pressed and the hovered one", "/AP<</D 102 0 R/R 102 0 R>>"},
		{"a reference to an empty one", "/AP 103 0 R"},
		{"an empty picture", "/AP<</N 104 0 R>>"},
		{"states that are not shown", "/AP<</N<</Yes 102 0 R>>>>/AS/Off"},
	}
	kinds := []struct{ name, keys, value, code string }{
		{"a text", "/FT/Tx", "/V(Pay EUR 900 to Anna)", "1 g 0 0 270 35 re f" + text},
		{"a text that asks for a ground", "/FT/Tx/MK<</BG[1 1 1]>>", "/V(Pay EUR 900 to Anna)", "1 g 0 0 270 35 re f" + text},
		{"a text that asks for a ground and a border", "/FT/Tx/MK<</BG[1 1 1]/BC[1 1 1]>>/BS<</W 3>>", "/V(Pay EUR 900 to Anna)", "1 g 0 0 270 35 re f 1 G 3 w 1.5 1.5 267 32 re s" + text},
		{"a combo box", "/FT/Ch/Ff 131072/Opt[(Pay EUR 900 to Anna)]/MK<</BG[1 1 1]>>", "/V(Pay EUR 900 to Anna)", "1 g 0 0 270 35 re f" + text},
		{"a band", "/FT/Ch/Opt[(Pay EUR 900 to Anna)]", "/V(Pay EUR 900 to Anna)", ".8 g 0 6 270 20 re f" + text},
		{"a band on a ground", "/FT/Ch/Opt[(Pay EUR 900 to Anna)]/MK<</BG[1 1 1]>>", "/V(Pay EUR 900 to Anna)", "1 g 0 0 270 35 re f .8 g 0 6 270 20 re f" + text},
	}
	base := func(e *editor) {
		e.setStream(102, overBox, "1 g 0 0 270 35 re f")
		e.set(103, "<<>>")
		e.setStream(104, overBox, "/Tx BMC EMC")
	}
	for _, empty := range empties {
		for _, k := range kinds {
			for _, certify := range []int{0, 2} {
				if certify == 2 && empty.ap != "/AP<<>>" {
					continue
				}
				list = append(list, prepared{fmt.Sprintf("%s over %s, %d", k.name, empty.name, certify), certify, forged, func(e *editor) {
					base(e)
					e.putField(overAmount + k.keys + empty.ap)
				}, func(e *editor) {
					e.setStream(110, overBox, k.code)
					e.set(101, "<<"+overAmount+k.keys+k.value+"/AP<</N 110 0 R>>>>")
				}})
			}
		}
		if empty.ap == "" {
			continue
		}
		// A value that was not seen appears.
		hidden := overAmount + "/FT/Tx/V(EUR 900)"
		hidden = strings.Replace(hidden, "[15 140 285 175]", "[15 20 285 55]", 1)
		list = append(list, prepared{"value under " + empty.name + " that is drawn", 0, forged, func(e *editor) {
			base(e)
			e.putField(hidden + empty.ap)
		}, func(e *editor) {
			e.setStream(110, overBox, "BT 0 g /Helv 18 Tf 5 10 Td (EUR 900) Tj ET")
			e.set(101, "<<"+hidden+"/AP<</N 110 0 R>>>>")
		}})
		if strings.HasPrefix(empty.ap, "/AP<</N 104") {
			continue // taken away: known before
		}
		list = append(list, prepared{"value under " + empty.name + " that is left to readers", 0, forged, func(e *editor) {
			base(e)
			e.putField(hidden + empty.ap)
		}, func(e *editor) { e.set(101, "<<"+hidden+">>") }})
	}
	// The amount stands in something else than the content of the page.
	for name, put := range map[string]func(e *editor){
		"a form": func(e *editor) {
			e.setStream(4, "", "q 1 0 0 1 20 150 cm /X Do Q")
			e.setStream(105, "/Type/XObject/Subtype/Form/BBox[0 -10 280 30]"+pageFont, "BT /F1 18 Tf (Pay EUR 100) Tj ET")
			e.page("/XObject<</X 105 0 R>>")
		},
		"a picture": func(e *editor) {
			e.setStream(4, "", "q 100 0 0 20 20 150 cm /X Do Q")
			e.setStream(105, "/Type/XObject/Subtype/Image/Width 2/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/ASCIIHexDecode", "00FF>")
			e.page("/XObject<</X 105 0 R>>")
		},
		"a picture of its own": func(e *editor) {
			e.setStream(4, "", "q 100 0 0 20 20 150 cm BI /W 2 /H 1 /BPC 8 /CS /G /F /AHx ID 0080> EI Q")
		},
		"curves": func(e *editor) { e.setStream(4, "", "2 w 20 150 m 40 180 60 120 90 160 c S") },
		"a shading": func(e *editor) {
			e.setStream(4, "", "q 20 150 100 10 re W n /S sh Q")
			e.page("/Shading<</S<</ShadingType 2/ColorSpace/DeviceGray/Coords[20 0 120 0]/Function<</FunctionType 2/Domain[0 1]/C0[0]/C1[1]/N 1>>>>>>")
		},
		"a glyph of a Type 3 font": func(e *editor) {
			e.setStream(4, "", "BT /T3 1 Tf 20 150 Td (a) Tj ET")
			e.set(105, "<</Type/Font/Subtype/Type3/FontBBox[0 0 0 0]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 106 0 R>>/Encoding<</Type/Encoding/Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]>>")
			e.setStream(106, "", "1 0 d0 0 0 30 10 re f")
			e.put(3, "Resources", "<</Font<</F1 5 0 R/T3 105 0 R>>>>")
		},
		"another field": func(e *editor) {
			e.setStream(4, "", "n")
			e.put(7, "Rect", "[20 145 120 165]")
		},
		"a comment": func(e *editor) {
			e.setStream(4, "", "n")
			e.set(12, "<</Type/Annot/Subtype/FreeText/DA(/Helv 12 Tf 0 g)/Contents(100)/Rect[20 145 120 165]/F 4/P 3 0 R/AP<</N 105 0 R>>>>")
			e.setStream(105, fieldDict, "BT /Helv 12 Tf 2 5 Td (EUR 100) Tj ET")
		},
	} {
		list = append(list, prepared{"ground over " + name, 0, forged, func(e *editor) {
			base(e)
			e.putField(overAmount + kinds[1].keys + "/AP<<>>")
			put(e)
		}, func(e *editor) {
			e.setStream(110, overBox, kinds[1].code)
			e.set(101, "<<"+overAmount+kinds[1].keys+kinds[1].value+"/AP<</N 110 0 R>>>>")
		}})
	}
	// Written over what the page says.
	list = append(list, prepared{"digits over digits", 0, forged, func(e *editor) {
		e.setStream(4, "", "BT /F1 18 Tf 20 150 Td (Pay EUR 3) Tj ET")
		e.putField(overAmount + "/FT/Tx")
	}, func(e *editor) {
		e.setStream(110, overBox, "BT 0 g /Helv 18 Tf 84 10 Td (8) Tj ET")
		e.set(101, "<<"+overAmount+"/FT/Tx/V(8)/AP<</N 110 0 R>>>>")
	}})

	// Controls: nothing stands below, or the same ground did.
	aside := strings.Replace(overAmount, "[15 140 285 175]", "[15 20 285 55]", 1)
	for _, empty := range empties[:4] {
		for _, k := range kinds {
			list = append(list, prepared{fmt.Sprintf("%s beside the amount, before it %s", k.name, empty.name), 0, genuine, func(e *editor) {
				base(e)
				e.putField(aside + k.keys + empty.ap)
			}, func(e *editor) {
				e.setStream(110, overBox, k.code)
				e.set(101, "<<"+aside+k.keys+k.value+"/AP<</N 110 0 R>>>>")
			}})
		}
	}
	list = append(list, prepared{"ground on a page with a ground", 0, genuine, func(e *editor) {
		e.setStream(4, "", "1 1 .9 rg 0 0 300 200 re f 0 g "+under)
		e.putField(aside + kinds[1].keys)
	}, func(e *editor) {
		e.setStream(110, overBox, kinds[1].code)
		e.set(101, "<<"+aside+kinds[1].keys+kinds[1].value+"/AP<</N 110 0 R>>>>")
	}}, prepared{"text on a dotted line", 0, genuine, func(e *editor) {
		e.setStream(4, "", under+"BT /F1 18 Tf 15 26 Td (..............................) Tj ET 0 0 1 RG 15 20 270 35 re s")
		e.putField(aside + "/FT/Tx")
	}, func(e *editor) {
		e.setStream(110, overBox, "/Tx BMC"+text+" EMC")
		e.set(101, "<<"+aside+"/FT/Tx/V(Pay EUR 900 to Anna)/AP<</N 110 0 R>>>>")
	}})
	return forge(t, m, list)
}

// glyph is a box, or several, in units of a font.
type glyphBox [4]int16

// makeFont writes a TrueType font in which the letter A has these boxes for an
// outline; whole makes it a part of a compound glyph, scaled by as much.
func makeFont(em int, boxes []glyphBox, scale float64) []byte {
	simple := func(boxes []glyphBox) []byte {
		var b bytes.Buffer
		put := func(v ...int16) { _ = binary.Write(&b, binary.BigEndian, v) }
		put(int16(len(boxes)), 0, 0, 500, 700) // the box of the glyph is not what it says
		for i := range boxes {
			put(int16(4*i + 3))
		}
		put(0)
		for range 4 * len(boxes) {
			b.WriteByte(1)
		}
		x, y := int16(0), int16(0)
		var xs, ys []int16
		for _, r := range boxes {
			for _, p := range [][2]int16{{r[0], r[1]}, {r[0], r[3]}, {r[2], r[3]}, {r[2], r[1]}} {
				xs, ys = append(xs, p[0]-x), append(ys, p[1]-y)
				x, y = p[0], p[1]
			}
		}
		put(xs...)
		put(ys...)
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
		return b.Bytes()
	}
	glyphs := [][]byte{nil, simple(boxes)}
	if scale != 0 {
		var b bytes.Buffer
		_ = binary.Write(&b, binary.BigEndian, []int16{-1, 0, 0, 500, 700, 0x000A, 2, 0, int16(scale * 16384)})
		for b.Len()%4 != 0 {
			b.WriteByte(0)
		}
		glyphs = [][]byte{nil, b.Bytes(), glyphs[1]}
	}
	be := binary.BigEndian
	head := make([]byte, 54)
	be.PutUint32(head, 0x00010000)
	be.PutUint32(head[12:], 0x5F0F3CF5)
	be.PutUint16(head[18:], uint16(em))
	be.PutUint16(head[40:], 500)
	be.PutUint16(head[42:], 700)
	be.PutUint16(head[50:], 1)
	hhea := make([]byte, 36)
	be.PutUint32(hhea, 0x00010000)
	be.PutUint16(hhea[4:], 800)
	be.PutUint16(hhea[34:], uint16(len(glyphs)))
	maxp := make([]byte, 32)
	be.PutUint32(maxp, 0x00010000)
	be.PutUint16(maxp[4:], uint16(len(glyphs)))
	be.PutUint16(maxp[6:], 400)
	be.PutUint16(maxp[8:], 100)
	be.PutUint16(maxp[10:], 400)
	be.PutUint16(maxp[12:], 100)
	be.PutUint16(maxp[28:], 4)
	be.PutUint16(maxp[30:], 2)
	var hmtx, loca, glyf []byte
	for _, g := range glyphs {
		hmtx = be.AppendUint32(hmtx, uint32(em/2)<<16)
		loca = be.AppendUint32(loca, uint32(len(glyf)))
		glyf = append(glyf, g...)
	}
	loca = be.AppendUint32(loca, uint32(len(glyf)))
	cmap := []byte{0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 0, 20, 0, 3, 0, 1, 0, 0, 0, 26}
	be.PutUint32(cmap[16:], 20+262)
	mac := make([]byte, 262)
	be.PutUint16(mac[2:], 262)
	mac[6+'A'] = 1
	win := be.AppendUint16(nil, 4)
	for _, v := range []uint16{32, 0, 4, 4, 1, 0, 'A', 0xFFFF, 0, 'A', 0xFFFF, 0, 1, 0, 0} {
		win = be.AppendUint16(win, v)
	}
	delta := uint16(0x10000 + 1 - 'A')
	be.PutUint16(win[24:], delta)
	be.PutUint16(win[26:], 1)
	cmap = append(append(cmap, mac...), win...)
	tables := []struct {
		tag  string
		data []byte
	}{{"cmap", cmap}, {"glyf", glyf}, {"head", head}, {"hhea", hhea}, {"hmtx", hmtx}, {"loca", loca}, {"maxp", maxp}}
	out := []byte{0, 1, 0, 0, 0, byte(len(tables)), 0, 64, 0, 2, 0, 48}
	at := 12 + 16*len(tables)
	var body []byte
	for _, tb := range tables {
		out = append(out, tb.tag...)
		out = be.AppendUint32(out, 0)
		out = be.AppendUint32(out, uint32(at+len(body)))
		out = be.AppendUint32(out, uint32(len(tb.data)))
		body = append(body, tb.data...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	return append(out, body...)
}

// makeGlyphs fills in an empty field over the page with one letter of a font
// that the signed revision has and uses nowhere.
func makeGlyphs(t *testing.T, m *materials) []specimen {
	var list []prepared
	const (
		field = "/Type/Annot/Subtype/Widget/FT/Tx/Rect[0 0 300 200]/F 4/P 3 0 R/DA(/Big 12 Tf 0 g)/T(note)"
		whole = "/Type/XObject/Subtype/Form/BBox[0 0 300 200]/Resources<</Font<</Big 102 0 R>>>>"
	)
	page := []glyphBox{{0, 0, 20000, 9000}}
	strokes := []glyphBox{{0, 0, 1000, 9000}, {2000, 0, 3000, 9000}, {4000, 0, 5000, 9000}, {6000, 0, 20000, 1000}}
	widths := "/FirstChar 65/LastChar 65/Widths[500]/FontDescriptor 103 0 R"
	descriptor := "<</Type/FontDescriptor/FontName/Big/Flags 32/FontBBox[0 0 500 700]/ItalicAngle 0/Ascent 700/Descent 0/CapHeight 700/StemV 80/FontFile2 104 0 R>>"
	simple := "<</Type/Font/Subtype/TrueType/BaseFont/Big/Encoding/WinAnsiEncoding" + widths + ">>"
	wide := "<</Type/Font/Subtype/Type0/BaseFont/Big/Encoding/Identity-H/DescendantFonts[105 0 R]/ToUnicode 106 0 R>>"
	cid := "<</Type/Font/Subtype/CIDFontType2/BaseFont/Big/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/CIDToGIDMap/Identity/DW 500/FontDescriptor 103 0 R>>"
	toUnicode := "/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfchar <0001> <0041> endbfchar endcmap end end"
	fill := func(name, want, font string, program []byte, shown string, more func(e *editor)) {
		list = append(list, prepared{name, 0, want, func(e *editor) {
			e.set(102, font)
			e.set(103, descriptor)
			e.setStream(104, fmt.Sprintf("/Length1 %d", len(program)), string(program))
			e.set(105, cid)
			e.setStream(106, "", toUnicode)
			e.put(6, "DR", "<</Font<</Helv 5 0 R/Big 102 0 R>>>>")
			e.putField(field)
			if more != nil {
				more(e)
			}
		}, func(e *editor) {
			e.setStream(110, whole, "/Tx BMC BT 0 g /Big 12 Tf 20 40 Td "+shown+" Tj ET EMC")
			e.set(101, "<<"+field+"/V(A)/AP<</N 110 0 R>>>>")
		}})
	}
	fill("a glyph as large as the page", forged, simple, makeFont(1000, page, 0), "(A)", nil)
	fill("a glyph of strokes", forged, simple, makeFont(1000, strokes, 0), "(A)", nil)
	fill("a glyph to the left and below", forged, simple, makeFont(1000, []glyphBox{{-1500, -3000, 9000, 400}}, 0), "(A)", nil)
	fill("a small em", forged, simple, makeFont(64, []glyphBox{{0, 0, 900, 600}}, 0), "(A)", nil)
	fill("a compound glyph", forged, simple, makeFont(1000, page, 0.9), "(A)", nil)
	fill("a compound glyph that is enlarged", forged, simple, makeFont(1000, []glyphBox{{0, 0, 8000, 5000}}, 1.9), "(A)", nil)
	fill("a font of two bytes", forged, wide, makeFont(1000, page, 0), "<0001>", nil)
	fill("a font of two bytes with a map of glyphs", forged, wide, makeFont(1000, page, 0.9), "<0001>", func(e *editor) {
		e.set(105, strings.Replace(cid, "/CIDToGIDMap/Identity", "/CIDToGIDMap 107 0 R", 1))
		e.setStream(107, "", "\x00\x00\x00\x02")
	})
	fill("a glyph that is a letter", genuine, simple, makeFont(1000, []glyphBox{{50, 0, 450, 700}}, 0), "(A)", nil)
	fill("a font of two bytes, a letter", genuine, wide, makeFont(1000, []glyphBox{{50, 0, 450, 700}}, 0), "<0001>", nil)
	go1 := strings.Replace(simple, "[500]", "[667]", 1)
	fill("a letter of a font that is embedded", genuine, go1, goregular.TTF, "(A)", nil)
	return forge(t, m, list)
}

// makePictures signs again, with a picture over the page.
func makePictures(t *testing.T, m *materials) []specimen {
	see := newEyes(t)
	img := image.NewGray(image.Rect(0, 0, 30, 20))
	for i := range img.Pix {
		img.Pix[i] = 250
	}
	img.Set(3, 3, color.Black)
	var picture bytes.Buffer
	if err := png.Encode(&picture, img); err != nil {
		t.Fatal(err)
	}
	again := func(doc []byte, field string, x, y, w, h float64) []byte {
		return m.signOne("contract.pdf", doc, func(o *rogito.Options) {
			o.PAdES = pades.Options{Field: field, Appearance: &pades.Appearance{X: x, Y: y, Width: w, Height: h, Layout: pades.Picture, Image: picture.Bytes()}}
		})
	}
	var out []specimen
	for _, certify := range []int{0, 2, 3} {
		add := func(name, want string, base, data []byte) {
			out = append(out, specimen{name: fmt.Sprintf("%s, %d", name, certify), data: data, want: want})
			if want == forged {
				see.differ(name, base, data)
			}
		}
		with := func(rect string) []byte {
			doc := change(t, pdf(), func(e *editor) {
				f := e.add("<</Type/Annot/Subtype/Widget/FT/Sig/T(approval)/F 4/P 3 0 R/Rect" + rect + ">>")
				e.annots(f)
				e.fields(f)
			})
			return m.signOne("contract.pdf", doc, func(o *rogito.Options) { o.PAdES = pades.Options{Certify: certify} })
		}
		plain := m.signOne("contract.pdf", pdf(), func(o *rogito.Options) { o.PAdES = pades.Options{Certify: certify} })
		add("picture over the page", forged, plain, again(plain, "", 0, 0, 300, 200))
		add("picture over half the page", forged, plain, again(plain, "", 0, 0, 300, 100))
		whole, small := with("[0 0 300 200]"), with("[150 20 250 60]")
		add("picture in an empty field over the page", forged, whole, again(whole, "approval", 0, 0, 0, 0))
		add("picture in an empty field", genuine, small, again(small, "approval", 0, 0, 0, 0))
		tiles := plain
		for i := range 3 {
			tiles = again(tiles, "", float64(70*i+20), 25, 70, 70)
		}
		add("pictures that cover the amount together", forged, plain, tiles)
		add("small picture over the amount", genuine, plain, again(plain, "", 20, 30, 100, 40))
		add("two small pictures beside each other", genuine, plain, again(again(plain, "", 20, 30, 60, 40), "", 80, 30, 60, 40))
		blank := m.signOne("contract.pdf", change(t, pdf(), func(e *editor) {
			e.put(3, "Annots", "[]")
			e.put(6, "Fields", "[]")
		}), func(o *rogito.Options) { o.PAdES = pades.Options{Certify: certify} })
		add("large picture on an empty part of the page", genuine, blank, again(blank, "", 10, 70, 280, 120))
	}
	return out
}

// sealed is a document that qpdf encrypted, and where its objects are now.
func sealed(t *testing.T, doc []byte, how ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pdf"), filepath.Join(dir, "out.pdf")
	if err := os.WriteFile(in, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--allow-weak-crypto", "--object-streams=disable", "--stream-data=preserve", "--encrypt", "", "owner"}, how...)
	if b, err := exec.Command("qpdf", append(args, "--", in, out)...).CombinedOutput(); err != nil {
		t.Fatalf("qpdf: %v: %s", err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ref follows a path of keys, and of places in arrays, from the catalog; it is
// the last object of its own that it leads to.
func (e *editor) ref(path string) int {
	e.t.Helper()
	var at raw.Object = e.doc.Root()
	num := e.doc.Root().Num
	for _, key := range strings.Split(path, "/") {
		o, err := e.doc.Resolve(at)
		if err != nil {
			e.t.Fatal(err)
		}
		switch v := o.(type) {
		case raw.Array:
			var i int
			fmt.Sscan(key, &i)
			at = v[i]
		case *raw.Dict:
			at = v.Get(raw.Name(key))
		case *raw.Stream:
			at = v.Dict.Get(raw.Name(key))
		}
		if r, ok := at.(raw.Ref); ok {
			num = r.Num
		}
	}
	return num
}

// inClear writes an object that is there again, unencrypted, with more in its
// dictionary.
func (e *editor) inClear(num int, more string) {
	e.t.Helper()
	o, err := e.doc.Get(raw.Ref{Num: num})
	if err != nil {
		e.t.Fatal(err)
	}
	if s, ok := o.(*raw.Stream); ok {
		data, err := e.doc.Encoded(s)
		if err != nil {
			e.t.Fatal(err)
		}
		d := s.Dict.Clone()
		d.Delete("Length")
		e.setStream(num, strings.TrimSuffix(strings.TrimPrefix(spell(d), "<<"), ">>")+more, string(data))
		return
	}
	e.set(num, strings.TrimSuffix(spell(o), ">>")+more+">>")
}

// spell writes a value in clear.
func spell(o raw.Object) string {
	switch v := o.(type) {
	case raw.Name:
		return "/" + string(v)
	case raw.String:
		return fmt.Sprintf("<%x>", v.Bytes)
	case raw.Array:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(" " + spell(e))
		}
		return "[" + b.String() + "]"
	case *raw.Dict:
		var b strings.Builder
		for _, e := range v.Entries {
			b.WriteString("/" + string(e.Key) + " " + spell(e.Value))
		}
		return "<<" + b.String() + ">>"
	case nil:
		return "null"
	}
	return fmt.Sprint(o)
}

// makeEncrypted changes encrypted documents: what an update leaves in clear is
// not what readers make of it.
func makeEncrypted(t *testing.T, m *materials) []specimen {
	if _, err := exec.LookPath("qpdf"); err != nil {
		t.Log("SKIPPED: encrypted documents need qpdf")
		return nil
	}
	doc := change(t, pdf(), func(e *editor) {
		e.setStream(4, "", under+"q 40 0 0 40 200 20 cm /I Do Q /X Do")
		img := e.stream("/Type/XObject/Subtype/Image/Width 2/Height 1/BitsPerComponent 8/ColorSpace[/Indexed/DeviceRGB 1 <FF000000FF00>]/Filter/ASCIIHexDecode", "0001>")
		about := e.stream("/Type/Metadata/Subtype/XML", "<x/>") // in clear where metadata are
		form := e.stream(pageForm+pageFont+fmt.Sprintf("/Metadata %v", about), "BT /F1 10 Tf 150 90 Td (in words: one hundred) Tj ET")
		e.page(fmt.Sprintf("/XObject<</I %v/X %v>>", img, form))
		e.put(7, "AP", "")
		e.set(12, "<</Type/Annot/Subtype/FreeText/DA(/Helv 12 Tf 0 g)/Contents(a note: 100)/Rect[150 100 270 120]/F 4/P 3 0 R>>")
	})
	const content, imageAt, formAt = "Pages/Kids/0/Contents", "Pages/Kids/0/Resources/XObject/I", "Pages/Kids/0/Resources/XObject/X"
	see := newEyes(t)
	var out []specimen
	for name, how := range map[string][]string{
		"RC4":                    {"128", "--use-aes=n", "--force-V4", "--cleartext-metadata"},
		"AES-128":                {"128", "--use-aes=y", "--cleartext-metadata"},
		"AES-256":                {"256", "--cleartext-metadata"},
		"metadata encrypted too": {"256"},
	} {
		base := m.signOne("contract.pdf", sealed(t, doc, how...), nil)
		out = append(out, specimen{name: name, data: base, want: genuine})
		if name != "metadata encrypted too" {
			odd := change(t, sealed(t, doc, how...), func(e *editor) { e.inClear(e.ref(content), "/Type/Metadata") })
			out = append(out, specimen{name: name + ", signed with content as metadata", data: m.signUnchecked(odd), want: slipped, means: [][]byte{sealed(t, doc, how...)}})
		}
		add := func(what string, do func(e *editor)) {
			data := change(t, base, do)
			see.differ(name+", "+what, base, data)
			out = append(out, specimen{name: name + ", " + what, data: data, want: forged})
		}
		honest := func(what string, do func(e *editor)) {
			out = append(out, specimen{name: name + ", " + what, data: change(t, base, do), want: genuine})
		}
		for what, path := range map[string]string{"content": content, "a picture": imageAt, "a form": formAt} {
			add(what+" as metadata in clear", func(e *editor) { e.inClear(e.ref(path), "/Type/Metadata") })
			if what != "a picture" {
				add(what+" in clear", func(e *editor) { e.inClear(e.ref(path), "") })
				add(what+" under no filter", func(e *editor) { e.inClear(e.ref(path), "/Filter/Crypt") })
				add(what+" under the filter Identity", func(e *editor) {
					e.inClear(e.ref(path), "/Filter[/Crypt]/DecodeParms[<</Name/Identity>>]")
				})
				add(what+" under a filter by reference", func(e *editor) {
					e.inClear(e.ref(path), fmt.Sprintf("/Filter %v", e.add("/Crypt")))
				})
			}
		}
		if name != "RC4" { // a string in clear is another string there
			add("strings of a field", func(e *editor) { e.inClear(e.ref("AcroForm/Fields/0"), "") })
			out = append(out, specimen{name: name + ", the name of a field", want: forged, data: change(t, base, func(e *editor) {
				num := e.ref("AcroForm/Fields/1")
				d, err := e.u.Edit(raw.Ref{Num: num})
				if err != nil {
					t.Fatal(err)
				}
				d.Set("T", raw.Raw("(agreed)"))
			})})
			add("strings of a comment", func(e *editor) { e.inClear(e.ref("Pages/Kids/0/Annots/2"), "") })
		}
		add("the colours of a picture", func(e *editor) {
			o, err := e.doc.Get(raw.Ref{Num: e.ref(imageAt)})
			if err != nil {
				t.Fatal(err)
			}
			s := o.(*raw.Stream)
			d := s.Dict.Clone()
			d.Set("ColorSpace", e.add("[/Indexed/DeviceRGB 1 <FF000000FF00>]"))
			data, err := e.doc.Encoded(s)
			if err != nil {
				t.Fatal(err)
			}
			d.Delete("Length")
			e.u.Set(raw.Ref{Num: e.ref(imageAt)}, &raw.Stream{Dict: d, Data: data})
		})
		// Controls: updates as they should be written.
		honest("written again", func(e *editor) {
			for _, path := range []string{content, imageAt, formAt} {
				num := e.ref(path)
				o, err := e.doc.Get(raw.Ref{Num: num})
				if err != nil {
					t.Fatal(err)
				}
				data, err := e.doc.Encoded(o.(*raw.Stream))
				if err != nil {
					t.Fatal(err)
				}
				d := o.(*raw.Stream).Dict.Clone()
				d.Delete("Length")
				e.u.Set(raw.Ref{Num: num}, &raw.Stream{Dict: d, Data: data})
			}
			for _, path := range []string{"AcroForm/Fields/0", "Pages/Kids/0/Annots/2"} {
				if _, err := e.u.Edit(raw.Ref{Num: e.ref(path)}); err != nil {
					t.Fatal(err)
				}
			}
		})
		second := m.signOne("contract.pdf", base, func(o *rogito.Options) {
			o.PAdES = pades.Options{Appearance: &pades.Appearance{X: 150, Y: 140, Width: 60, Height: 30, Lines: []string{"signed by another"}}}
		})
		out = append(out, specimen{name: name + ", signed again", data: second, want: genuine})
	}
	return out
}

// makeSpelled writes equal values in ways that some readers take for others.
func makeSpelled(t *testing.T, m *materials) []specimen {
	var list []prepared
	bare := "/Type/Annot/Subtype/Widget/FT/Tx/T(note)/V(EUR 100)/Rect[15 20 285 55]/F 4/P 3 0 R"
	comment := "/Type/Annot/Subtype/FreeText/Contents(EUR 100)/Rect[15 20 285 55]/F 4/P 3 0 R"
	for name, da := range map[string]string{
		"two colours":              "/Helv 18 Tf 1 g 0 g",
		"two colours of two kinds": "1 1 1 rg /Helv 18 Tf 0 g",
		"two fonts":                "/Helv 1 Tf /Helv 18 Tf 0 g",
		"two fonts, the other way": "/Helv 18 Tf 0 g /Helv 1 Tf",
		"a comment":                "%1 1 1 rg\\n/Helv 18 Tf 0 g",
		"a comment with a font":    "/Helv 18 Tf 0 g %\\n",
		"a comment in between":     "/Helv %1 Tf\\n18 Tf 0 g",
		"something else":           "q 1 g Q /Helv 18 Tf 0 g",
		"an array":                 "[1 g] /Helv 18 Tf 0 g",
		"a string":                 "(1 g) /Helv 18 Tf 0 g",
		"an escaped name":          "/#48elv 18 Tf 0 g",
	} {
		list = append(list, prepared{"default appearance of a field, " + name, 0, "", func(e *editor) {
			e.putField(bare + "/DA(/Helv 18 Tf 0 g)")
		}, func(e *editor) { e.set(101, "<<"+bare+"/DA("+da+")>>") }},
			prepared{"default appearance of a comment, " + name, 0, "", func(e *editor) {
				e.set(101, "<<"+comment+"/DA(/Helv 18 Tf 0 g)>>")
				e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R 101 0 R]")
			}, func(e *editor) { e.set(101, "<<"+comment+"/DA("+da+")>>") }},
			prepared{"default appearance of the form, " + name, 0, "", func(e *editor) {
				e.putField(bare)
				e.put(6, "DA", "(/Helv 18 Tf 0 g)")
			}, func(e *editor) { e.put(6, "DA", "("+da+")") }})
	}
	for name, da := range map[string]string{"other digits": "/Helv 18.0 Tf 0.0 g", "another order": "0 g /Helv 18 Tf", "more room": " /Helv  18 Tf\\n0 g ", "three grey parts": "/Helv 18 Tf 0 0 0 rg"} {
		list = append(list, prepared{"default appearance, " + name, 0, genuine, func(e *editor) {
			e.putField(bare + "/DA(/Helv 18 Tf 0 g)")
		}, func(e *editor) { e.set(101, "<<"+bare+"/DA("+da+")>>") }})
	}

	// A reference where the value stood.
	by := func(name string, num int, key, value string) {
		list = append(list, prepared{"by reference: " + name, 0, "", func(e *editor) {
			e.setStream(4, "", under+"q 40 0 0 40 200 20 cm /I Do Q /X Do")
			e.setStream(102, "/Type/XObject/Subtype/Image/Width 2/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/ASCIIHexDecode", "0080>")
			e.setStream(103, pageForm+pageFont, "BT /F1 10 Tf 150 90 Td (in words: one hundred) Tj ET")
			e.page("/XObject<</I 102 0 R/X 103 0 R>>")
			e.put(9, "V", "/Yes")
			e.put(9, "AS", "/Yes")
		}, func(e *editor) {
			o, err := e.doc.Get(raw.Ref{Num: num})
			if err != nil {
				t.Fatal(err)
			}
			to := e.add(value)
			if s, ok := o.(*raw.Stream); ok {
				data, err := e.doc.Encoded(s)
				if err != nil {
					t.Fatal(err)
				}
				d := s.Dict.Clone()
				d.Set(raw.Name(key), to)
				d.Delete("Length")
				e.u.Set(raw.Ref{Num: num}, &raw.Stream{Dict: d, Data: data})
				return
			}
			e.put(num, key, to.String())
		}})
	}
	by("Subtype of a field", 7, "Subtype", "/Widget")
	by("Type of a field", 7, "Type", "/Annot")
	by("FT of a field", 7, "FT", "/Tx")
	by("F of a field", 7, "F", "4")
	by("V of a field", 7, "V", "(100)")
	by("DA of a field", 7, "DA", "(/Helv 12 Tf 0 g)")
	by("T of a field", 7, "T", "(amount)")
	by("AS of a button", 9, "AS", "/Yes")
	by("V of a button", 9, "V", "/Yes")
	by("Subtype of a comment", 12, "Subtype", "/Text")
	by("Type of a font", 5, "Type", "/Font")
	by("Subtype of a font", 5, "Subtype", "/Type1")
	by("BaseFont", 5, "BaseFont", "/Helvetica")
	by("Encoding of a font", 5, "Encoding", "/WinAnsiEncoding")
	by("Subtype of a form", 103, "Subtype", "/Form")
	by("Type of a form", 103, "Type", "/XObject")
	by("Subtype of a picture", 102, "Subtype", "/Image")
	by("ColorSpace of a picture", 102, "ColorSpace", "/DeviceGray")
	by("Width of a picture", 102, "Width", "2")
	by("Filter of a picture", 102, "Filter", "/ASCIIHexDecode")
	by("Subtype of an appearance", 8, "Subtype", "/Form")
	by("Type of a page", 3, "Type", "/Page")
	by("Rotate of a page", 3, "Rotate", "0")
	by("Type of the tree", 2, "Type", "/Pages")
	by("Count of the tree", 2, "Count", "1")
	by("Type of the catalog", 1, "Type", "/Catalog")

	// An entry that leads to nothing, where there was none.
	for num, keys := range map[int][]string{
		1: {"OpenAction", "OCProperties", "Names", "Perms"}, 2: {"MediaBox", "CropBox", "Resources", "Parent"},
		3: {"Kids", "CropBox", "Rotate", "Group", "UserUnit"}, 5: {"FontDescriptor", "Widths", "ToUnicode", "DescendantFonts"},
		6: {"XFA", "NeedAppearances"}, 7: {"Kids", "Parent", "MK", "AS", "OC"}, 8: {"Matrix", "Group", "OC"}, 9: {"Kids", "Parent"}, 12: {"AP", "Kids", "OC", "Parent"},
	} {
		for _, key := range keys {
			for _, nothing := range []string{"null", "199 0 R"} {
				list = append(list, prepared{fmt.Sprintf("%s of object %d is %s", key, num, nothing), 0, "", func(*editor) {}, func(e *editor) {
					if num != 8 {
						e.put(num, key, nothing)
						return
					}
					e.putStream(num, fieldDict+"/"+key+" "+nothing)
				}})
			}
		}
	}
	for num, keys := range map[int][]string{7: {"V", "DA", "F", "AP", "Rect"}, 9: {"AS", "V", "FT", "AP"}, 12: {"Contents", "F", "Rect"}} {
		for _, key := range keys {
			for _, nothing := range []string{"null", "199 0 R"} {
				list = append(list, prepared{fmt.Sprintf("%s of object %d becomes %s", key, num, nothing), 0, "", func(*editor) {}, func(e *editor) { e.put(num, key, nothing) }})
			}
		}
	}
	for name, do := range map[string]func(e *editor){
		"an annotation":            func(e *editor) { e.annots(raw.Ref{Num: 199}) },
		"a field":                  func(e *editor) { e.fields(raw.Ref{Num: 199}) },
		"a page":                   func(e *editor) { e.list(2, "Kids", raw.Ref{Num: 199}) },
		"a part of the content":    func(e *editor) { e.put(3, "Contents", "[4 0 R 199 0 R]") },
		"a part of the rectangle":  func(e *editor) { e.put(7, "Rect", "[20 100 120 199 0 R]") },
		"a state of the check box": func(e *editor) { e.put(9, "AP", "<</N<</Yes 10 0 R/Off 11 0 R/On 199 0 R>>>>") },
		"a font of the form":       func(e *editor) { e.put(6, "DR", "<</Font<</Helv 5 0 R/New 199 0 R>>>>") },
		"a font of the page":       func(e *editor) { e.put(3, "Resources", "<</Font<</F1 5 0 R/New 199 0 R>>>>") },
	} {
		list = append(list, prepared{name + " that is nowhere", 0, "", func(*editor) {}, do})
	}
	list = append(list, prepared{"a null that is left out", 0, genuine, func(e *editor) {
		e.put(3, "Tabs", "null")
		e.put(7, "MK", "null")
	}, func(e *editor) {
		e.put(3, "Tabs", "")
		e.put(7, "MK", "")
	}})

	// Controls: dictionaries and arrays stand where they like.
	to := func(name string, num int, key, value string) {
		list = append(list, prepared{"by reference, " + name, 0, genuine, func(*editor) {}, func(e *editor) { e.put(num, key, e.add(value).String()) }})
	}
	to("Resources", 3, "Resources", "<</Font<</F1 5 0 R>>>>")
	list = append(list, prepared{"by reference, Annots", 0, genuine, func(*editor) {}, func(e *editor) {
		d, err := e.doc.Dict(raw.Ref{Num: 3})
		if err != nil {
			t.Fatal(err)
		}
		e.put(3, "Annots", e.add(spell(d.Get("Annots"))).String())
	}})
	to("MediaBox", 3, "MediaBox", "[0 0 300 200]")
	to("Rect", 7, "Rect", "[20 100 120 120]")
	to("DR", 6, "DR", "<</Font<</Helv 5 0 R>>>>")
	to("AP", 7, "AP", "<</N 8 0 R>>")
	return forge(t, m, list)
}

// makeHarmless are additions of products that show, run and hide nothing, beside
// the same where they would.
func makeHarmless(t *testing.T, m *materials) []specimen {
	scripted := m.signOne("contract.pdf", change(t, pdf(), func(e *editor) { e.put(7, "AA", "<</F<</S/JavaScript/JS(1)>>>>") }), nil)
	base := m.signOne("contract.pdf", blank(t), nil)
	named := func(e *editor) { e.put(1, "Names", fmt.Sprintf("<</AP<</Names[(x)%v]>>>>", e.picture())) }
	reworded := func(da string) func(e *editor) {
		return func(e *editor) {
			e.enter("900", showing("900"))
			e.put(15, "DA", da)
		}
	}
	out := []specimen{{name: "as signed", data: base, want: genuine}, {name: "with a script", data: scripted, want: genuine}}
	for _, c := range []struct {
		name, want string
		base       []byte
		do         func(e *editor)
	}{
		{"private data of a product", genuine, base, func(e *editor) {
			e.put(1, "PieceInfo", "<</Product<</LastModified(D:20260101)/Private(x)>>>>")
			e.put(3, "PieceInfo", "<</Product<</LastModified(D:20260101)/Private(x)>>>>")
		}},
		{"named appearances", genuine, base, named},
		{"named appearances for a script", forged, scripted, named},
		{"filled in, another font named", genuine, base, reworded("(/F9 12 Tf 0 g)")},
		{"filled in, the colour left out", genuine, base, reworded("(/Helv 12 Tf)")},
		{"filled in, the default of the form", genuine, base, func(e *editor) {
			e.enter("900", showing("900"))
			e.put(15, "DA", "")
		}},
		{"filled in, white by default", forged, base, reworded("(/Helv 12 Tf 1 g)")},
		{"filled in, tiny by default", forged, base, reworded("(/Helv 1 Tf 0 g)")},
		{"filled in, two fonts by default", forged, base, reworded("(/Helv 1 Tf /Helv 12 Tf 0 g)")},
		{"default reworded, nothing filled in", forged, base, func(e *editor) { e.put(15, "DA", "(/F9 12 Tf 0 g)") }},
		{"font under another name", genuine, base, func(e *editor) { e.put(6, "DR", "<</Font<</Helv 5 0 R/F9 5 0 R>>>>") }},
	} {
		out = append(out, specimen{name: c.name, data: change(t, c.base, c.do), want: c.want})
	}
	return out
}
