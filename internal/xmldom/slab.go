package xmldom

import "reflect"

// Sizes of the parts of a tree.
var (
	nodeSize  = int(reflect.TypeFor[Node]().Size())
	extraSize = int(reflect.TypeFor[extra]().Size())
	attrSize  = int(reflect.TypeFor[Attr]().Size())
)

// slabNodes fill 32 KB, the largest size class of the allocator.
const slabNodes = 400

// growNodes allocates nodes, about as many as are still expected.
func (p *parser) growNodes() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	k := min(max(p.expected-p.count, 64), slabNodes)
	if err := p.d.spend(k * nodeSize); err != nil {
		return err
	}
	p.nodes = make([]Node, k)
	return nil
}

// spend charges memory to the budget; Release returns it.
func (d *Document) spend(n int) error {
	d.spent += int64(n)
	return d.budget.Spend(int64(n))
}

// fromSlab cuts n items from a slab; a new slab has about size items.
func fromSlab[T any](slab *[]T, n, size int) []T {
	if len(*slab) < n {
		*slab = make([]T, max(n, min(max(size, 8), 512)))
	}
	part := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return part
}

// Release returns the memory of the tree to the budget. No node of the document may be used
// afterwards; its text, and strings from it, remain valid.
func (d *Document) Release() {
	d.budget.Return(d.spent)
	d.Node, d.ids, d.origin.names, d.spent = nil, nil, nil, 0
}
