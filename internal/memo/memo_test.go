package memo

import (
	"sync"
	"testing"
)

func TestMemo(t *testing.T) {
	t.Parallel()
	m := Memo[int, string]{Most: 3, Weight: 100}
	m.Put(1, "one", 0)
	for i := 2; i <= 5; i++ {
		m.Put(i, "more", 0)
		if v, ok := m.Get(1); !ok || v != "one" {
			t.Fatalf("after %d: 1 is %q, %v, though it was asked for", i, v, ok)
		}
	}
	for i := 10; i < 20; i++ {
		m.Put(i, "more", 0)
		if m.Len() > 6 {
			t.Fatalf("%d values in two generations of three", m.Len())
		}
	}
	if _, ok := m.Get(1); ok {
		t.Error("1 is still known")
	}
	m.Put(19, "again", 0)
	if v, _ := m.Get(19); v != "again" {
		t.Errorf("19 is %q", v)
	}
}

// Weights are bounded as numbers are, and what is put again weighs no more than
// once.
func TestWeight(t *testing.T) {
	t.Parallel()
	m := Memo[int, bool]{Weight: 100}
	if m.Put(0, true, 11); m.Len() != 0 {
		t.Error("a tenth of all and more was remembered")
	}
	for range 1000 {
		m.Put(1, true, 10)
	}
	if _, ok := m.old[1]; ok || m.weight != 10 || m.Len() != 1 {
		t.Errorf("%d values of weight %d", m.Len(), m.weight)
	}
	for i := range 1000 {
		m.Put(i, true, 10)
		if m.weight > 100 || m.Len() > 20 {
			t.Fatalf("%d values, the young of weight %d", m.Len(), m.weight)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	m := Memo[int, int]{Most: 8}
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for i := range 2000 {
				key := (i + k) % 32
				if v, ok := m.Get(key); ok && v != 3*key {
					t.Errorf("%d is %d", key, v)
				}
				m.Put(key, 3*key, i%7)
			}
		})
	}
	all.Wait()
}
