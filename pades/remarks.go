package pades

import (
	"fmt"
	"math"
	"strings"

	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/pdf"
)

// Remarks are what was asked for and does nothing in this document, in sentences:
// a visible signature that would not stand on its page or is hard to read, locked
// fields that are not there.
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

// remarkPlace tells where a visible signature was moved.
func (f *form) remarkPlace(asked, a *Appearance, page *pdf.Page) {
	const slack = 0.5 // of a point: nobody sees less
	moved := !a.Anywhere && (math.Abs(a.X-asked.X) > slack || math.Abs(a.Y-asked.Y) > slack)
	if moved || asked.Width-a.Width > slack || asked.Height-a.Height > slack {
		width, height := page.Visible()
		f.remarks = append(f.remarks, fmt.Sprintf("the visible signature was moved onto the page, to %.0f,%.0f: page %d is %.0f by %.0f points", a.X, a.Y, page.Index+1, width, height))
	}
}

// remarkType tells that a visible signature is hard to read.
func (f *form) remarkType(b appearance.Box) {
	text := ""
	switch size := b.TypeSize(); {
	case size == 0:
		text = "not all of the text fits the visible signature"
	case size < leastType:
		text = fmt.Sprintf("the text of the visible signature is hard to read: its smallest letters are %.1f points high", size)
	default:
		return
	}
	f.remarks = append(f.remarks, fmt.Sprintf("%s; a box larger than %.0f by %.0f points helps", text, b.Width, b.Height))
}
