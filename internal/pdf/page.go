package pdf

import (
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// Rect is a rectangle in user space with its corners in order.
type Rect struct {
	LLX, LLY, URX, URY float64
}

// Width of the rectangle.
func (r Rect) Width() float64 { return r.URX - r.LLX }

// Height of the rectangle.
func (r Rect) Height() float64 { return r.URY - r.LLY }

// Array is the rectangle as an object.
func (r Rect) Array() Array {
	return Array{Float(r.LLX), Float(r.LLY), Float(r.URX), Float(r.URY)}
}

// Page is a page with its inherited attributes.
type Page struct {
	Ref      Ref
	Dict     *Dict
	Index    int // from 0
	MediaBox Rect
	CropBox  Rect // the displayed area; within MediaBox
	Rotate   int  // clockwise: 0, 90, 180 or 270
}

// ErrNoPage means that the document has no such page.
var ErrNoPage = fmt.Errorf("page %w", ades.ErrNotFound)

// noPage is ErrNoPage with the requested page, counted from 1.
type noPage struct{ asked, pages int }

func (e *noPage) Error() string {
	return fmt.Sprintf("there is no page %d: the document ends with page %d", e.asked, e.pages)
}

func (e *noPage) Unwrap() error { return ErrNoPage }

// PageCount is the number of pages according to the page tree.
func (d *Document) PageCount() (int, error) {
	root, _, err := d.pageRoot()
	if err != nil {
		return 0, err
	}
	if root.Get("Type") == Name("Page") {
		return 1, nil
	}
	n, ok := d.Int(root.Get("Count"))
	if !ok || n < 0 || n > limits.PDFObjects {
		return 0, errMalformed("Catalog/Pages/Count", "no page count")
	}
	return int(n), nil
}

func (d *Document) pageRoot() (*Dict, Ref, error) {
	cat, err := d.Catalog()
	if err != nil {
		return nil, Ref{}, err
	}
	ref, _ := cat.Get("Pages").(Ref)
	root, err := d.Dict(cat.Get("Pages"))
	if err != nil {
		return nil, ref, err
	}
	if root == nil {
		return nil, ref, errMalformed("Catalog/Pages", "no page tree")
	}
	return root, ref, nil
}

// Page returns the page with an index, counted from 0; negative indexes count from the end, -1
// being the last. Only the branch that leads there is read.
func (d *Document) Page(index int) (*Page, error) {
	n, err := d.PageCount()
	if err != nil {
		return nil, err
	}
	asked := index
	if index < 0 {
		index += n
	} else {
		asked++
	}
	if index < 0 || index >= n {
		return nil, &noPage{asked, n}
	}
	root, ref, err := d.pageRoot()
	if err != nil {
		return nil, err
	}
	p := &Page{Index: index}
	w := walker{d: d, want: index, page: p, seen: make(map[Ref]bool)}
	if err := w.descend(root, ref, inherited{}); err != nil {
		if errors.Is(err, errPageFound) {
			return p, nil
		}
		return nil, err
	}
	return nil, fmt.Errorf("page tree ends before its count: %w", ErrNoPage)
}

var errPageFound = errors.New("page found")

// inherited are the attributes inherited from page tree nodes.
type inherited struct {
	media, crop Object
	rotate      Object
}

type walker struct {
	d    *Document
	want int // pages still to skip
	page *Page
	seen map[Ref]bool

	depth int
}

func (w *walker) descend(node *Dict, ref Ref, in inherited) error {
	if !ref.IsZero() {
		if w.seen[ref] {
			return errMalformed("Pages", "page tree node %s is its own ancestor or occurs twice", ref)
		}
		w.seen[ref] = true
	}
	if w.depth > limits.PDFDepth || len(w.seen) > limits.PDFFields {
		return errMalformed("Pages", "page tree too large or too deep")
	}
	w.depth++
	defer func() { w.depth-- }()
	in = w.inherit(node, in)
	kids, err := w.d.Array(node.Get("Kids"))
	if err != nil {
		return err
	}
	if kids == nil || node.Get("Type") == Name("Page") {
		return w.leaf(node, ref, in)
	}
	for _, k := range kids {
		kref, _ := k.(Ref)
		kid, err := w.d.Dict(k)
		if err != nil {
			return err
		}
		if kid == nil {
			continue
		}
		if n, ok := w.d.Int(kid.Get("Count")); ok && kid.Has("Kids") && n > 0 && int64(w.want) >= n {
			w.want -= int(n)
			continue
		}
		if err := w.descend(kid, kref, in); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) inherit(node *Dict, in inherited) inherited {
	if v := node.Get("MediaBox"); v != nil {
		in.media = v
	}
	if v := node.Get("CropBox"); v != nil {
		in.crop = v
	}
	if v := node.Get("Rotate"); v != nil {
		in.rotate = v
	}
	return in
}

func (w *walker) leaf(node *Dict, ref Ref, in inherited) error {
	if w.want > 0 {
		w.want--
		return nil
	}
	p := w.page
	p.Ref, p.Dict = ref, node
	media, ok := w.d.Rect(in.media)
	if !ok || media.Width() <= 0 || media.Height() <= 0 {
		media = Rect{0, 0, 612, 792}
	}
	p.MediaBox, p.CropBox = media, media
	if crop, ok := w.d.Rect(in.crop); ok {
		crop = Rect{
			max(crop.LLX, media.LLX), max(crop.LLY, media.LLY), min(crop.URX, media.URX), min(crop.URY, media.URY),
		}
		if crop.Width() > 0 && crop.Height() > 0 {
			p.CropBox = crop
		}
	}
	if r, ok := w.d.Int(in.rotate); ok && r%90 == 0 {
		p.Rotate = int((r%360 + 360) % 360)
	}
	return errPageFound
}

// Rect resolves to a rectangle.
func (d *Document) Rect(o Object) (Rect, bool) {
	a, err := d.Array(o)
	if err != nil || len(a) != 4 {
		return Rect{}, false
	}
	var v [4]float64
	for i := range v {
		n, ok := d.Number(a[i])
		if !ok {
			return Rect{}, false
		}
		v[i] = n
	}
	return Rect{min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3])}, true
}

// Visible is the size of the page as displayed, with rotation.
func (p *Page) Visible() (width, height float64) {
	if p.Rotate%180 == 90 {
		return p.CropBox.Height(), p.CropBox.Width()
	}
	return p.CropBox.Width(), p.CropBox.Height()
}

// Place converts a rectangle on the page as displayed (origin at the lower left corner of the
// visible area, rotation applied) to user space.
func (p *Page) Place(r Rect) Rect {
	b := p.CropBox
	switch p.Rotate {
	case 90:
		return Rect{b.URX - r.URY, b.LLY + r.LLX, b.URX - r.LLY, b.LLY + r.URX}
	case 180:
		return Rect{b.URX - r.URX, b.URY - r.URY, b.URX - r.LLX, b.URY - r.LLY}
	case 270:
		return Rect{b.LLX + r.LLY, b.URY - r.URX, b.LLX + r.URY, b.URY - r.LLX}
	}
	return Rect{b.LLX + r.LLX, b.LLY + r.LLY, b.LLX + r.URX, b.LLY + r.URY}
}

// PageOf returns the page with that reference. Its Index is -1, since the page tree is not
// traversed.
func (d *Document) PageOf(ref Ref) (*Page, error) {
	dict, err := d.Dict(ref)
	if err != nil {
		return nil, err
	}
	if dict == nil {
		return nil, fmt.Errorf("object %s: %w", ref, ErrNoPage)
	}
	p := &Page{Index: -1}
	w := walker{d: d, page: p}
	var in inherited
	for node, depth := dict, 0; node != nil && depth < limits.PDFDepth; depth++ {
		above := w.inherit(node, inherited{})
		in = inherited{media: or(in.media, above.media), crop: or(in.crop, above.crop), rotate: or(in.rotate, above.rotate)}
		if node, err = d.Dict(node.Get("Parent")); err != nil {
			return nil, err
		}
	}
	_ = w.leaf(dict, ref, in) // always reports that it found the page
	return p, nil
}

func or(a, b Object) Object {
	if a != nil {
		return a
	}
	return b
}
