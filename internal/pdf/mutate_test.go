package pdf

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// mutant writes PDF files that are right but for a few deviations, each of
// which some readers stumble over and some do not. It knows the structure of
// what it writes, so that nothing but the deviation is wrong.
type mutant struct {
	rnd  *rand.Rand
	buf  bytes.Buffer
	odds int // one deviation in so many chances; 0: none
	prev int
	done []string // what was deviated from

	known   map[int]int // offsets of all objects so far
	text    int
	xrefStm int
}

// chance decides whether to deviate here.
func (m *mutant) chance(name string) bool {
	if m.odds == 0 || m.rnd.IntN(m.odds) > 0 {
		return false
	}
	m.done = append(m.done, name)
	return true
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// file writes a document of one page and a few updates.
func (m *mutant) file() []byte {
	m.known = map[int]int{}
	if m.chance("junk before the header") {
		m.buf.WriteString(pick(m.rnd, "junk\n", "\n\n", "4 0 obj null endobj\n", "%PDF-1.2\n"))
	}
	m.buf.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	if m.chance("a linearisation dictionary") {
		fmt.Fprintf(&m.buf, "30 0 obj\n<</Linearized 1/L %010d/H[0 0]/O 3/E 0/N 1/T 0>>\nendobj\n", 0)
		m.known[30] = bytes.Index(m.buf.Bytes(), []byte("30 0 obj"))
	}
	m.revision(map[int]string{
		1: "<</Type/Catalog/Pages 2 0 R>>",
		2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		3: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
		4: m.content(),
		5: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
		6: "<</Title(a (b) \\051 c)/X<41 42>/Y[1 -2.5 true null/N#41me 4 0 R]>>",
	})
	for range m.rnd.IntN(3) {
		m.revision(pick(m.rnd,
			map[int]string{4: m.content()},
			map[int]string{3: "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents[4 0 R 7 0 R]>>", 7: m.content()},
			map[int]string{8: "<</New true>>"},
		))
	}
	if m.chance("padding at the end") {
		m.buf.WriteString(strings.Repeat(pick(m.rnd, " ", "\n", "\x00", "\r\n"), pick(m.rnd, 10, 500, 950, 1100, 3000)))
	}
	if m.chance("bytes at the end") {
		m.buf.WriteString(pick(m.rnd, "x", "% end\n", "4 0 obj null endobj\n", "startxref\n9\n%%EOF\n"))
	}
	b := m.buf.Bytes()
	if i := bytes.Index(b, []byte("/L 0000000000")); i >= 0 && m.rnd.IntN(2) == 0 {
		copy(b[i+3:], fmt.Sprintf("%010d", len(b)))
	}
	if m.chance("a byte") {
		b[m.rnd.IntN(len(b))] = byte(m.rnd.IntN(256))
	}
	return b
}

func (m *mutant) content() string {
	m.text++
	data := fmt.Sprintf("BT /F1 18 Tf 20 %d Td (Text%dX%d) Tj ET", 180-20*m.text, m.text, m.rnd.IntN(1000))
	if m.chance("an object inside a stream") {
		data += "\n4 0 obj\n<</Length 0>>\nstream\n\nendstream\nendobj\n"
	}
	n := len(data)
	if m.chance("a wrong Length") {
		n += pick(m.rnd, -3, -1, 1, 2, 7, 400)
	}
	length := fmt.Sprint(n)
	if m.chance("a Length elsewhere") {
		length = pick(m.rnd, "99 0 R", "-1", "6 0 R")
	}
	return fmt.Sprintf("<</Length %s>>\n%s%s%sendstream", length, pick(m.rnd, "stream\n", "stream\r\n"), data, m.end())
}

func (m *mutant) end() string {
	if m.chance("no line end before endstream") {
		return pick(m.rnd, "", " ", "\n\n", "\r")
	}
	return "\n"
}

// revision writes objects and a section that names them.
func (m *mutant) revision(objects map[int]string) {
	packed := m.rnd.IntN(3) == 0
	offsets := map[int]int{}
	inside := map[int][2]int{}
	if m.buf.Len() > 0 && m.known[30] > 0 && m.prev == 0 {
		offsets[30] = m.known[30]
	}
	var head, body string
	for num := 1; num < 40; num++ {
		o, ok := objects[num]
		if !ok {
			continue
		}
		if packed && !strings.Contains(o, "stream") {
			if m.chance("a number twice in an object stream") {
				head += fmt.Sprintf("%d %d ", num, len(body))
			}
			inside[num] = [2]int{20 + m.text, strings.Count(head, " ") / 2}
			head += fmt.Sprintf("%d %d ", num, len(body))
			body += m.object(o) + " "
			continue
		}
		offsets[num] = m.write(num, m.object(o))
	}
	if len(inside) > 0 {
		n := len(inside)
		if m.chance("a wrong N") {
			n += pick(m.rnd, -1, 1)
		}
		num := 20 + m.text
		offsets[num] = m.write(num, fmt.Sprintf("<</Type/ObjStm/N %d/First %d/Length %d>>\nstream\n%s\nendstream", n, len(head), len(head)+len(body), head+body))
	}
	if packed {
		m.stream(offsets, inside)
	} else {
		m.table(offsets)
	}
	for num, at := range offsets {
		m.known[num] = at
	}
}

// object deviates in the syntax of one.
func (m *mutant) object(o string) string {
	if m.chance("a key twice") {
		o = strings.Replace(o, "/MediaBox[0 0 300 200]", pick(m.rnd, "/MediaBox[0 0 300 200]/MediaBox[0 0 300 200]", "/MediaBox[0 0 10 10]/MediaBox[0 0 300 200]", "/MediaBox[0 0 300 200]/Media#42ox[0 0 30 20]"), 1)
	}
	if m.chance("a reference elsewhere") {
		o = strings.Replace(o, "/Contents 4 0 R", pick(m.rnd, "/Contents 4 1 R", "/Contents 7 0 R", "/Contents 4 00 R"), 1)
	}
	if m.chance("white space or comments") {
		o = strings.Replace(o, "/Type", pick(m.rnd, "\r\n/Type", " % x\n/Type", "\x00/Type", "%(\r/Type"), 1)
	}
	if m.chance("an odd number") {
		o = strings.Replace(o, "300", pick(m.rnd, "+300", "300.", "--300", "3-00", "300.0.0", "00300"), 1)
	}
	return o
}

func (m *mutant) write(num int, body string) int {
	if m.chance("bytes between objects") {
		m.buf.WriteString(pick(m.rnd, "\n\n", "% a comment\n", "junk\n", "4 0 obj null endobj\n", "%4 0 obj null endobj\n", "9", "endobj\n", "(", "<<"))
	}
	at := m.buf.Len()
	gen, word, end := 0, "obj", "\nendobj\n"
	if m.chance("an object's head") {
		switch m.rnd.IntN(4) {
		case 0:
			num++
		case 1:
			gen = 1
		case 2:
			word = "obj "
		case 3:
			fmt.Fprintf(&m.buf, "  ")
		}
	}
	if m.chance("an object's end") {
		end = pick(m.rnd, "\nendobj ", "\n", "endobj\n", "\nendobj\nendobj\n", "\nendob\n")
	}
	fmt.Fprintf(&m.buf, "%d %d %s\n%s%s", num, gen, word, body, end)
	return at
}

func (m *mutant) offset(at int) int {
	if m.chance("an offset") {
		return max(1, at+pick(m.rnd, -1, 1, -2, 5, 100, -9))
	}
	return at
}

// table names the objects in a classic table.
func (m *mutant) table(offsets map[int]int) {
	at := m.buf.Len()
	m.buf.WriteString("xref\n")
	if m.prev == 0 {
		m.buf.WriteString("0 1\n0000000000 65535 f \n")
	}
	line := func(num, at int) {
		gen, kind, end := 0, 'n', pick(m.rnd, " \n", "\r\n", " \r")
		if m.chance("an entry") {
			switch m.rnd.IntN(3) {
			case 0:
				gen = 1
			case 1:
				kind = 'f'
			case 2:
				end = pick(m.rnd, "\n", "  \n")
			}
		}
		fmt.Fprintf(&m.buf, "%d 1\n%010d %05d %c%s", num, m.offset(at), gen, kind, end)
	}
	for num := 1; num < 40; num++ {
		at, ok := offsets[num]
		if !ok || m.chance("an object in no table") {
			continue
		}
		line(num, at)
		if old, again := m.known[num]; again && m.chance("an object twice in a table") {
			line(num, old)
		}
	}
	m.free(func(num int) { fmt.Fprintf(&m.buf, "%d 1\n0000000000 0000%d f \n", num, m.rnd.IntN(2)) })
	extra := ""
	if m.xrefStm > 0 && m.chance("XRefStm") {
		extra = fmt.Sprintf("/XRefStm %d", m.xrefStm)
	}
	fmt.Fprintf(&m.buf, "trailer\n<<%s%s>>\n", m.trailer(), extra)
	m.marker(at)
}

func (m *mutant) free(f func(num int)) {
	if m.prev > 0 && m.chance("an object freed") {
		f(pick(m.rnd, 3, 4, 5, 6, 9))
	}
}

// stream names them in a cross-reference stream.
func (m *mutant) stream(offsets map[int]int, inside map[int][2]int) {
	num := 10 + m.text
	at := m.buf.Len()
	offsets[num] = at
	var index []string
	var rows bytes.Buffer
	row := func(n, kind, a, b int) {
		index = append(index, fmt.Sprintf("%d 1", n))
		rows.Write([]byte{byte(kind), byte(a >> 8), byte(a), byte(b)})
	}
	for n := 1; n < 40; n++ {
		if e, ok := inside[n]; ok && !m.chance("a packed object in no table") {
			i := e[1]
			if m.chance("an index in an object stream") {
				i = m.rnd.IntN(4)
			}
			row(n, 2, e[0], i)
		}
		if at, ok := offsets[n]; ok {
			if old, again := m.known[n]; again && m.chance("an object twice in a stream") {
				row(n, 1, old, 0)
			}
			row(n, pickKind(m), m.offset(at), 0)
		}
	}
	m.free(func(n int) { row(n, 0, 0, m.rnd.IntN(2)) })
	data := rows.String()
	if m.chance("a cross-reference stream too short") {
		data = data[:len(data)-pick(m.rnd, 1, 4)]
	}
	m.write(num, fmt.Sprintf("<</Type/XRef/W[1 2 1]/Index[%s]%s/Length %d>>\nstream\n%s\nendstream", strings.Join(index, " "), m.trailer(), len(data), data))
	m.xrefStm = at
	m.marker(at)
}

func pickKind(m *mutant) int {
	if m.chance("an entry's type") {
		return m.rnd.IntN(5)
	}
	return 1
}

func (m *mutant) trailer() string {
	size := 40
	if m.chance("Size") {
		size = pick(m.rnd, 3, 5, 400)
	}
	t := fmt.Sprintf("/Size %d/Root 1 0 R", size)
	if m.prev > 0 {
		prev := m.prev
		if m.chance("Prev") {
			prev += pick(m.rnd, -1, 1, 7)
		}
		t += fmt.Sprintf("/Prev %d", prev)
	}
	return t
}

func (m *mutant) marker(at int) {
	m.prev = at
	if m.chance("a marker") {
		at += pick(m.rnd, -1, 1, 2)
	}
	end := "%%EOF\n"
	if m.chance("an end of file") {
		end = pick(m.rnd, "", "%%EOF", "%%EO\n", "\n%%EOF\r\n")
	}
	fmt.Fprintf(&m.buf, "startxref\n%d\n%s", at, end)
}
