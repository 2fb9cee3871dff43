// Package omi finds the zone of the Osservatorio del Mercato Immobiliare for a latitude and a
// longitude in Italy, with the zone's perimeter and all its quotations.
//
// The data is the official supply of the Agenzia delle Entrate for one semester: the tables VALORI
// and ZONE and the perimeters in KML. [Library.Import] reads it once, from any archive or folder,
// and writes an immutable index file; [Index.Lookup] answers from that file, mapped into memory.
// Most callers open a [Library], take its [Library.Current] set, and look positions up in it.
//
// Anyone who shows the data has to name its source: [Attribution].
package omi

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Attribution is how the source of the data has to be cited.
const Attribution = "Agenzia Entrate - OMI"

// Semester is half a year of the observatory.
type Semester struct {
	Year int
	Half int // 1 or 2
}

// ErrSemester means that a text is not a semester such as 2018/2.
var ErrSemester = errors.New("omi: a semester is written like 2018/2")

// ErrUnknownSemester means that there is no publication of the semester.
var ErrUnknownSemester = errors.New("omi: no publication of this semester")

var semesterForm = regexp.MustCompile(`^(\d{4})/([12])$`)

// ParseSemester reads a semester written like 2018/2.
func ParseSemester(s string) (Semester, error) {
	m := semesterForm.FindStringSubmatch(s)
	if m == nil {
		return Semester{}, ErrSemester
	}
	year, _ := strconv.Atoi(m[1])
	half, _ := strconv.Atoi(m[2])
	return Semester{Year: year, Half: half}, nil
}

// String is the semester as the Agenzia writes it.
func (s Semester) String() string { return fmt.Sprintf("%04d/%d", s.Year, s.Half) }

// Compare is negative, zero or positive as s is before, the same as or after o.
func (s Semester) Compare(o Semester) int {
	return s.number() - o.number()
}

// RefusedError says why a whole publication was refused. Existing ones do not change. Its text
// names none of the caller's files: the name of the official archive includes the tax code of the
// person who requested it.
type RefusedError struct {
	Reason  string
	Partial bool // [ImportOptions.AllowPartial] would accept it
}

func (e *RefusedError) Error() string { return "omi: publication refused: " + e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}
