package xmldom

import "sync"

// slabSize is how many nodes are allocated at once in documents of some size.
const slabSize = 4096

// slabs are used again, since a tree mostly lives as long as a signature takes
// to make or to read, and would else be the most of what there is to collect.
var slabs = sync.Pool{New: func() any { return new([slabSize]Node) }}

// slab is room for about that many nodes.
func (d *Document) slab(expected int) []Node {
	if expected < slabSize/8 {
		return make([]Node, max(expected, 64))
	}
	s := slabs.Get().(*[slabSize]Node)
	d.slabs = append(d.slabs, s)
	return s[:]
}

// Release gives the memory of the tree back. No node of the document may be
// used afterwards; its text, and strings taken from it, stay good.
func (d *Document) Release() {
	for _, s := range d.slabs {
		clear(s[:])
		slabs.Put(s)
	}
	d.Node, d.ids, d.slabs = nil, nil, nil
}
