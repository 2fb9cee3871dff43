package xmldom

import (
	"reflect"
	"sync"
)

// memory is room for the tree of a document of some size. It is used again,
// since a tree mostly lives as long as a signature takes to make or to read,
// and would else be the most of what there is to collect.
type memory struct {
	nodes  [4096]Node
	extras [2048]extra // every second node, if all are elements with text in them
	attrs  [2048]Attr
	binds  [128]Binding

	used struct{ nodes, extras, attrs, binds int }
}

var memories = sync.Pool{New: func() any { return new(memory) }}

// What the pieces of a tree weigh.
var (
	nodeSize  = int(reflect.TypeFor[Node]().Size())
	extraSize = int(reflect.TypeFor[extra]().Size())
	attrSize  = int(reflect.TypeFor[Attr]().Size())
)

// growSlabs makes room for nodes, about as many as are still expected.
func (p *parser) growSlabs() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	expected := p.expected - p.count
	if expected < 512 {
		k := max(expected, 64)
		if err := p.d.spend(k * nodeSize); err != nil {
			return err
		}
		p.nodes = make([]Node, k)
		p.spilled.nodes = true
		return nil
	}
	if err := p.d.spend(4096 * nodeSize); err != nil {
		return err
	}
	p.noteUsed()
	m := memories.Get().(*memory)
	p.d.memory = append(p.d.memory, m)
	p.nodes, p.extras, p.attrs, p.binds = m.nodes[:], m.extras[:], m.attrs[:], m.binds[:]
	p.spilled = spilled{}
	return nil
}

// spend takes memory out of the budget, to be returned by Release.
func (d *Document) spend(n int) error {
	d.spent += int64(n)
	return d.budget.Spend(int64(n))
}

// spilled says what the newest memory has no more room for.
type spilled struct{ nodes, extras, attrs, binds bool }

// noteUsed notes how much of the newest memory is in use.
func (p *parser) noteUsed() {
	if len(p.d.memory) == 0 {
		return
	}
	m := p.d.memory[len(p.d.memory)-1]
	m.used.nodes = used(len(m.nodes), len(p.nodes), p.spilled.nodes)
	m.used.extras = used(len(m.extras), len(p.extras), p.spilled.extras)
	m.used.attrs = used(len(m.attrs), len(p.attrs), p.spilled.attrs)
	m.used.binds = used(len(m.binds), len(p.binds), p.spilled.binds)
}

func used(all, left int, spilled bool) int {
	if spilled {
		return all
	}
	return all - left
}

// take cuts n items from a slab; a new one has about as many as are asked for.
func take[T any](slab *[]T, n, size int, spilled *bool) []T {
	if len(*slab) < n {
		*slab = make([]T, max(n, min(max(size, 8), 512)))
		*spilled = true
	}
	part := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return part
}

// Release gives the memory of the tree back. No node of the document may be
// used afterwards; its text, and strings taken from it, stay good.
func (d *Document) Release() {
	for _, m := range d.memory {
		clear(m.nodes[:m.used.nodes])
		clear(m.extras[:m.used.extras])
		clear(m.attrs[:m.used.attrs])
		clear(m.binds[:m.used.binds])
		memories.Put(m)
	}
	d.budget.Return(d.spent)
	d.Node, d.ids, d.origin.names, d.memory, d.spent = nil, nil, nil, nil, 0
}
