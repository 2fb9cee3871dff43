//go:build !files

package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/omi"
)

// omiPlace is what a lookup or an estimate is about.
type omiPlace struct {
	dataFlags
	Place    []string `arg:"" name:"place" help:"latitude and longitude in degrees, or a municipality, with the code of a zone or words of its description"`
	Semester string   `placeholder:"SEMESTER" help:"like 2018/2; by default the newest, from the active one backwards, that has a zone there"`
	Strict   bool     `help:"look into the active publication only"`
}

// find answers with the zones at a place; with none it has said why.
func (c *omiPlace) find(s *session, nearest float64) ([]omi.Answer, error) {
	publications, err := c.publications(s)
	if err != nil {
		return nil, err
	}
	words := strings.Join(c.Place, " ")
	if strings.IndexFunc(words, unicode.IsLetter) >= 0 {
		return wordsTo(s, publications, words), nil
	}
	if len(c.Place) != 2 {
		if lat, lng, ok := strings.Cut(strings.ReplaceAll(words, " ", ""), ","); ok && len(c.Place) == 1 && !strings.Contains(lng, ",") {
			return nil, errors.New("latitude and longitude are two arguments, " + lat + " " + lng)
		}
		return nil, errors.New("a place is a latitude and a longitude, or the name of a municipality: rogito help omi lookup")
	}
	var at [2]degrees
	for i := range at {
		if err := at[i].parse(c.Place[i]); err != nil {
			return nil, err
		}
	}
	lat, lng := float64(at[0]), float64(at[1])
	if !(math.Abs(lat) <= 90) || !(math.Abs(lng) <= 180) {
		return nil, errors.New("the latitude must be between -90 and 90, the longitude between -180 and 180")
	}
	z, distance, found := omi.Lookup(publications, lat, lng, nearest)
	switch {
	case !found:
		s.notef("no OMI zone at latitude %g, longitude %g in %s", lat, lng, publications[0].Semester())
		if omi.Swapped(lat, lng) {
			s.notef("they look swapped: rogito omi lookup %g %g", lng, lat)
		}
		return nil, nil
	case z.Index() != publications[0]:
		s.notef("publication %s does not cover this place: the answer is from %s", publications[0].Semester(), z.Index().Semester())
	}
	return []omi.Answer{{Zone: z, Lat: lat, Lng: lng, Placed: true, Near: distance > 0, Distance: distance}}, nil
}

// wordsTo are the zones that words lead to: of a municipality, or some of it.
func wordsTo(s *session, publications []*omi.Index, words string) []omi.Answer {
	if cadastral, code, ok := strings.Cut(words, "/"); ok && !strings.Contains(words, " ") {
		if z, found := omi.FindZone(publications, cadastral, code); found {
			return []omi.Answer{{Zone: z}}
		}
	}
	var like []string
	for _, ix := range publications {
		var all []omi.Answer
		for _, w := range ix.Find(words) {
			for _, z := range w.Zones {
				all = append(all, omi.Answer{Zone: z})
			}
		}
		if len(all) > 0 {
			if ix != publications[0] {
				s.notef("publication %s does not have it: the answer is from %s", publications[0].Semester(), ix.Semester())
			}
			return all
		}
		more, _ := ix.Search(words)
		for _, a := range more[:min(len(more), 8)] {
			like = append(like, a.Name+" ("+a.Province+")")
		}
	}
	s.notef("no municipality is called %s, and none has such a zone", strconv.Quote(visible.Line(words)))
	if len(like) > 0 {
		s.notef("there are: %s", visible.Line(strings.Join(like, ", ")))
	}
	return nil
}

// publications are those that may answer.
func (c *omiPlace) publications(s *session) ([]*omi.Index, error) {
	l, _, err := c.library(s)
	if err != nil {
		return nil, err
	}
	set := l.Current()
	switch {
	case c.Semester == "" && c.Strict:
		return []*omi.Index{set.Active()}, nil
	case c.Semester == "":
		return set.Since(), nil
	}
	sem, err := omi.ParseSemester(c.Semester)
	if err != nil {
		return nil, err
	}
	ix, ok := set.Semester(sem)
	if !ok {
		return nil, named(omi.ErrUnknownSemester, c.Semester)
	}
	return []*omi.Index{ix}, nil
}
