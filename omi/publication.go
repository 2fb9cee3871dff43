package omi

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Publication is one semester, read, joined and checked, ready to be written as an
// index.
type Publication struct {
	Semester Semester
	Report   Report

	places []place
	zones  []zoneBuilder
}

// zoneBuilder is a zone with everything known about it.
type zoneBuilder struct {
	key     zoneKey
	row     zoneRow
	inTable bool // it has a row of ZONE
	values  []valueRow
	outline *outline
	area    uint64 // square decimetres: fine enough to compare, coarse enough to be the same on every machine
}

// zoneKey joins tables and perimeters. The link code is neither stable over semesters nor in the
// perimeters.
type zoneKey struct{ cadastral, zone string }

func (k zoneKey) compare(o zoneKey) int {
	return cmp.Or(strings.Compare(k.cadastral, o.cadastral), strings.Compare(k.zone, o.zone))
}

// ReadPublication reads a supply from files, archives and folders of any name. A bad row or
// perimeter is counted in the report; a bad header, different semesters, a damaged archive or a
// partial supply is a [*RefusedError].
func ReadPublication(ctx context.Context, paths []string, opts ImportOptions) (*Publication, error) {
	s, err := openFileSet(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return readFileSet(ctx, s, opts)
}

// ReadInputs is [ReadPublication] for contents in memory.
func ReadInputs(ctx context.Context, inputs []Input, opts ImportOptions) (*Publication, error) {
	s, err := inputFileSet(inputs)
	if err != nil {
		return nil, err
	}
	return readFileSet(ctx, s, opts)
}

func readFileSet(ctx context.Context, s *fileSet, opts ImportOptions) (*Publication, error) {
	files, err := gather(ctx, s, opts)
	if err != nil {
		return nil, err
	}
	return build(files, opts)
}

// ReadPublications is [ReadPublication] for a supply of several semesters, each with its own
// tables: every file belongs to the semester that it names. Either all are valid, or none is read.
// The oldest comes first.
func ReadPublications(ctx context.Context, paths []string, opts ImportOptions) ([]*Publication, error) {
	s, err := openFileSet(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	files, err := gather(ctx, s, opts)
	if err != nil {
		return nil, err
	}
	var all []*Publication
	for _, group := range bySemester(files, opts.AllowMixed) {
		pub, err := build(group, opts)
		if err != nil {
			return nil, err
		}
		all = append(all, pub)
	}
	return all, nil
}

// bySemester splits files into supplies. If that is ambiguous they stay together, and are refused
// together.
func bySemester(files []fileResult, mixed bool) [][]fileResult {
	groups := map[Semester][]fileResult{}
	values, zones := map[Semester]bool{}, map[Semester]bool{}
	var rest []fileResult // without semester: not read, or ignored
	for _, f := range files {
		switch {
		case f.table != nil:
			groups[f.table.semester] = append(groups[f.table.semester], f)
			if values[f.table.semester] = values[f.table.semester] || f.table.isValues; !f.table.isValues {
				zones[f.table.semester] = true
			}
		case f.perimeter != nil && f.err == nil && len(f.perimeter.zones) > 0:
			if f.perimeter.semester == (Semester{}) {
				mixed = true
			}
			groups[f.perimeter.semester] = append(groups[f.perimeter.semester], f)
		default:
			rest = append(rest, f)
		}
	}
	for s := range groups {
		mixed = mixed || !values[s] || !zones[s]
	}
	if mixed || len(groups) < 2 {
		return [][]fileResult{files}
	}
	var all [][]fileResult
	for _, s := range slices.SortedFunc(maps.Keys(groups), Semester.Compare) {
		all = append(all, groups[s])
	}
	all[len(all)-1] = append(all[len(all)-1], rest...) // reported once, with the newest
	return all
}

// build makes a publication of the files of one semester.
func build(files []fileResult, opts ImportOptions) (_ *Publication, err error) {
	j := builder{zones: map[zoneKey]*zoneBuilder{}, places: map[string]place{}}
	j.report.Sample = opts.sample
	j.sort(files)
	if j.pub.Semester, err = j.semester(opts.AllowMixed); err != nil {
		return nil, err
	}
	j.tables(j.zoneTables)
	j.tables(j.valueTables)
	j.perimeters()
	pub := j.finish()
	if !opts.AllowPartial {
		if err := pub.Report.partial(); err != nil {
			return nil, err
		}
	}
	return pub, nil
}

// builder joins tables and perimeters.
type builder struct {
	pub         Publication
	report      Report
	zoneTables  []*table
	valueTables []*table
	files       []fileResult // perimeters
	places      map[string]place
	zones       map[zoneKey]*zoneBuilder
}

// sort counts the files and separates tables from perimeters.
func (j *builder) sort(files []fileResult) {
	for _, f := range files {
		switch {
		case f.leftOut:
			j.report.FilesLeftOut++
			j.report.problem("%s: left out for its name", f.name)
		case f.err != nil:
			j.report.FilesUnreadable++
			j.report.problem("%s: %v", f.name, f.err)
		case f.table != nil && f.table.isValues:
			j.valueTables = append(j.valueTables, f.table)
		case f.table != nil:
			j.zoneTables = append(j.zoneTables, f.table)
		case f.perimeter != nil && len(f.perimeter.zones)+f.perimeter.dropped+f.perimeter.nameless > 0:
			j.files = append(j.files, f)
		default: // a provincial index of links, or something else
			j.report.FilesIgnored++
		}
	}
	j.report.FilesRead = len(j.valueTables) + len(j.zoneTables) + len(j.files)
}

// semester is that of all files, or of the values if mixed.
func (j *builder) semester(mixed bool) (Semester, error) {
	ofValues, all := map[Semester]bool{}, map[Semester]bool{}
	for _, t := range j.valueTables {
		ofValues[t.semester], all[t.semester] = true, true
	}
	for _, t := range j.zoneTables {
		all[t.semester] = true
	}
	for _, f := range j.files {
		if f.perimeter.semester != (Semester{}) {
			all[f.perimeter.semester] = true
		}
	}
	switch {
	case len(j.valueTables) == 0:
		return Semester{}, refuse("there is no table of values (VALORI)")
	case len(j.zoneTables) == 0:
		return Semester{}, refuse("there is no table of zones (ZONE)")
	case len(all) > 1 && !mixed:
		return Semester{}, refuse("the files are of different semesters: %s", strings.Join(names(all), ", "))
	case len(ofValues) > 1:
		return Semester{}, refuse("the tables of values are of different semesters: %s", strings.Join(names(ofValues), ", "))
	case len(all) > 1:
		j.report.Mixed = names(all)
	}
	return j.valueTables[0].semester, nil
}

func names(set map[Semester]bool) []string {
	var s []string
	for _, v := range slices.SortedFunc(maps.Keys(set), Semester.Compare) {
		s = append(s, v.String())
	}
	return s
}

// tables uses the rows of one kind of table. If a municipality is in several supplies, the one
// processed last replaces the others completely: a corrected supply may have fewer rows than the
// original.
func (j *builder) tables(tables []*table) {
	newest := map[string]time.Time{}
	for _, t := range tables {
		for code := range t.places {
			if at, seen := newest[code]; !seen || t.processed.After(at) {
				newest[code] = t.processed
			}
		}
	}
	slices.SortStableFunc(tables, func(a, b *table) int { return b.processed.Compare(a.processed) })
	for _, t := range tables {
		j.report.RowsSkipped += t.skipped
		if day := t.processed.Format(time.DateOnly); !t.processed.IsZero() && day > j.report.ProcessedAt {
			j.report.ProcessedAt = day
		}
		for code, p := range t.places {
			if _, known := j.places[code]; !known {
				j.places[code] = p
			}
		}
		for i := range t.zones {
			j.zoneRow(&t.zones[i], t.processed.Before(newest[t.zones[i].cadastral]))
		}
		for i := range t.values {
			j.valueRow(&t.values[i], t.processed.Before(newest[t.values[i].cadastral]))
		}
	}
	if j.report.RowsSkipped > 0 && len(tables) > 0 {
		j.report.problem("%s: %d rows so far could not be read", tables[0].kind(), j.report.RowsSkipped)
	}
}

func (j *builder) zone(cadastral, zone string) *zoneBuilder {
	k := zoneKey{cadastral, zone}
	g := j.zones[k]
	if g == nil {
		g = &zoneBuilder{key: k}
		j.zones[k] = g
	}
	return g
}

func (j *builder) zoneRow(r *zoneRow, old bool) {
	if old {
		j.report.RowsSuperseded++
		return
	}
	g := j.zone(r.cadastral, r.zone)
	if g.inTable {
		j.report.RowsDuplicate++
		return
	}
	g.row, g.inTable = *r, true
}

func (j *builder) valueRow(r *valueRow, old bool) {
	if old {
		j.report.RowsSuperseded++
		return
	}
	g := j.zone(r.cadastral, r.zone)
	if slices.ContainsFunc(g.values, func(v valueRow) bool { return v.code == r.code && v.condition == r.condition }) {
		j.report.RowsDuplicate++
		return
	}
	g.values = append(g.values, *r)
}

// perimeters assigns outlines to zones. For a zone delivered twice the one generated last is used.
func (j *builder) perimeters() {
	slices.SortStableFunc(j.files, func(a, b fileResult) int { return b.perimeter.generated.Compare(a.perimeter.generated) })
	for _, f := range j.files {
		p := f.perimeter
		if p.dropped > 0 {
			j.report.PolygonsDropped += p.dropped
			j.report.problem("%s: %d polygons outside Italy or unreadable", f.name, p.dropped)
		}
		if p.nameless > 0 {
			j.report.problem("%s: %d perimeters without the code of a municipality or zone", f.name, p.nameless)
		}
		here := map[*zoneBuilder]bool{}
		for i := range p.zones {
			o := &p.zones[i]
			if len(o.polygons) == 0 {
				continue
			}
			if _, known := j.places[o.cadastral]; !known { // then use the perimeter's title
				j.places[o.cadastral] = place{cadastral: o.cadastral, province: p.province, name: p.name}
			}
			j.setOutline(o, here)
		}
	}
}

// setOutline sets the outline of a zone, or merges it with an earlier one of the same file.
func (j *builder) setOutline(o *outline, here map[*zoneBuilder]bool) {
	g := j.zone(o.cadastral, o.zone)
	switch {
	case g.outline == nil:
		g.outline, here[g] = o, true
	case here[g]:
		j.merge(g.outline, o)
	default:
		j.report.ZonesRepeated++
	}
}

// merge adds polygons that are not there yet.
func (j *builder) merge(to, from *outline) {
	added := false
	for _, p := range from.polygons {
		same := func(q polygon) bool { return bytes.Equal(p.blocks, q.blocks) && bytes.Equal(p.deltas, q.deltas) }
		if !slices.ContainsFunc(to.polygons, same) {
			to.polygons = append(to.polygons, p)
			added = true
		}
	}
	if !added {
		j.report.ZonesRepeated++
		return
	}
	to.area += from.area
}

// finish sorts and counts the joined data.
func (j *builder) finish() *Publication {
	pub := &j.pub
	pub.places = slices.SortedFunc(maps.Values(j.places), func(a, b place) int { return strings.Compare(a.cadastral, b.cadastral) })
	pub.zones = make([]zoneBuilder, 0, len(j.zones))
	for _, g := range j.zones {
		if g.outline != nil {
			g.area = uint64(math.Round(max(0, g.outline.area) * 100))
		}
		pub.zones = append(pub.zones, *g)
	}
	slices.SortFunc(pub.zones, func(a, b zoneBuilder) int { return a.key.compare(b.key) })
	j.count()
	pub.Report = j.report
	return pub
}

func (j *builder) count() {
	r := &j.report
	r.Semester, r.Municipalities = j.pub.Semester.String(), len(j.pub.places)
	for i := range j.pub.zones {
		g := &j.pub.zones[i]
		r.Values += len(g.values)
		if g.inTable {
			r.Zones++
		}
		switch {
		case g.outline == nil:
			r.ZonesWithoutGeometry++
			continue
		case !g.inTable:
			r.ZonesGeometryOnly++
		case len(g.values) == 0:
			r.ZonesWithoutValues++
		default:
			r.ZonesWithValues++
		}
		for _, p := range g.outline.polygons {
			r.Polygons++
			r.Holes += len(p.rings) - 1
			r.Vertices += p.points
		}
	}
	r.ZonesWithGeometry = r.ZonesWithValues + r.ZonesWithoutValues
}
