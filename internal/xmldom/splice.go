package xmldom

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Edit replaces Delete bytes at an offset of the source by Insert.
type Edit struct {
	Offset int
	Delete int
	Insert string
}

// Append is the edit that adds xml at the end of an element.
func (d *Document) Append(n *Node, xml string) Edit {
	if n.Inner == n.InnerEnd && d.text[n.End-2] == '/' {
		return Edit{Offset: int(n.End) - 2, Delete: 2, Insert: ">" + xml + "</" + n.Name.QName + ">"}
	}
	return Edit{Offset: int(n.InnerEnd), Insert: xml}
}

// AddAttr is the edit that adds an attribute to an element; the value must be escaped.
func (d *Document) AddAttr(n *Node, name, value string) Edit {
	return Edit{
		Offset: int(n.Start) + 1 + len(n.Name.QName),
		Insert: fmt.Sprintf(` %s="%s"`, name, value),
	}
}

// Splice applies edits and returns the octets in the document's own encoding. Everything outside the
// edits is unchanged.
func (d *Document) Splice(edits ...Edit) (string, error) {
	parts, err := d.spliced(edits)
	if err != nil {
		return "", err
	}
	return d.enc.encode(strings.Join(parts, ""))
}

// WriteSpliced is Splice to a writer; a UTF-8 document is not copied first.
func (d *Document) WriteSpliced(w io.Writer, edits ...Edit) error {
	if d.enc.codec != nil || len(d.enc.bom) > 0 {
		out, err := d.Splice(edits...)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, out)
		return err
	}
	parts, err := d.spliced(edits)
	if err != nil {
		return err
	}
	for _, s := range parts {
		if _, err := io.WriteString(w, s); err != nil {
			return err
		}
	}
	return nil
}

// spliced is the text after the edits, in pieces.
func (d *Document) spliced(edits []Edit) ([]string, error) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.Offset - b.Offset })
	parts := make([]string, 0, 2*len(edits)+1)
	at := 0
	for _, e := range edits {
		if e.Offset < at || e.Offset+e.Delete > len(d.text) {
			return nil, fmt.Errorf("edits overlap at offset %d", e.Offset)
		}
		parts = append(parts, d.text[at:e.Offset], e.Insert)
		at = e.Offset + e.Delete
	}
	return append(parts, d.text[at:]), nil
}
