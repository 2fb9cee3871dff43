package omi

import (
	"fmt"

	"rogito.dev/rogito/internal/limits"
)

// Report says what an import found. It is kept in the index.
type Report struct {
	Semester    string `json:"semester" doc:"such as 2018/2"`
	ProcessedAt string `json:"processedAt" doc:"day of the title line, YYYY-MM-DD; empty where it has none"`
	Sample      bool   `json:"sample" doc:"the made-up publication that comes with the program"`

	Municipalities int `json:"municipalities" doc:"of the publication"`
	Zones          int `json:"zones" doc:"rows of ZONE"`
	Values         int `json:"values" doc:"rows of VALORI"`

	ZonesWithGeometry    int `json:"zonesWithGeometry" doc:"in ZONE and with a perimeter"`
	ZonesWithValues      int `json:"zonesWithValues" doc:"of those, quoted"`
	ZonesWithoutValues   int `json:"zonesWithoutValues" doc:"of those, not quoted"`
	ZonesGeometryOnly    int `json:"zonesGeometryOnly" doc:"a perimeter without a row of ZONE"`
	ZonesWithoutGeometry int `json:"zonesWithoutGeometry" doc:"a row of ZONE without a perimeter: no coordinates lead there"`

	Polygons int `json:"polygons" doc:"of all perimeters"`
	Holes    int `json:"holes" doc:"in them"`
	Vertices int `json:"vertices" doc:"of them"`

	FilesRead       int `json:"filesRead" doc:"tables and perimeters"`
	FilesIgnored    int `json:"filesIgnored" doc:"neither table nor perimeter"`
	FilesUnreadable int `json:"filesUnreadable" doc:"perimeters that could not be read"`
	FilesLeftOut    int `json:"filesLeftOut" doc:"tables and perimeters that were not taken for their names"`
	RowsSkipped     int `json:"rowsSkipped" doc:"rows that could not be read"`
	RowsDuplicate   int `json:"rowsDuplicate" doc:"rows that repeat another"`
	RowsSuperseded  int `json:"rowsSuperseded" doc:"rows of an older supply of the same municipality"`
	PolygonsDropped int `json:"polygonsDropped" doc:"outside Italy, or unreadable"`
	ZonesRepeated   int `json:"zonesRepeated" doc:"perimeters delivered more than once"`

	Mixed    []string `json:"mixed,omitempty" doc:"the semesters found, where they were allowed to differ"`
	Problems []string `json:"problems,omitempty" doc:"what was left out or mended, in words"`
}

// problem adds a sentence to the report. Only the first hundred are kept; the counts are complete.
func (r *Report) problem(format string, args ...any) {
	if len(r.Problems) < limits.OMIProblems {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// partial refuses a publication that covers less than it seems to: by default it would replace one
// that covers everything.
func (r *Report) partial() error {
	const leads = "coordinates would lead nowhere, while the publication would count as the newest"
	refuse := func(format string, args ...any) error {
		return &RefusedError{Reason: fmt.Sprintf(format, args...), Partial: true}
	}
	switch {
	case r.FilesLeftOut > 0:
		return refuse("%d tables or perimeters in it are hidden by their names: rename them", r.FilesLeftOut)
	case r.ZonesWithGeometry == 0:
		return refuse("no zone has a perimeter: %s. Import tables and perimeters together", leads)
	case 2*r.ZonesWithGeometry < r.Zones:
		return refuse("only %d of %d zones have a perimeter: for the others %s. Import all perimeters with the tables", r.ZonesWithGeometry, r.Zones, leads)
	}
	return nil
}
