package pades

import (
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Remarks are what was asked for and does nothing in this document, in sentences:
// a visible signature that does not stand on its page, locked fields that are not
// there.
func (d *Draft) Remarks() []string { return d.remarks }

// remark looks at what the options name.
func (f *form) remark(o settings) {
	if o.Lock == nil || o.Lock.Action == LockAll {
		return
	}
	for _, name := range o.Lock.Fields {
		there := false
		for i := range f.fields {
			there = there || f.fields[i].name == name || strings.HasPrefix(f.fields[i].name, name+".")
		}
		if !there {
			f.remarks = append(f.remarks, fmt.Sprintf("there is no field %q to lock", name))
		}
	}
}

// remarkPlace looks at where a visible signature stands on its page.
func (f *form) remarkPlace(a *Appearance, page *pdf.Page) {
	width, height := page.Visible()
	const slack = 0.5 // of a point: nobody sees less
	size := fmt.Sprintf("page %d is %.0f by %.0f points", page.Index+1, width, height)
	switch {
	case a.X >= width || a.Y >= height || a.X+a.Width <= 0 || a.Y+a.Height <= 0:
		f.remarks = append(f.remarks, "the visible signature is off the page, and nobody sees it: "+size)
	case a.X < -slack || a.Y < -slack || a.X+a.Width > width+slack || a.Y+a.Height > height+slack:
		f.remarks = append(f.remarks, "the visible signature is cut off by the edge of the page: "+size)
	}
}
