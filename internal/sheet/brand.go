package sheet

// What reports and certificates have in common: the mark above, the verdict on
// its ground, and room for a seal at the end of the first page.

// Box of the seal on the first page, in points from the upper left corner.
const (
	SealX, SealY          = 346.0, 716.0
	SealWidth, SealHeight = 193.0, 50.0
	frontEnd              = SealY - 24 // of the text of a first page with a seal
)

// Tone is the colour of a class of verdicts, and the ground that it is written on.
func Tone(class string) (ink, ground string) {
	switch class {
	case "valid":
		return Good, GoodBg
	case "invalid":
		return Bad, BadBg
	}
	return Doubt, DoubtBg
}

// Brand begins a document: the mark and the name, a date, the title and what it
// is about. Its first page has room for a seal.
func (s *Sheet) Brand(title, about, date string) {
	s.front = frontEnd
	s.Dot(Margin+11, s.Y+4, 11, Accent)
	s.check(Margin+11, s.Y+4, 11)
	s.At(Margin+29, s.Y-4, "Rogito", Title.Sized(14))
	s.Right(Width-Margin, s.Y-1, date, Small)
	s.Space(20)
	s.Line(Margin, s.Y, Measure)
	s.Space(16)
	s.Text(title, Title)
	s.Text(about, Small.Sized(9.5))
	s.Space(10)
}

// Panel is a verdict on a coloured ground, with its sign.
func (s *Sheet) Panel(class, word, term, text string) {
	ink, ground := Tone(class)
	head := Title.Sized(16).In(ink)
	const x = Margin + 54
	lines := Body.Wrap(text, Width-Margin-14-x)
	height := 14 + head.Height() + float64(len(lines))*Body.Height() + 12
	s.Box(Margin, s.Y, Measure, height, ground)
	s.Box(Margin, s.Y, 4, height, ink)
	s.sign(class, Margin+30, s.Y+height/2, 13)
	top := s.Y
	s.At(x, top+11, word, head)
	s.Right(Width-Margin-14, top+15, term, Small)
	s.Y = top + 14 + head.Height()
	for _, l := range lines {
		s.At(x, s.Y, l, Body)
		s.Y += Body.Height()
	}
	s.Y = top + height
}

// sign is a disc with a check, a cross or an exclamation mark.
func (s *Sheet) sign(class string, x, y, r float64) {
	ink, _ := Tone(class)
	s.Dot(x, y, r, ink)
	switch class {
	case "valid":
		s.check(x, y, r)
	case "invalid":
		d := r * 0.38
		s.Stroke("1 1 1", r*0.2, [2]float64{x - d, y - d}, [2]float64{x + d, y + d})
		s.Stroke("1 1 1", r*0.2, [2]float64{x - d, y + d}, [2]float64{x + d, y - d})
	default:
		s.Stroke("1 1 1", r*0.2, [2]float64{x, y - r*0.5}, [2]float64{x, y + r*0.12})
		s.Dot(x, y+r*0.48, r*0.12, "1 1 1")
	}
}

func (s *Sheet) check(x, y, r float64) {
	at := func(dx, dy float64) [2]float64 { return [2]float64{x + dx*r, y + dy*r} }
	s.Stroke("1 1 1", r*0.2, at(-0.44, 0.04), at(-0.13, 0.35), at(0.45, -0.33))
}

// Again is the head of the pages behind the first.
func (s *Sheet) Again(title, about string) {
	s.Head = func(s *Sheet) {
		s.At(Margin, 36, title, Small)
		s.Right(Width-Margin, 36, Small.Font().Clip(about, Measure/2/Small.Size), Small)
		s.Line(Margin, 50, Measure)
		s.Y = 66
	}
}

// Aside is the footer of the first page, left of the seal and right of what is already there; it
// returns where its text ends.
func (s *Sheet) Aside(width float64, title, text string) float64 {
	back := s.Y
	s.Line(Margin, SealY-16, Measure)
	x := Margin + width
	y := SealY - 6.0
	for _, p := range []Cell{{title, Strong}, {text, Small}} {
		for _, line := range p.Wrap(p.Text, SealX-18-x) {
			s.At(x, y, line, p.Style)
			y += p.Height()
		}
	}
	s.Y = back
	return y
}
