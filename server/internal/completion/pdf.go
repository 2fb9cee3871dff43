package completion

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"rogito.dev/rogito/internal/sheet"
	"rogito.dev/rogito/server/internal/pages/look"
)

// colours of a verdict: text and ground.
var colours = map[string][2]string{
	"valid": {sheet.Good, sheet.GoodBg}, "trial": {sheet.Doubt, sheet.DoubtBg}, "invalid": {sheet.Bad, sheet.BadBg}, "undetermined": {sheet.Doubt, sheet.DoubtBg},
}

const (
	left   = sheet.Margin
	right  = sheet.Width - sheet.Margin
	labels = 118.0 // column of labels

	nameColumn = 254.0      // of documents
	frontEnd   = sealY - 30 // where the text of the first page ends
	frontLines = 2          // of a value on the first page
)

// pdf sets the certificate: the first page says it all, then come lists that do
// not fit there, the course of events and the annex.
func (v *view) pdf(trail []byte) ([]byte, error) {
	s := sheet.New()
	v.brand(s)
	rest, err := v.front(s)
	if err != nil {
		return nil, err
	}
	s.Head = func(s *sheet.Sheet) {
		s.At(left, 36, v.Title, sheet.Small)
		s.Right(right, 36, v.record, sheet.Small)
		s.Line(left, 50, sheet.Measure)
		s.Y = 66
	}
	s.Break()
	s.Space(-14)
	v.timeline(s)
	if rest.documents {
		v.documents(s, len(v.Documents))
	}
	if rest.parties {
		v.parties(s, len(v.Parties))
	}
	v.annex(s)
	name := "audit-" + v.record + ".json"
	return s.Bytes(sheet.Info{
		Title: v.Title + " " + v.record, Lang: string(v.Lang), Producer: v.producer, Made: v.made,
		Foot: func(n, of int) (string, string) {
			return v.producer + " · " + v.record, look.T("page %d of %d", "pagina %d di %d").With(n, of).In(v.Lang)
		},
		Attached: []sheet.Attached{{Name: name, About: v.AnnexTitle, MimeType: "application/json", Data: trail}},
	})
}

// brand is the mark and the name, a check on a disc.
func (v *view) brand(s *sheet.Sheet) {
	s.Dot(left+11, s.Y+4, 11, sheet.Accent)
	s.Stroke("1 1 1", 2.2, [2]float64{left + 6.2, s.Y + 4.4}, [2]float64{left + 9.6, s.Y + 7.8}, [2]float64{left + 16, s.Y + 0.4})
	s.At(left+29, s.Y-4, "Rogito", sheet.Title.Sized(14))
	s.Right(right, s.Y-1, v.Lang.Date(v.made, v.zone), sheet.Small)
	s.Space(20)
	s.Line(left, s.Y, sheet.Measure)
	s.Space(16)
	s.Text(v.Title, sheet.Title)
	s.Text(v.About, sheet.Small.Sized(9.5))
	s.Space(10)
}

// rest says which lists go on after the first page.
type rest struct{ documents, parties bool }

func (v *view) front(s *sheet.Sheet) (rest rest, err error) {
	v.panel(s)
	v.section(s, v.WhoTitle, v.Who, 2)
	if len(v.Parties) > 1 || len(v.Who) == 0 && len(v.Parties) > 0 {
		s.Space(3)
		n := min(len(v.Parties), 3)
		v.parties(s, n)
		rest.parties = n < len(v.Parties)
	}
	v.section(s, v.WhatTitle, v.What, 2)
	if len(v.Documents) > 0 {
		n := v.fitting(frontEnd - s.Y)
		rest.documents = n < len(v.Documents)
		s.Space(3)
		v.documents(s, n)
	}
	return rest, v.check(s)
}

// fitting is how many documents fit a height, with their heads and a line that
// says how many are left out.
func (v *view) fitting(height float64) int {
	height -= 2*sheet.Small.Height() + 12
	for n, d := range v.Documents {
		lines := len(sheet.Body.Wrap(d.Name, nameColumn))
		if height -= max(float64(min(lines, frontLines))*sheet.Body.Height(), 2*sheet.Body.Height()) + 7; height < 0 {
			return n
		}
	}
	return len(v.Documents)
}

// panel is the verdict on a coloured ground.
func (v *view) panel(s *sheet.Sheet) {
	c := colours[v.Class]
	word, text := sheet.Title.Sized(16).In(c[0]), sheet.Body
	lines := text.Wrap(v.Text, sheet.Measure-40)
	height := 14 + word.Height() + float64(len(lines))*text.Height() + 12
	s.Box(left, s.Y, sheet.Measure, height, c[1])
	s.Box(left, s.Y, 4, height, c[0])
	top := s.Y
	s.At(left+20, top+11, v.Word, word)
	s.Right(right-14, top+15, v.Term, sheet.Small)
	s.Y = top + 14 + word.Height()
	for _, l := range lines {
		s.At(left+20, s.Y, l, text)
		s.Y += text.Height()
	}
	s.Y = top + height
}

// section is a heading with labels and values, which are cut after some lines:
// the annex has them whole.
func (v *view) section(s *sheet.Sheet, title string, pairs []Pair, lines int) {
	s.Section(title)
	for i, p := range pairs {
		st := sheet.Body
		switch {
		case i == 0:
			st = sheet.Strong
		case p.Label == "SHA-256":
			st = sheet.Code
		}
		s.Pairs(left, sheet.Measure, labels, [2]sheet.Cell{{Text: p.Label, Style: sheet.Label}, {Text: clip(p.Value, st, sheet.Measure-labels, lines), Style: st}})
	}
}

// clip keeps some lines of a text.
func clip(text string, st sheet.Style, width float64, most int) string {
	lines := st.Wrap(text, width)
	if len(lines) <= most {
		return text
	}
	lines[most-1] = st.Font().Clip(lines[most-1]+"…", width/st.Size)
	return strings.Join(lines[:most], " ")
}

// documents lists the first n; all of them with their whole names.
func (v *view) documents(s *sheet.Sheet, n int) {
	whole := n == len(v.Documents)
	switch {
	case n == 0:
		s.Text(v.all.With(len(v.Documents)).In(v.Lang), sheet.Body)
		return
	case whole && s.Page() > 1:
		s.Section(v.DocumentsTitle)
	}
	var rows [][]sheet.Cell
	for _, d := range v.Documents[:n] {
		if s.Page() == 1 {
			d.Name = clip(d.Name, sheet.Body, nameColumn, frontLines)
		}
		rows = append(rows, []sheet.Cell{{Text: d.Number, Style: sheet.Label}, {Text: d.Name, Style: sheet.Body}, {Text: d.Size, Style: sheet.Label}, {Text: d.SHA256, Style: sheet.Code.Sized(6.8)}})
	}
	s.Table([]sheet.Column{{X: left, Width: 22, Name: "#"}, {X: left + 24, Width: nameColumn, Name: v.NameColumn}, {X: left + 286, Width: 58, Name: v.SizeColumn}, {X: left + 350, Width: right - left - 350, Name: v.DigestColumn}}, rows)
	if !whole {
		s.Text(v.more.With(len(v.Documents)-n).In(v.Lang), sheet.Small)
	}
}

// parties lists the first n who signed; on the first page in one line each.
func (v *view) parties(s *sheet.Sheet, n int) {
	const who = 240.0
	if s.Page() > 1 {
		s.Section(v.PartiesTitle)
	}
	var rows [][]sheet.Cell
	for _, p := range v.Parties[:n] {
		name := p.Name
		if p.Number != "" {
			name += " · " + p.Number
		}
		if s.Page() == 1 {
			name = clip(name, sheet.Body, who, 1)
		}
		rows = append(rows, []sheet.Cell{{Text: name, Style: sheet.Body}, {Text: p.When, Style: sheet.Label}, {Text: p.Word, Style: sheet.Strong.In(colours[p.Class][0])}})
	}
	s.Table([]sheet.Column{{X: left, Width: who, Name: v.SignerColumn}, {X: left + 248, Width: 150, Name: v.WhenColumn}, {X: left + 406, Width: right - left - 406, Name: v.VerdictColumn}}, rows)
	if n < len(v.Parties) {
		s.Text(v.more.With(len(v.Parties)-n).In(v.Lang), sheet.Small)
	}
}

// check is the foot of the first page: the code, the address, and room for the
// seal.
func (v *view) check(s *sheet.Sheet) error {
	code, err := qr.Encode(v.Check, qr.M, qr.Auto)
	if err != nil {
		return fmt.Errorf("completion: code of %q: %w", v.Check, err)
	}
	const size = 76.0
	y := sealY - 6
	s.Line(left, y-14, sheet.Measure)
	cells := code.Bounds().Dx()
	s.Dots(left, y, size, cells, func(col, row int) bool {
		r, _, _, _ := code.At(col, row).RGBA()
		return r == 0
	})
	s.Y = y
	const x, width = left + size + 14, sealX - left - size - 32
	s.Column(x, width, v.CheckTitle, sheet.Strong)
	s.Column(x, width, v.CheckText, sheet.Small)
	s.Space(2)
	at := s.Y
	s.Column(x, width, host(v.Check), sheet.Small.In(sheet.Accent))
	s.Link(left, y, size, size, v.Check)
	s.Link(x, at, width, s.Y-at, v.Check)
	return nil
}

// timeline is a line with a dot for every step.
func (v *view) timeline(s *sheet.Sheet) {
	s.Section(v.TimelineTitle)
	const axis, x = left + 92, left + 110
	day := ""
	for i, e := range v.Timeline {
		more := sheet.Small.Wrap(e.More, right-x)
		what := sheet.Body.Wrap(e.What, right-x)
		height := float64(len(what))*sheet.Body.Height() + float64(len(more))*sheet.Small.Height() + 8
		if e.Day != day {
			height += 22
		}
		s.Room(height)
		if e.Day != day {
			day = e.Day
			s.Space(4)
			s.At(left, s.Y, e.Day, sheet.Strong)
			s.Space(18)
			height -= 22
		}
		if i < len(v.Timeline)-1 {
			s.Stroke(sheet.Rule, 1, [2]float64{axis, s.Y + 6.5}, [2]float64{axis, s.Y + height + 6.5})
		}
		s.Dot(axis, s.Y+6.5, 3.2, sheet.Accent)
		s.At(left, s.Y+0.8, e.Time, sheet.Small)
		y := s.Y
		s.Column(x, right-x, e.What, sheet.Body)
		s.Column(x, right-x, e.More, sheet.Small)
		s.Y = y + height
	}
}

// fewSections of a kind stand in the annex of the PDF; the attached file has all.
const fewSections = 3

// annex is for those who repeat every step.
func (v *view) annex(s *sheet.Sheet) {
	s.Break()
	s.Text(v.AnnexTitle, sheet.Title.Sized(16))
	s.Space(4)
	s.Text(v.attached.With("audit-"+v.record+".json").In(v.Lang), sheet.Small.Sized(9))
	shown := map[string]int{}
	for _, sec := range v.Annex {
		shown[sec.Title]++
	}
	met := map[string]int{}
	for _, sec := range v.Annex {
		if met[sec.Title]++; met[sec.Title] > fewSections {
			if met[sec.Title] == shown[sec.Title] {
				s.Space(6)
				s.Text(v.others.With(shown[sec.Title]-fewSections).In(v.Lang), sheet.Small)
			}
			continue
		}
		s.Space(10)
		s.Room(60)
		s.Text(sec.Title, sheet.Strong.In(sheet.Accent))
		s.Space(3)
		for _, p := range sec.Pairs {
			s.Pairs(left, sheet.Measure, labels, [2]sheet.Cell{{Text: p.Label, Style: sheet.Small}, {Text: p.Value, Style: sheet.Code.Sized(7.5)}})
		}
	}
	s.Space(12)
	s.Room(80)
	s.Text(v.LogTitle, sheet.Strong.In(sheet.Accent))
	s.Space(4)
	var rows [][]sheet.Cell
	for _, e := range v.Log {
		rows = append(rows, []sheet.Cell{{Text: e.Sequence, Style: sheet.Code.Sized(7)}, {Text: e.At + " " + e.ID, Style: sheet.Code.Sized(7)}, {Text: e.Log + " · " + e.Digest, Style: sheet.Code.Sized(7)}})
	}
	s.Table([]sheet.Column{{X: left, Width: 40, Name: "#"}, {X: left + 44, Width: 136, Name: v.IDColumn}, {X: left + 188, Width: right - left - 188, Name: v.DetailColumn}}, rows)
}
