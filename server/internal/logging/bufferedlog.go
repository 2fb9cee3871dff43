package logging

import (
	"bufio"
	"sync"
	"time"
)

// bufferedLog holds log lines back for at most 100 ms: a system call for each line
// is a tenth of a look-up. A kill -9 loses what is held; what must not be lost is
// written to the audit log.
type bufferedLog struct {
	mu    sync.Mutex
	w     *bufio.Writer
	armed bool
}

const flushAfter = 100 * time.Millisecond

// Write takes one whole line, as slog's handlers give them.
func (l *bufferedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > l.w.Available() {
		l.w.Flush() // only whole lines are written
	}
	if !l.armed {
		l.armed = true
		time.AfterFunc(flushAfter, l.flush)
	}
	return l.w.Write(p)
}

func (l *bufferedLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	_ = l.w.Flush() // an error of the log itself cannot be logged
}
