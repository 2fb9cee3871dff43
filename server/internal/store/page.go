package store

import (
	"fmt"
	"slices"
	"strings"
)

// Page is a part of a list that goes from the newest id to the oldest. Whatever
// the length of the list, After costs one look-up; Skip costs one for each id
// that is left out.
type Page struct {
	After       string // only what comes behind this id; empty: from the beginning
	Skip, Limit int
}

// Of is the end of a query for this page, from the last condition on, with the
// arguments of the query.
func (p Page) Of(args ...any) (string, []any) {
	behind := ""
	if p.After != "" {
		args = append(args, p.After)
		behind = fmt.Sprintf(` and id < $%d`, len(args))
	}
	args = append(args, p.Limit, p.Skip)
	return behind + fmt.Sprintf(` order by id desc limit $%d offset $%d`, len(args)-1, len(args)), args
}

// Facet is a column that a list is narrowed by.
type Facet struct {
	Column string
	Is     string   // empty: anything
	Words  []string // that the column may have
}

// IDs is the query for the ids of this page among the rows of a condition (from
// the table's name on) that have the facets, out of an index of the condition's
// columns, the facets in their order, and the id. Each way to fill the facets in
// is a piece of that index in the order of ids; their beginnings are merged, so
// that no filter, however few rows it leaves, looks at others.
func (p Page) IDs(from string, args []any, facets ...Facet) (string, []any) {
	if !slices.ContainsFunc(facets, func(f Facet) bool { return f.Is != "" }) {
		tail, args := p.Of(args...)
		return `select id from ` + from + tail, args
	}
	pieces := []string{""}
	for _, f := range facets {
		words := f.Words
		if f.Is != "" {
			words = []string{f.Is}
		}
		var next []string
		for _, w := range words {
			args = append(args, w)
			for _, piece := range pieces {
				next = append(next, fmt.Sprintf(`%s and %s = $%d`, piece, f.Column, len(args)))
			}
		}
		pieces = next
	}
	beginning, args := Page{After: p.After, Limit: p.Skip + p.Limit}.Of(args...)
	for i, piece := range pieces {
		pieces[i] = fmt.Sprintf(`select id from (select id from %s%s%s) as piece%d`, from, piece, beginning, i)
	}
	args = append(args, p.Limit, p.Skip)
	return fmt.Sprintf(`select id from (%s) as pieces order by id desc limit $%d offset $%d`, strings.Join(pieces, ` union all `), len(args)-1, len(args)), args
}

// In is the condition of SQL that a column has one of so many values, which are
// the first arguments.
func In(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", $%d", i+1)
	}
	return ` in (` + strings.TrimPrefix(b.String(), ", ") + `)`
}

// Args are values as the arguments of a query.
func Args[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
