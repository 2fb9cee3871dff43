package completion

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"rogito.dev/rogito/internal/sheet"
	"rogito.dev/rogito/server/internal/pages/look"
)

const (
	left   = sheet.Margin
	right  = sheet.Width - sheet.Margin
	labels = 118.0 // column of labels

	nameColumn = 254.0 // of documents
	frontLines = 2     // of a value on the first page
)

// pdf sets the certificate: one page for one signature. What does not fit there
// goes on: the course of events, then the lists. Everything else is in the file
// that is attached.
func (v *view) pdf(trail []byte) ([]byte, error) {
	s := sheet.New()
	s.Brand(v.Title, v.About, v.Lang.Date(v.made, v.zone))
	if err := v.check(s); err != nil {
		return nil, err
	}
	s.Again(v.Title, v.record)
	rest := v.front(s)
	v.timeline(s)
	if rest.documents {
		v.documents(s, len(v.Documents))
	}
	if rest.parties {
		v.parties(s, len(v.Parties))
	}
	if len(v.people) > 0 {
		v.section(s, v.WhoTitle, v.people, 4)
	}
	return s.Bytes(sheet.Info{
		Title: v.Title + " " + v.record, Lang: string(v.Lang), Producer: v.producer, Made: v.made,
		Foot: func(n, of int) (string, string) {
			return v.producer + " · " + v.record, look.T("page %d of %d", "pagina %d di %d").With(n, of).In(v.Lang)
		},
		Attached: []sheet.Attached{{Name: v.trail(), About: v.AnnexTitle, MediaType: "application/json", Data: trail}},
	})
}

// rest says which lists go on after the first page.
type rest struct{ documents, parties bool }

func (v *view) front(s *sheet.Sheet) (rest rest) {
	s.Panel(v.Class, v.Word, v.Term, v.Text)
	v.section(s, v.WhoTitle, v.Who, 2)
	if len(v.Parties) > 1 || len(v.Who) == 0 && len(v.Parties) > 0 {
		s.Space(3)
		n := min(len(v.Parties), 3)
		v.parties(s, n)
		rest.parties = n < len(v.Parties)
	}
	v.section(s, v.WhatTitle, v.What, 2)
	if len(v.Documents) > 0 {
		n := v.fitting(s.Left())
		rest.documents = n < len(v.Documents)
		s.Space(3)
		v.documents(s, n)
	}
	return rest
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
		ink, _ := sheet.Tone(p.Class)
		rows = append(rows, []sheet.Cell{{Text: name, Style: sheet.Body}, {Text: p.When, Style: sheet.Label}, {Text: p.Word, Style: sheet.Strong.In(ink)}})
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
	cells := code.Bounds().Dx()
	s.Dots(left, sheet.SealY-6, size, cells, func(col, row int) bool {
		r, _, _, _ := code.At(col, row).RGBA()
		return r == 0
	})
	at := s.Aside(size+14, v.CheckTitle, v.CheckText) + 2
	address := sheet.Small.In(sheet.Accent)
	s.At(left+size+14, at, address.Font().Clip(host(v.Check), (sheet.SealX-18-left-size-14)/address.Size), address)
	s.Link(left, sheet.SealY-6, size, size, v.Check)
	s.Link(left+size+14, at, sheet.SealX-18-left-size-14, address.Height(), v.Check)
	for i, line := range sheet.Small.Wrap(v.attached.With(v.trail()).In(v.Lang), sheet.SealX-18-left-size-14) {
		s.At(left+size+14, at+float64(i+1)*address.Height()+2, line, sheet.Small)
	}
	return nil
}

// trail is what the attached file is called.
func (v *view) trail() string { return "audit-" + v.record + ".json" }

// timeline is a line with a dot for every step.
func (v *view) timeline(s *sheet.Sheet) {
	s.Section(v.TimelineTitle)
	const axis, x = left + 92, left + 110
	day := ""
	for i, e := range v.Timeline {
		if strings.HasPrefix(e.More, "SHA-256 ") {
			e.More = "" // the attached file has it
		}
		beside := sheet.Body.Font().Width(e.What)*sheet.Body.Size + 8 // where the rest may follow on the line
		short := e.More != "" && beside+sheet.Small.Font().Width(e.More)*sheet.Small.Size < right-x
		height := float64(len(sheet.Body.Wrap(e.What, right-x)))*sheet.Body.Height() + 4
		if e.More != "" && !short {
			height += float64(len(sheet.Small.Wrap(e.More, right-x))) * sheet.Small.Height()
		}
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
		if short {
			s.At(x+beside, y+0.8, e.More, sheet.Small)
		} else {
			s.Column(x, right-x, e.More, sheet.Small)
		}
		s.Y = y + height
	}
}
