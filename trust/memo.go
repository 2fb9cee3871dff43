package trust

import (
	"sync"
)

// memo remembers the results of pure functions of bytes. Two generations keep
// it bounded: when the young one is full, the old one is dropped.
type memo[T any] struct {
	mu         sync.Mutex
	young, old map[string]entry[T]
}

type entry[T any] struct {
	value T
	err   error
}

const memoSize = 4096

func (m *memo[T]) get(key string, make_ func() (T, error)) (T, error) {
	m.mu.Lock()
	e, ok := m.young[key]
	if !ok {
		if e, ok = m.old[key]; ok {
			m.put(key, e)
		}
	}
	m.mu.Unlock()
	if ok {
		return e.value, e.err
	}
	v, err := make_()
	m.mu.Lock()
	m.put(key, entry[T]{v, err})
	m.mu.Unlock()
	return v, err
}

// peek tells what is known already.
func (m *memo[T]) peek(key string) (value T, known bool) {
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

// put stores under the lock.
func (m *memo[T]) put(key string, e entry[T]) {
	if m.young == nil || len(m.young) >= memoSize {
		m.old = m.young
		m.young = make(map[string]entry[T])
	}
	m.young[key] = e
}

// flight runs one fetch per key at a time; the others wait for its result.
type flight struct {
	mu    sync.Mutex
	calls map[string]*call
}

type call struct {
	done chan struct{}
	body []byte
	err  error
}

func (f *flight) do(key string, fetch func() ([]byte, error)) ([]byte, error) {
	f.mu.Lock()
	if c, ok := f.calls[key]; ok {
		f.mu.Unlock()
		<-c.done
		return c.body, c.err
	}
	c := &call{done: make(chan struct{})}
	if f.calls == nil {
		f.calls = map[string]*call{}
	}
	f.calls[key] = c
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.calls, key)
		f.mu.Unlock()
		close(c.done)
	}()
	c.body, c.err = fetch()
	return c.body, c.err
}
