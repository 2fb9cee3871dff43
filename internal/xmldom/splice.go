package xmldom

import (
	"fmt"
	"slices"
)

// Edit inserts text at an offset of the source, in place of Delete bytes there.
type Edit struct {
	Offset int
	Delete int
	Insert string
}

// Append is the edit that makes xml the last content of an element.
func (d *Document) Append(n *Node, xml string) Edit {
	if n.Inner == n.InnerEnd && d.text[n.End-2] == '/' {
		return Edit{Offset: int(n.End) - 2, Delete: 2, Insert: ">" + xml + "</" + n.Name.QName + ">"}
	}
	return Edit{Offset: int(n.InnerEnd), Insert: xml}
}

// After is the edit that puts xml right behind a node.
func (d *Document) After(n *Node, xml string) Edit { return Edit{Offset: int(n.End), Insert: xml} }

// AddAttr is the edit that gives an element a further attribute; the value
// must be escaped.
func (d *Document) AddAttr(n *Node, name, value string) Edit {
	return Edit{
		Offset: int(n.Start) + 1 + len(n.Name.QName),
		Insert: fmt.Sprintf(` %s="%s"`, name, value),
	}
}

// Splice applies edits and returns the bytes in the document's own encoding.
// Everything outside the edits stays as it was.
func (d *Document) Splice(edits ...Edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Offset - b.Offset })
	size := len(d.text)
	for _, e := range edits {
		size += len(e.Insert) - e.Delete
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		if e.Offset < at || e.Offset+e.Delete > len(d.text) {
			return nil, fmt.Errorf("edits overlap at offset %d", e.Offset)
		}
		out = append(out, d.text[at:e.Offset]...)
		out = append(out, e.Insert...)
		at = e.Offset + e.Delete
	}
	out = append(out, d.text[at:]...)
	return d.enc.encode(out)
}
