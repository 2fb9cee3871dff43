package content

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"

	"rogito.dev/rogito/internal/pdf"
)

var (
	type1Matrix = regexp.MustCompile(`/FontMatrix\s*\[\s*0*\.001\s+0\s+0\s+0*\.001\s+0(\.0*)?\s+0(\.0*)?\s*\]`)
	type1Code   = regexp.MustCompile(`(?:dup\s+(\d{1,5})|/[^\s/]+)\s+(\d{1,5})\s+(?:RD|-\|) `)
	type1Count  = regexp.MustCompile(`/CharStrings\s+(\d{1,5})\s+dict`)
	type1Skip   = regexp.MustCompile(`/lenIV\s+(\d)`)
)

// newType1 reads a Type 1 font (Adobe Type 1 Font Format) for the extent of all its glyphs
// together; nil if it cannot.
func newType1(b []byte, pay func(int) bool) *program {
	at := bytes.Index(b, []byte("eexec"))
	if at < 0 || !type1Matrix.Match(b[:at]) || bytes.Count(b[:at], []byte("/FontMatrix")) != 1 || !pay(len(b)) {
		return nil
	}
	sealed := bytes.TrimLeft(b[at+len("eexec"):], " \t\r\n")
	if len(sealed) < 8 {
		return nil
	}
	if len(bytes.Trim(sealed[:8], "0123456789abcdefABCDEF")) == 0 {
		text := bytes.Join(bytes.Fields(sealed), nil)
		raw := make([]byte, len(text)/2)
		n, _ := hex.Decode(raw, text[:len(text)&^1])
		sealed = raw[:n]
	}
	private := type1Open(sealed, 55665, 4)
	skip := 4
	if m := type1Skip.FindSubmatch(private); m != nil {
		skip = int(m[1][0] - '0')
	}
	g := &type1{subrs: map[int][]byte{}, box: Nothing, left: 4_000_000}
	var glyphs [][]byte
	for from := 0; ; {
		m := type1Code.FindSubmatchIndex(private[from:])
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(string(private[from+m[4] : from+m[5]]))
		start := from + m[1]
		if start+n > len(private) || !pay(glyphWork+n) {
			return nil
		}
		code := type1Open(private[start:start+n], 4330, skip)
		if m[2] >= 0 {
			i, _ := strconv.Atoi(string(private[from+m[2] : from+m[3]]))
			g.subrs[i] = code
		} else {
			glyphs = append(glyphs, code)
		}
		from = start + n
	}
	for _, code := range glyphs {
		g.x, g.y, g.stack, g.passed = 0, 0, nil, nil
		if !g.run(code, 0) {
			return nil
		}
	}
	// A glyph in another notation would be missed.
	if m := type1Count.FindAllSubmatch(private, 2); len(m) != 1 || string(m[0][1]) != strconv.Itoa(len(glyphs)) {
		return nil
	}
	all := g.box
	for _, by := range g.accents {
		all = Union(all, pdf.Rect{LLX: g.box.LLX + by[0], LLY: g.box.LLY + by[1], URX: g.box.URX + by[0], URY: g.box.URY + by[1]})
	}
	all = pdf.Rect{LLX: all.LLX / 1000, LLY: all.LLY / 1000, URX: all.URX / 1000, URY: all.URY / 1000}
	return &program{all: &all}
}

func type1Open(b []byte, key uint16, skip int) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[i] = c ^ byte(key>>8)
		key = (uint16(c)+key)*52845 + 22719
	}
	return out[min(skip, len(out)):]
}

// type1 runs charstrings (Adobe Type 1 Font Format, 6).
type type1 struct {
	subrs         map[int][]byte
	box           pdf.Rect
	x, y          float64
	stack, passed []float64
	accents       [][2]float64
	left          int
}

// to moves the current point, and extends the box by it.
func (g *type1) to(dx, dy float64) {
	g.x, g.y = g.x+dx, g.y+dy
	g.box = Union(g.box, pdf.Rect{LLX: g.x, LLY: g.y, URX: g.x, URY: g.y})
}

func (g *type1) run(code []byte, depth int) bool {
	for i := 0; i < len(code); i++ {
		if g.left--; g.left < 0 || depth > 10 || len(g.stack) > 64 {
			return false
		}
		c := int(code[i])
		switch {
		case c >= 32 && c <= 246:
			g.stack = append(g.stack, float64(c-139))
		case c >= 247 && c <= 254 && i+1 < len(code):
			i++
			v := (c-247)*256 + int(code[i]) + 108
			if c > 250 {
				v = -(c-251)*256 - int(code[i]) - 108
			}
			g.stack = append(g.stack, float64(v))
		case c == 255 && i+4 < len(code):
			g.stack = append(g.stack, float64(int32(code[i+1])<<24|int32(code[i+2])<<16|int32(code[i+3])<<8|int32(code[i+4])))
			i += 4
		case c == 12 && i+1 < len(code):
			i++
			if !g.escape(int(code[i])) {
				return false
			}
		case c == 10:
			n := len(g.stack) - 1
			if n < 0 {
				return false
			}
			sub, ok := g.subrs[int(g.stack[n])]
			g.stack = g.stack[:n]
			if !ok || !g.run(sub, depth+1) {
				return false
			}
		case c == 11, c == 14:
			return true
		case c > 31 || !g.draw(c):
			return false
		}
	}
	return true
}

// draw interprets one-byte operators.
func (g *type1) draw(op int) bool {
	wants := map[int]int{1: 2, 3: 2, 4: 1, 5: 2, 6: 1, 7: 1, 8: 6, 9: 0, 13: 2, 21: 2, 22: 1, 30: 4, 31: 4}
	n, ok := wants[op]
	if !ok || len(g.stack) < n {
		return false
	}
	a := g.stack[len(g.stack)-n:]
	switch op {
	case 13:
		g.x, g.y = a[0], 0
	case 4, 7:
		g.to(0, a[0])
	case 6, 22:
		g.to(a[0], 0)
	case 5, 21:
		g.to(a[0], a[1])
	case 8:
		g.to(a[0], a[1])
		g.to(a[2], a[3])
		g.to(a[4], a[5])
	case 30:
		g.to(0, a[0])
		g.to(a[1], a[2])
		g.to(a[3], 0)
	case 31:
		g.to(a[0], 0)
		g.to(a[1], a[2])
		g.to(0, a[3])
	}
	g.stack = nil
	return true
}

// escape interprets two-byte operators.
func (g *type1) escape(op int) bool {
	n := len(g.stack)
	switch {
	case op <= 2: // hints
		g.stack = nil
	case op == 6 && n >= 5: // an accented letter of two glyphs
		a := g.stack[n-5:]
		g.accents = append(g.accents, [2]float64{a[1] - a[0] + g.x, a[2]})
		g.stack = nil
	case op == 7 && n >= 4:
		g.x, g.y, g.stack = g.stack[n-4], g.stack[n-3], nil
	case op == 12 && n >= 2 && g.stack[n-1] != 0:
		g.stack = append(g.stack[:n-2], g.stack[n-2]/g.stack[n-1])
	case op == 16 && n >= 2: // arguments of a procedure are returned
		count := int(g.stack[n-2])
		if count < 0 || count > n-2 || g.stack[n-1] > 3 {
			return false
		}
		g.passed = append([]float64{}, g.stack[n-2-count:n-2]...)
		g.stack = g.stack[:n-2-count]
	case op == 17:
		v := 0.0
		if k := len(g.passed) - 1; k >= 0 {
			v, g.passed = g.passed[k], g.passed[:k]
		}
		g.stack = append(g.stack, v)
	case op == 33: // the current point is there already
		g.stack = nil
	default:
		return false
	}
	return true
}
