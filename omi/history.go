package omi

// Past is the zone of a place in one semester.
type Past struct {
	Zone Zone
	// Named: the semester has no perimeters of the municipality, and the zone is the one with the
	// same code and description as in the nearest semester that has.
	Named bool
}

// History is the zone at a place in every semester of the set, newest first.
//
// A semester with perimeters is answered by these alone. If it has none for the municipality (the
// Agenzia supplies values without perimeters), the zone is found by its name: the code alone is not
// enough, since a revision of the zones reuses old codes for other places, and LinkZona changes for
// an unchanged zone. If the description differs too, there is no answer.
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

// number numbers semesters consecutively.
func (s Semester) number() int { return 2*s.Year + s.Half }

// sameZone is the zone with the same name, if the municipality has no perimeters here.
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
