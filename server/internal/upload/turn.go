package upload

import (
	"io"
	"runtime"
)

// turns bound how many bodies are worked on at once. A crowd of large ones
// would else keep every processor busy for longer than others care to wait: the
// scheduler gives each that can run ten milliseconds.
var turns = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// turnReader has a turn but while it waits for the client.
type turnReader struct {
	r   io.Reader
	has bool
}

func (t *turnReader) Read(p []byte) (int, error) {
	t.end()
	n, err := t.r.Read(p)
	turns <- struct{}{}
	t.has = true
	return n, err
}

func (t *turnReader) end() {
	if t.has {
		<-turns
		t.has = false
	}
}
