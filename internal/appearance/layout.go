package appearance

import (
	"bytes"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/typeface"
)

// Bounds of the text: smaller cannot be read, larger shouts. Lines are left out
// before the text gets smaller than readable.
const (
	largestType  = 14.0
	readableType = 4.5
	smallestType = 3.5
	leading      = 1.22
)

// style is how a kind of line is set, beside the size of a name.
var styles = map[Kind]struct {
	scale float64
	bold  bool
	color string
}{
	Plain: {0.85, false, ink}, Caption: {0.7, false, soft}, Name: {1, true, ink}, Detail: {0.75, false, soft},
}

func (k Kind) font() *typeface.Font {
	if styles[k].bold {
		return typeface.Bold()
	}
	return typeface.Regular()
}

// joined makes one paragraph: the caption and the name are one sentence.
func joined(lines []Line) []Line {
	var b strings.Builder
	for i, l := range lines {
		switch {
		case i == 0:
		case lines[i-1].Kind == Caption:
			b.WriteString(" ")
		default:
			b.WriteString(" · ")
		}
		b.WriteString(l.Text)
	}
	if b.Len() == 0 {
		return nil
	}
	return []Line{{Text: b.String()}}
}

// fit finds the largest size at which the lines fit a part of the box, and the
// lines as they are broken at that size. In a box too small for all of them the
// last ones are left out; what does not fit even so is cut.
func fit(lines []Line, width, height float64) (float64, []Line) {
	for n := len(lines); n > 0; n-- {
		smallest := readableType
		if n <= 3 { // who and when
			smallest = smallestType
		}
		for size := min(largestType, max(smallest, height/2)); size >= smallest; size -= 0.25 {
			if broken := breakLines(lines[:n], width, size); high(broken, size) <= height {
				return size, broken
			}
		}
		if n <= 3 {
			break
		}
	}
	broken := breakLines(lines[:min(len(lines), 3)], width, smallestType)
	for len(broken) > 1 && high(broken, smallestType) > height {
		broken = broken[:len(broken)-1]
	}
	last := &broken[len(broken)-1]
	last.Text = last.Kind.font().Clip(last.Text+"…", width/(smallestType*styles[last.Kind].scale))
	return smallestType, broken
}

// TypeSize is how high the smallest letters in the box are, in points: 0 where not
// all of the text fits, and a large number where there is none.
func (b Box) TypeSize() float64 {
	lines := b.text()
	if len(lines) == 0 {
		return largestType
	}
	if b.Layout == Text || b.Layout == Compact {
		b.Image = nil
	}
	whole := area{0, 0, b.Width, b.Height}
	if b.Code != nil {
		whole.width -= min(b.Height, b.Width/2)
	}
	_, at := b.divide(whole, true)
	at = b.drawRule(new(bytes.Buffer), at)
	size, broken := fit(lines, max(1, at.width), max(1, at.height))
	if len(broken) < len(breakLines(lines, max(1, at.width), size)) {
		return 0
	}
	smallest := size
	for _, l := range broken {
		smallest = min(smallest, size*styles[l.Kind].scale)
	}
	return smallest
}

func breakLines(lines []Line, width, size float64) (all []Line) {
	for _, l := range lines {
		for _, part := range l.Kind.font().Wrap(l.Text, width/(size*styles[l.Kind].scale)) {
			all = append(all, Line{part, l.Kind})
		}
	}
	return all
}

// high is how much room lines take: the last needs none below its descent.
func high(lines []Line, size float64) (h float64) {
	for _, l := range lines {
		h += size * styles[l.Kind].scale * leading
	}
	return h
}

// fonts are those that a box uses.
type fonts struct{ regular, bold *typeface.Subset }

func (f *fonts) of(k Kind) (name string, s *typeface.Subset) {
	at, name := &f.regular, "F0"
	if styles[k].bold {
		at, name = &f.bold, "F1"
	}
	if *at == nil {
		*at = k.font().Subset()
	}
	return name, *at
}

func (f *fonts) embed(to typeface.Adder) *pdf.Dict {
	d := pdf.NewDict()
	if f.regular != nil {
		d.Set("F0", f.regular.Embed(to))
	}
	if f.bold != nil {
		d.Set("F1", f.bold.Embed(to))
	}
	return d
}

// draw sets the lines into the middle of the height.
func (f *fonts) draw(w *bytes.Buffer, lines []Line, at area) {
	size, lines := fit(lines, max(1, at.width), max(1, at.height))
	y := at.y + (at.height+high(lines, size))/2
	w.WriteString("q /CS0 cs BT\n")
	x := at.x
	for _, l := range lines {
		s := styles[l.Kind]
		name, subset := f.of(l.Kind)
		y -= size * s.scale * leading
		// The ascent of the Go fonts is 0.95 of the size, their descent 0.21.
		fmt.Fprintf(w, "%s sc /%s %.3f Tf 1 0 0 1 %.3f %.3f Tm %s\n", s.color, name, size*s.scale, x, y+size*s.scale*0.25, subset.Show(l.Text))
	}
	w.WriteString("ET Q\n")
}
