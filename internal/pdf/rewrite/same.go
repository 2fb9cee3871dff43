package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// Same checks that a copy equals the document, as read by package pdf: the same number of pages,
// and everything that they, the catalog and the document information refer to is equal, object by
// object, with streams equal byte for byte, or as mended. The page tree itself, apart from
// inherited attributes, is not compared. The error names the first difference.
func Same(doc, copied *pdf.Document) error {
	s := &sameness{docs: [2]*pdf.Document{doc, copied}, to: map[pdf.Ref]pdf.Ref{}, from: map[pdf.Ref]pdf.Ref{}}
	for i, d := range s.docs {
		var err error
		if s.trees[i], err = readTree(d); err != nil {
			return err
		}
	}
	a, b := s.trees[0].pages, s.trees[1].pages
	if len(a) != len(b) {
		return fmt.Errorf("the page tree %w: %d pages instead of %d", ErrOther, len(b), len(a))
	}
	s.to[doc.Root()], s.from[copied.Root()] = copied.Root(), doc.Root()
	for i := range a {
		if _, known := s.to[a[i].ref]; !known && !a[i].ref.IsZero() {
			s.to[a[i].ref], s.from[b[i].ref] = b[i].ref, a[i].ref
		}
	}
	for i := range a {
		if err := s.dicts(a[i].whole(), b[i].whole(), "Parent", "Type", "Kids"); err != nil {
			return fmt.Errorf("page %d: %w", i+1, err)
		}
	}
	if err := s.catalogs(); err != nil {
		return err
	}
	return s.drain()
}

type sameness struct {
	docs     [2]*pdf.Document
	trees    [2]*tree
	to, from map[pdf.Ref]pdf.Ref
	queue    []pdf.Ref // pairs still to be compared, by the document's reference
}

func (s *sameness) catalogs() error {
	a, err := s.docs[0].Catalog()
	if err != nil {
		return err
	}
	b, err := s.docs[1].Catalog()
	if err != nil {
		return err
	}
	if err := s.dicts(a, b, "Pages", "Type"); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	infos := [2]*pdf.Dict{}
	for i, d := range s.docs {
		o, err := readable(d.Resolve(d.Trailer().Get("Info")))
		if err != nil {
			return err
		}
		if infos[i], _ = o.(*pdf.Dict); infos[i] == nil {
			infos[i] = &pdf.Dict{}
		}
	}
	if err := s.dicts(infos[0], infos[1]); err != nil {
		return fmt.Errorf("document information: %w", err)
	}
	return nil
}

func (s *sameness) drain() error {
	for len(s.queue) > 0 {
		last := len(s.queue) - 1
		ref := s.queue[last]
		s.queue = s.queue[:last]
		a, err := readable(s.docs[0].Get(ref))
		if err != nil {
			return err
		}
		b, err := s.docs[1].Get(s.to[ref])
		if err != nil {
			return err
		}
		if err := s.objects(a, b); err != nil {
			return fmt.Errorf("object %s: %w", ref, err)
		}
	}
	return nil
}

// ErrOther means that a copy differs.
var ErrOther = errors.New("has another value")

func (s *sameness) objects(a, b pdf.Object) error {
	if x, ok := a.(pdf.Ref); ok {
		return s.refs(x, b)
	}
	same := false
	switch x := a.(type) {
	case pdf.Array:
		y, ok := b.(pdf.Array)
		if !ok || len(x) != len(y) {
			return ErrOther
		}
		for i := range x {
			if err := s.objects(x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	case *pdf.Dict:
		y, ok := b.(*pdf.Dict)
		if !ok {
			return ErrOther
		}
		return s.dicts(x, y)
	case *pdf.Stream:
		y, ok := b.(*pdf.Stream)
		if !ok {
			return ErrOther
		}
		mended, err := s.docs[0].Mended(x)
		if err != nil {
			return err
		}
		if mended != nil {
			x = mended
		}
		if err := s.dicts(x.Dict, y.Dict, "Length"); err != nil {
			return err
		}
		return s.data(x, y)
	case pdf.String:
		y, ok := b.(pdf.String)
		same = ok && bytes.Equal(x.Bytes, y.Bytes)
	case nil, pdf.Bool, pdf.Integer, pdf.Real, pdf.Name:
		switch b.(type) {
		case nil, pdf.Bool, pdf.Integer, pdf.Real, pdf.Name:
			same = plain(a) == b
		}
	}
	if !same {
		return ErrOther
	}
	return nil
}

// refs checks that each object has one counterpart. A reference to an undefined object is null in
// the copy; one to a node of the page tree may be.
func (s *sameness) refs(x pdf.Ref, b pdf.Object) error {
	y, ok := b.(pdf.Ref)
	node := s.trees[0].nodes[x]
	if !ok {
		at, defined := s.docs[0].Where(x.Num)
		if b == nil && (node || !defined || at.Stream == 0 && at.Ref.Gen != x.Gen) {
			return nil
		}
		return ErrOther
	}
	if node {
		if s.trees[1].nodes[y] {
			return nil
		}
		return ErrOther
	}
	was, known := s.to[x]
	back, taken := s.from[y]
	if known || taken {
		if was != y || back != x {
			return ErrOther
		}
		return nil
	}
	s.to[x], s.from[y] = y, x
	s.queue = append(s.queue, x)
	return s.docs[0].Budget().Spend(refSize)
}

// dicts treats null as absent, like ISO 32000.
func (s *sameness) dicts(a, b *pdf.Dict, but ...pdf.Name) error {
	left := map[pdf.Name]pdf.Object{}
	for _, e := range entries(b) {
		left[e.Key] = e.Value
	}
	for _, e := range entries(a) {
		if !slices.Contains(but, e.Key) {
			if err := s.objects(e.Value, left[e.Key]); err != nil {
				return fmt.Errorf("/%s %w", e.Key, err)
			}
		}
		delete(left, e.Key)
	}
	for key, v := range left {
		if v != nil && !slices.Contains(but, key) {
			return fmt.Errorf("/%s %w, where it had none", key, ErrOther)
		}
	}
	return nil
}

func (s *sameness) data(a, b *pdf.Stream) error {
	if s.docs[0].Encrypted() || a.Span().End == 0 {
		x, err := s.docs[0].Encoded(a)
		if err != nil {
			return err
		}
		y, err := s.docs[1].Encoded(b)
		if err == nil && !bytes.Equal(x, y) {
			err = ErrOther
		}
		return err
	}
	n := a.Span().End - a.Span().Start
	if n != b.Span().End-b.Span().Start {
		return ErrOther
	}
	var x, y [4096]byte
	for at := int64(0); at < n; {
		step := min(n-at, int64(len(x)))
		if err := readFull(s.docs[0], x[:step], a.Span().Start+at); err != nil {
			return err
		}
		if err := readFull(s.docs[1], y[:step], b.Span().Start+at); err != nil {
			return err
		}
		if !bytes.Equal(x[:step], y[:step]) {
			return ErrOther
		}
		at += step
	}
	return nil
}

func readFull(d *pdf.Document, b []byte, at int64) error {
	if n, err := d.ReadAt(b, at); n < len(b) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	return nil
}
