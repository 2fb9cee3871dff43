package pades

import (
	"fmt"
	"math"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pdf"
)

// Remarks are options that have no effect in this document: a visible signature that would not fit
// on its page or is hard to read, locked fields that do not exist.
func (d *Draft) Remarks() []ades.Problem { return d.remarks }

// remark checks the fields named by the options.
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
			f.remarks = append(f.remarks, finding.LockNoField.Problem("", name))
		}
	}
}

// remarkPlace reports that a visible signature was moved.
func (f *form) remarkPlace(asked, a *Appearance, page *pdf.Page) {
	const slack = 0.5 // of a point: not visible
	moved := !a.Anywhere && (math.Abs(a.X-asked.X) > slack || math.Abs(a.Y-asked.Y) > slack)
	if moved || asked.Width-a.Width > slack || asked.Height-a.Height > slack {
		width, height := page.Visible()
		f.remarks = append(f.remarks, finding.StampMoved.Problem("", whole(a.X)+","+whole(a.Y), page.Index+1, whole(width), whole(height)))
	}
}

// remarkType reports that a visible signature is hard to read.
func (f *form) remarkType(b appearance.Box) {
	switch size := b.TypeSize(); {
	case size == 0:
		f.remarks = append(f.remarks, finding.StampTextCut.Problem("", whole(b.Width), whole(b.Height)))
	case size < leastType:
		f.remarks = append(f.remarks, finding.StampTextSmall.Problem("", fmt.Sprintf("%.1f", size), whole(b.Width), whole(b.Height)))
	}
}

func whole(points float64) string { return fmt.Sprintf("%.0f", points) }
