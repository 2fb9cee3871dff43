package rewrite

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// Open opens a document to be rewritten like other readers do: by its tables, or, if these lead to
// less, by scanning for objects.
func Open(ctx context.Context, src ades.Source, password string) (*pdf.Document, error) {
	d, err := pdf.Open(src, pdf.Options{Password: password, Context: ctx, Repair: true, Lenient: true})
	if err != nil {
		return nil, err
	}
	told, err := survey(d)
	if err != nil {
		return nil, err
	}
	if d.Repaired() != nil || told.pages > 0 && told.lost == 0 {
		return d, nil
	}
	other, err := pdf.Open(src, pdf.Options{Password: password, Context: ctx, Lenient: true, Rebuild: true})
	if _, err := readable(nil, err); err != nil {
		return nil, err
	}
	if err != nil {
		return d, nil
	}
	found, err := survey(other)
	if err != nil {
		return nil, err
	}
	if found.pages > told.pages || found.pages == told.pages && found.lost < told.lost {
		return other, nil
	}
	return d, nil
}

// sight is how much of a document can be read.
type sight struct {
	pages int
	lost  int // objects referred to that cannot be read or are in no table
}

func survey(d *pdf.Document) (sight, error) {
	var s sight
	t, err := readTree(d)
	if _, bad := readable(nil, err); bad != nil {
		return s, bad
	}
	if err == nil {
		s.pages = len(t.pages)
	}
	seen := map[pdf.Ref]bool{}
	queue := []pdf.Ref{d.Root()}
	visit := func(r pdf.Ref) {
		if !seen[r] {
			seen[r] = true
			queue = append(queue, r)
		}
	}
	eachRef(d.Trailer(), visit)
	for len(queue) > 0 {
		r := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		at, ok := d.Where(r.Num)
		if !ok && d.DefinedIn(r.Num) == 0 || ok && at.Stream == 0 && at.Ref.Gen != r.Gen {
			s.lost++
		}
		if !ok {
			continue
		}
		o, err := d.Get(r)
		if _, bad := readable(nil, err); bad != nil {
			return s, bad
		}
		if err != nil {
			s.lost++
		}
		eachRef(o, visit)
		if len(seen) > limits.PDFObjects {
			return s, fmt.Errorf("%w: too many objects", limits.ErrBudget)
		}
	}
	return s, d.Budget().Spend(0)
}

// eachRef calls f for the references in a direct object.
func eachRef(o pdf.Object, f func(pdf.Ref)) {
	switch x := o.(type) {
	case pdf.Ref:
		f(x)
	case pdf.Array:
		for _, e := range x {
			eachRef(e, f)
		}
	case *pdf.Dict:
		for _, e := range x.Entries {
			eachRef(e.Value, f)
		}
	case *pdf.Stream:
		eachRef(x.Dict, f)
	}
}
