package sketch

import (
	"math"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf/content"
)

// write puts a piece of text on the line under way, or on a new one.
func (a *artist) write(p content.Piece) {
	x, y, ex, ey, size, angle := p.X, p.Y, p.ToX, p.ToY, math.Abs(p.Size), p.Angle
	if !(size > 0.5 && size < 2000) || !a.visible(Box{x, y - size, math.Abs(ex-x) + 1, size + 1}) && angle == 0 || !(math.Abs(x)+math.Abs(y)+math.Abs(ex)+math.Abs(ey) < 1e6) {
		return
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, p.Text)
	if l := a.line; l != nil && l.Angle == angle && math.Abs(l.Size-size) < 0.01*size {
		gap, off := math.Hypot(x-a.end[0], y-a.end[1]), math.Abs((x-l.X)*math.Sin(angle*math.Pi/180)-(y-l.Y)*math.Cos(angle*math.Pi/180))
		if off < 0.1*size && gap < 1.5*size && len(l.Text) < 400 {
			if gap > 0.18*size && !strings.HasSuffix(l.Text, " ") {
				l.Text += " "
			}
			l.Text += text
			a.end = [2]float64{ex, ey}
			l.Length = math.Hypot(ex-l.X, ey-l.Y)
			return
		}
	}
	a.endLine()
	a.line = &Line{X: x, Y: y, Size: size, Length: math.Hypot(ex-x, ey-y), Angle: angle, Text: text}
	a.end = [2]float64{ex, ey}
}

// endLine puts the line under way on the page.
func (a *artist) endLine() {
	l := a.line
	a.line = nil
	if l == nil || strings.TrimSpace(l.Text) == "" || l.Length <= 0 {
		return
	}
	a.text += len(l.Text)
	a.out.Lines = append(a.out.Lines, *l)
}
