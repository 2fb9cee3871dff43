package request

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// spot reads a place; x and y are numbers or strings.
func (p *peopleParser) spot(v jsontext.Value) (s Spot, err error) {
	var m struct {
		Page, X, Y, Width, Height jsontext.Value
		Name, Anchor              *string
	}
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return s, errors.New(" must be an object")
	}
	m.Page, m.X, m.Y, m.Width, m.Height = members["page"], members["x"], members["y"], members["width"], members["height"]
	for name, into := range map[string]**string{"name": &m.Name, "anchor": &m.Anchor} {
		if v := members[name]; !absent(v) && p.spool.Unmarshal(v, into) != nil {
			return s, fmt.Errorf(".%s must be a string", name)
		}
	}
	put(&s.Name, m.Name)
	put(&s.Anchor, m.Anchor)
	s.Width, s.Height = 164, 45
	free := s.Name != "" || s.Anchor != ""
	page := 1.0
	for _, one := range []struct {
		name        string
		v           jsontext.Value
		into        *float64
		least, most float64
		need        bool
	}{
		{"page", m.Page, &page, 1, 1_000_000, !free},
		{"x", m.X, &s.X, 0, 20000, !free},
		{"y", m.Y, &s.Y, 0, 20000, !free},
		{"width", m.Width, &s.Width, 1, 5000, false},
		{"height", m.Height, &s.Height, 1, 5000, false},
	} {
		if absent(one.v) {
			if one.need {
				return s, fmt.Errorf(".%s is required", one.name)
			}
			continue
		}
		n, err := p.number(one.v)
		if err != nil || !(n >= one.least && n <= one.most) {
			return s, fmt.Errorf(".%s must be a number from %v to %v", one.name, one.least, one.most)
		}
		*one.into = n
	}
	if page != math.Trunc(page) {
		return s, errors.New(".page must be an integer")
	}
	if s.Page = int(page); len(s.Anchor) > 200 || len(s.Name) > 200 {
		return s, errors.New(": name and anchor have at most 200 characters")
	}
	return s, nil
}

// number is one, or a string that has one.
func (p *peopleParser) number(v jsontext.Value) (n float64, err error) {
	if v.Kind() != '"' {
		return n, p.spool.Unmarshal(v, &n)
	}
	var s string
	if err := p.spool.Unmarshal(v, &s); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(s), 64)
}
