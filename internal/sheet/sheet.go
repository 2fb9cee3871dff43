// Package sheet sets documents of our own as A4 pages: headings, paragraphs,
// labels with values, tables that go on over pages, codes that a telephone
// reads, attached files. What it writes is PDF/A-3b (ISO 19005-3): every font is
// embedded, colours have a profile.
package sheet

import (
	"bytes"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/typeface"
)

// The page, in points.
const (
	Width, Height = 595.28, 841.89
	Margin        = 56.0
	Measure       = Width - 2*Margin // of a line
	bottom        = Height - 64      // where the text of a page ends
)

// Style is how a text is set.
type Style struct {
	Font  func() *typeface.Font
	Size  float64
	Color string // three numbers from 0 to 1, sRGB
}

// Colours, those of the pages in the browser.
const (
	Ink     = "0.09 0.125 0.18"
	Soft    = "0.30 0.345 0.42"
	Rule    = "0.835 0.855 0.886"
	Accent  = "0.07 0.30 0.55"
	Good    = "0.043 0.384 0.224"
	Bad     = "0.643 0.078 0.114"
	Doubt   = "0.459 0.275 0"
	GoodBg  = "0.902 0.961 0.925"
	BadBg   = "0.992 0.925 0.925"
	DoubtBg = "1 0.953 0.851"
)

// Styles of text.
var (
	Body    = Style{typeface.Regular, 9.5, Ink}
	Strong  = Style{typeface.Bold, 9.5, Ink}
	Label   = Style{typeface.Regular, 9.5, Soft}
	Small   = Style{typeface.Regular, 8, Soft}
	Title   = Style{typeface.Bold, 21, Ink}
	Heading = Style{typeface.Bold, 12, Accent}
	Code    = Style{typeface.Mono, 8, Ink}
)

const leading = 1.36

// In is the style in another colour.
func (s Style) In(color string) Style {
	s.Color = color
	return s
}

// Sized is the style in another size.
func (s Style) Sized(size float64) Style {
	s.Size = size
	return s
}

// Height of a line.
func (s Style) Height() float64 { return s.Size * leading }

// Wrap breaks a text into lines of a width.
func (s Style) Wrap(text string, width float64) []string {
	return s.Font().Wrap(typeface.Clean(text), width/s.Size)
}

// Sheet is a document in the making. Y is where the next line begins, from the
// top of the page.
type Sheet struct {
	Y float64
	// Head is drawn at the top of every page but the first.
	Head func(*Sheet)

	front float64 // where the text of the first page ends; 0: where all text ends
	pages []*page
	fonts map[*typeface.Font]*font
	order []*font
}

type page struct {
	content bytes.Buffer
	links   []link
}

type link struct {
	x, y, width, height float64
	address             string
}

type font struct {
	name   string
	subset *typeface.Subset
}

// New begins a document with an empty page.
func New() *Sheet {
	s := &Sheet{fonts: map[*typeface.Font]*font{}}
	s.Break()
	return s
}

func (s *Sheet) page() *page { return s.pages[len(s.pages)-1] }

// Page is the number of the page.
func (s *Sheet) Page() int { return len(s.pages) }

// Break begins a new page.
func (s *Sheet) Break() {
	s.pages = append(s.pages, new(page))
	s.Y = Margin
	if s.Head != nil && len(s.pages) > 1 {
		s.Head(s)
	}
}

// bottom is where the text of the page ends.
func (s *Sheet) bottom() float64 {
	if s.front > 0 && len(s.pages) == 1 {
		return s.front
	}
	return bottom
}

// Room begins a new page where less than a height is left.
func (s *Sheet) Room(height float64) {
	if s.Y+height > s.bottom() {
		s.Break()
	}
}

// Left is the room that is left on the page.
func (s *Sheet) Left() float64 { return s.bottom() - s.Y }

// Space leaves some.
func (s *Sheet) Space(height float64) { s.Y += height }

// At writes one line with its top at y.
func (s *Sheet) At(x, y float64, text string, st Style) { s.on(s.page(), x, y, text, st) }

func (s *Sheet) on(p *page, x, y float64, text string, st Style) {
	if text = typeface.Clean(text); text == "" {
		return
	}
	f := s.fonts[st.Font()]
	if f == nil {
		f = &font{fmt.Sprintf("F%d", len(s.order)), st.Font().Subset()}
		s.fonts[st.Font()], s.order = f, append(s.order, f)
	}
	fmt.Fprintf(&p.content, "BT %s rg /%s %.2f Tf 1 0 0 1 %.2f %.2f Tm %s ET\n", st.Color, f.name, st.Size, x, Height-y-st.Size*1.02, f.subset.Show(text))
}

// Right writes one line that ends at x.
func (s *Sheet) Right(x, y float64, text string, st Style) {
	s.At(x-st.Font().Width(typeface.Clean(text))*st.Size, y, text, st)
}

// Text writes a paragraph.
func (s *Sheet) Text(text string, st Style) { s.Column(Margin, Measure, text, st) }

// Column writes a paragraph between x and x+width.
func (s *Sheet) Column(x, width float64, text string, st Style) {
	for _, line := range st.Wrap(text, width) {
		s.Room(st.Height())
		s.At(x, s.Y, line, st)
		s.Y += st.Height()
	}
}

// Section begins a part with a heading, which is never the last line of a page.
func (s *Sheet) Section(text string) {
	s.Space(14)
	s.Room(72)
	s.Text(text, Heading)
	s.Space(1)
	s.Line(Margin, s.Y, Measure)
	s.Space(6)
}

// Line draws a thin one.
func (s *Sheet) Line(x, y, width float64) {
	fmt.Fprintf(&s.page().content, "%s RG 0.6 w %.2f %.2f m %.2f %.2f l S\n", Rule, x, Height-y, x+width, Height-y)
}

// Box fills a rectangle.
func (s *Sheet) Box(x, y, width, height float64, color string) {
	fmt.Fprintf(&s.page().content, "%s rg %.2f %.2f %.2f %.2f re f\n", color, x, Height-y-height, width, height)
}

// Dot draws a disc around a point.
func (s *Sheet) Dot(x, y, radius float64, color string) {
	// A line of no length with round ends is a disc.
	fmt.Fprintf(&s.page().content, "q 1 J %s RG %.2f w %.2f %.2f m %.2f %.2f l S Q\n", color, 2*radius, x, Height-y, x, Height-y)
}

// Link makes a part of the page lead somewhere.
func (s *Sheet) Link(x, y, width, height float64, address string) {
	s.page().links = append(s.page().links, link{x, y, width, height, address})
}

// Dots draws a square picture of dark and light cells, such as a QR code.
func (s *Sheet) Dots(x, y, size float64, cells int, dark func(col, row int) bool) {
	cell := size / float64(cells)
	var b strings.Builder
	for row := range cells {
		for col := 0; col < cells; col++ {
			run := 0
			for col+run < cells && dark(col+run, row) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&b, "%.3f %.3f %.3f %.3f re\n", x+float64(col)*cell, Height-y-float64(row+1)*cell, float64(run)*cell, cell)
				col += run
			}
		}
	}
	fmt.Fprintf(&s.page().content, "%s rg\n%sf\n", Ink, b.String())
}

// Cell of a table or value of a pair.
type Cell struct {
	Text string
	Style
}

// Pairs writes labels with their values beside them. Pairs without a value are
// left out.
func (s *Sheet) Pairs(x, width, column float64, pairs ...[2]Cell) {
	for _, p := range pairs {
		if typeface.Clean(p[1].Text) != "" {
			s.row([]Column{{X: x, Width: column - 8}, {X: x + column, Width: width - column}}, p[:], nil)
			s.Space(1.5)
		}
	}
}

// Column of a table.
type Column struct {
	X, Width float64
	Name     string
}

// Table writes rows under their names, which come again on every page.
func (s *Sheet) Table(columns []Column, rows [][]Cell) {
	head := func() {
		y := s.Y
		for _, c := range columns {
			s.At(c.X, y, c.Name, Small)
		}
		s.Y = y + Small.Height() + 2
		s.Line(columns[0].X, s.Y, columns[len(columns)-1].X+columns[len(columns)-1].Width-columns[0].X)
		s.Space(4)
	}
	s.Room(48)
	head()
	for _, r := range rows {
		s.row(columns, r, head)
		s.Space(3)
		s.Line(columns[0].X, s.Y, columns[len(columns)-1].X+columns[len(columns)-1].Width-columns[0].X)
		s.Space(4)
	}
}

// row writes cells side by side. A row that is higher than the rest of the page begins on the next
// page, and continues over further ones.
func (s *Sheet) row(columns []Column, cells []Cell, again func()) {
	lines := make([][]string, len(cells))
	longest, height := 0, 0.0
	for i, c := range cells {
		lines[i] = c.Wrap(c.Text, columns[i].Width)
		longest, height = max(longest, len(lines[i])), max(height, c.Height())
	}
	next := func() {
		s.Break()
		if again != nil {
			again()
		}
	}
	if s.Y+float64(longest)*height > s.bottom() && float64(longest)*height < bottom/2 {
		next()
	}
	for n := range longest {
		if s.Y+height > s.bottom() {
			next()
		}
		for i, c := range cells {
			if n < len(lines[i]) {
				s.At(columns[i].X, s.Y+(height-c.Height())/2, lines[i][n], c.Style)
			}
		}
		s.Y += height
	}
}

// Stroke draws a line through points.
func (s *Sheet) Stroke(color string, width float64, points ...[2]float64) {
	fmt.Fprintf(&s.page().content, "q 1 J 1 j %s RG %.2f w", color, width)
	for i, p := range points {
		op := "l"
		if i == 0 {
			op = "m"
		}
		fmt.Fprintf(&s.page().content, " %.2f %.2f %s", p[0], Height-p[1], op)
	}
	s.page().content.WriteString(" S Q\n")
}
