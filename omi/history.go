package omi

// Past is the zone of a place in one semester.
type Past struct {
	Zone Zone
	// Named is true where the semester has no perimeters of the municipality:
	// the zone is the one of the same code and the same description as in the
	// semester next to it that has them.
	Named bool
}

// History is the zone at a place in every semester of the set, the newest
// first.
//
// A semester whose perimeters are known answers by them alone. Of one that has
// none for the municipality (the Agenzia supplies values without perimeters)
// the zone is taken by its name: the code alone would not do, since a revision
// of the zones gives old codes to other places, and LinkZona changes for a zone
// that stays. Where the description differs too, nothing is answered.
func (s *Set) History(lat, lng float64) []Past {
	hits := make([]Past, len(s.indexes))
	found := make([]bool, len(s.indexes))
	for i, ix := range s.indexes {
		hits[i].Zone, found[i] = ix.Lookup(lat, lng)
	}
	var all []Past
	for i, ix := range s.indexes {
		if found[i] {
			all = append(all, hits[i])
			continue
		}
		if near := s.nearest(found, i); near >= 0 {
			if z, ok := ix.sameZone(hits[near].Zone); ok {
				all = append(all, Past{Zone: z, Named: true})
			}
		}
	}
	return all
}

// nearest is the semester closest to i in which a zone was found; of two the
// newer one, which comes first. -1: none.
func (s *Set) nearest(found []bool, i int) int {
	best, least := -1, 0
	for j := range found {
		if !found[j] {
			continue
		}
		d := s.indexes[j].semester.number() - s.indexes[i].semester.number()
		if d = max(d, -d); best < 0 || d < least {
			best, least = j, d
		}
	}
	return best
}

// number counts semesters.
func (s Semester) number() int { return 2*s.Year + s.Half }

// sameZone is the zone of the same name, where the municipality has no
// perimeters here.
func (ix *Index) sameZone(of Zone) (Zone, bool) {
	zones, ok := ix.ZonesOf(of.Municipality().CadastralCode)
	if !ok {
		return Zone{}, false
	}
	var same Zone
	known := false
	for _, z := range zones {
		if z.Polygons() > 0 {
			return Zone{}, false
		}
		if z.Code() == of.Code() && z.Description() == of.Description() {
			same, known = z, true
		}
	}
	return same, known
}
