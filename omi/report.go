package omi

import (
	"fmt"

	"rogito.dev/rogito/internal/limits"
)

// Report says what an import found. It is kept in the index.
type Report struct {
	Semester    string `json:"semester"`
	ProcessedAt string `json:"processedAt"` // day of the title line, YYYY-MM-DD; empty where it has none
	Sample      bool   `json:"sample"`      // the made-up publication that comes with the program

	Municipalities int `json:"municipalities"`
	Zones          int `json:"zones"` // rows of ZONE
	Values         int `json:"values"`

	ZonesWithGeometry    int `json:"zonesWithGeometry"`    // in ZONE and with a perimeter
	ZonesWithValues      int `json:"zonesWithValues"`      // of those, quoted
	ZonesWithoutValues   int `json:"zonesWithoutValues"`   // of those, not quoted
	ZonesGeometryOnly    int `json:"zonesGeometryOnly"`    // a perimeter without a row of ZONE
	ZonesWithoutGeometry int `json:"zonesWithoutGeometry"` // a row of ZONE without a perimeter: no coordinates lead there

	Polygons int `json:"polygons"`
	Holes    int `json:"holes"`
	Vertices int `json:"vertices"`

	FilesRead       int `json:"filesRead"`
	FilesIgnored    int `json:"filesIgnored"`    // neither table nor perimeter
	FilesUnreadable int `json:"filesUnreadable"` // perimeters that could not be read
	RowsSkipped     int `json:"rowsSkipped"`
	RowsDuplicate   int `json:"rowsDuplicate"`   // rows that repeat another
	RowsSuperseded  int `json:"rowsSuperseded"`  // rows of an older supply of the same municipality
	PolygonsDropped int `json:"polygonsDropped"` // outside Italy, or unreadable
	ZonesRepeated   int `json:"zonesRepeated"`   // perimeters delivered more than once

	Mixed    []string `json:"mixed,omitempty"` // the semesters found, where they were allowed to differ
	Problems []string `json:"problems,omitempty"`
}

// problem adds a sentence for people. Only the first hundred are kept; the counts
// tell how many there were.
func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < limits.OMIProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}
