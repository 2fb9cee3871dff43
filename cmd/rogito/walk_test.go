package main

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// Results come in the order of the items, and no more items are taken in than can
// be worked on soon: this is what keeps the memory flat.
func TestInOrder(t *testing.T) {
	t.Parallel()
	const n = 2000
	var under, most atomic.Int64
	items := func(yield func(int) bool) {
		for i := range n {
			now := under.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			if !yield(i) {
				return
			}
		}
	}
	next := 0
	inOrder(items, func(i int) int {
		if i%7 == 0 {
			runtime.Gosched()
		}
		return i
	}, func(i int) {
		if i != next {
			t.Fatalf("%d came in the place of %d", i, next)
		}
		next++
		under.Add(-1)
	})
	if next != n {
		t.Errorf("%d of %d came", next, n)
	}
	if limit := int64(3*runtime.GOMAXPROCS(0) + 2); most.Load() > limit {
		t.Errorf("%d were under way at once, more than %d", most.Load(), limit)
	}
}

// No cell begins a formula, and none ends before its time.
func TestTableCells(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"a.p7m":             `"a.p7m"`,
		"=1+1":              `"'=1+1"`,
		"+1":                `"'+1"`,
		"-1":                `"'-1"`,
		"@SUM(A1)":          `"'@SUM(A1)"`,
		"  =1":              `"'  =1"`,
		"\t=1":              `"\t=1"`,
		"\r=1":              `"\r=1"`,
		"\uff1d1":           "\"'\uff1d1\"",
		`he said "=1", ;=2`: `"he said ""=1"", ;=2"`,
		"two\nlines":        `"two\nlines"`,
		"":                  `""`,
	} {
		var b strings.Builder
		v := &shown{csv: &b}
		v.line(cell)
		if got := b.String(); got != want+"\r\n" {
			t.Errorf("%q: %s, want %s", cell, got, want)
		}
	}
}
