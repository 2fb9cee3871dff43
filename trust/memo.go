package trust

import "sync"

// memo remembers the results of pure functions of bytes. Two generations keep
// it bounded: when the young one is full, the old one is dropped.
type memo[T any] struct {
	mu         sync.Mutex
	young, old map[string]entry[T]
	weight     int // of the young ones
}

type entry[T any] struct {
	value  T
	err    error
	weight int
}

// Bounds of one generation: results, and the bytes that they hold on to.
const (
	memoSize   = 4096
	memoWeight = 16 << 20
)

func (m *memo[T]) get(key string, make_ func() (T, error)) (T, error) {
	return m.weigh(key, 0, make_)
}

// weigh is get for a result that holds on to so many bytes. What is heavier
// than a tenth of all is made anew each time.
func (m *memo[T]) weigh(key string, weight int, make_ func() (T, error)) (T, error) {
	if e, ok := m.find(key); ok {
		return e.value, e.err
	}
	v, err := make_()
	if weight <= memoWeight/10 {
		m.mu.Lock()
		m.put(key, entry[T]{v, err, weight})
		m.mu.Unlock()
	}
	return v, err
}

// peek tells what is known already.
func (m *memo[T]) peek(key string) (value T, known bool) {
	e, ok := m.find(key)
	return e.value, ok
}

// find keeps what is looked for among the young ones.
func (m *memo[T]) find(key string) (entry[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.young[key]
	if !ok {
		if e, ok = m.old[key]; ok {
			m.put(key, e)
		}
	}
	return e, ok
}

// put stores under the lock.
func (m *memo[T]) put(key string, e entry[T]) {
	if m.young == nil || len(m.young) >= memoSize || m.weight+e.weight > memoWeight {
		m.old, m.weight = m.young, 0
		m.young = make(map[string]entry[T])
	}
	m.weight += e.weight
	m.young[key] = e
}
