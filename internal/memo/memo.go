// Package memo caches what takes long to compute, within bounds. What expires, is sealed, or is
// counted otherwise has a cache of its own; any other cache in memory is one of these.
package memo

import (
	"cmp"
	"sync"
)

// Memo caches values by key, in two generations: when the young one is full the old one is dropped,
// and a value that is used becomes young again. Values must be the same whenever they are computed.
// It is safe for concurrent use; its zero value is ready to use.
type Memo[K comparable, V any] struct {
	Most   int // values in a generation; 0 means 4,096
	Weight int // bytes retained by them in total; 0 means 16 MB

	mu         sync.Mutex
	young, old map[K]entry[V]
	weight     int // of the young ones
}

type entry[V any] struct {
	value  V
	weight int
}

// Get is the value of a key, if it is known.
func (m *Memo[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.young[key]
	if !ok {
		if e, ok = m.old[key]; ok {
			m.put(key, e)
		}
	}
	return e.value, ok
}

// Put caches a value that retains so many bytes. A value of more than a tenth of the total is not
// worth what it would evict.
func (m *Memo[K, V]) Put(key K, value V, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if weight <= m.mostWeight()/10 {
		m.put(key, entry[V]{value, weight})
	}
}

// Len is how many values are known.
func (m *Memo[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.young)
	for key := range m.old {
		if _, twice := m.young[key]; !twice {
			n++
		}
	}
	return n
}

func (m *Memo[K, V]) put(key K, e entry[V]) {
	m.weight -= m.young[key].weight
	delete(m.young, key)
	if m.young == nil || len(m.young) >= m.most() || m.weight+e.weight > m.mostWeight() {
		m.old, m.young, m.weight = m.young, map[K]entry[V]{}, 0
	}
	m.young[key] = e
	m.weight += e.weight
}

func (m *Memo[K, V]) most() int { return cmp.Or(max(0, m.Most), 4096) }

func (m *Memo[K, V]) mostWeight() int { return cmp.Or(max(0, m.Weight), 16<<20) }
