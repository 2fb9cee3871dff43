package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
)

// progress shows how far a long work is: a bar on a terminal, a line every tenth of
// the way otherwise.
type progress struct {
	mu   sync.Mutex
	out  io.Writer
	bar  *progressbar.ProgressBar
	tty  bool
	next int64 // per cent of the next line
	what string
	size bool // it counts bytes, not files
	last time.Time
	back func() // puts the streams back that were written to beside it
}

// newProgress counts bytes; set size to false to count files. While a bar is
// on the screen, whatever else is written there takes its place, and it comes back
// below.
func (s *session) newProgress(what string) *progress {
	f, ok := s.stderr.(*os.File)
	p := &progress{out: s.stderr, tty: ok && isatty.IsTerminal(f.Fd()), next: 10, what: what, size: true, back: func() {}}
	if !p.tty {
		return p
	}
	stdout, stderr, screen := s.stdout, s.stderr, s.screen
	p.back = func() { s.stdout, s.stderr, s.screen = stdout, stderr, screen }
	s.stderr = beside{p, stderr}
	if s.terminal {
		s.stdout, s.screen = beside{p, stdout}, beside{p, screen}
	}
	return p
}

// beside writes where a bar is shown.
type beside struct {
	bar *progress
	w   io.Writer
}

func (b beside) Write(text []byte) (int, error) {
	b.bar.mu.Lock()
	defer b.bar.mu.Unlock()
	if b.bar.bar != nil {
		_ = b.bar.bar.Clear() // a bar that cannot be drawn is no reason to stop
	}
	return b.w.Write(text)
}

// largeFile is from which size on the reading of a file is shown.
const largeFile = 64 << 20

// watch shows how far a large file is read, which may be several times.
func (p *progress) watch(f *sourceFile) {
	if p.tty && f.Size() >= largeFile {
		p.size = true
		f.seen = func(at int64) { p.near(at, f.Size()) }
	}
}

// near shows a place that is not the end, at most ten times a second.
func (p *progress) near(at, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last = now
	p.draw(total)
	_ = p.bar.Set64(min(at, total-1))
}

func (p *progress) draw(total int64) {
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowBytes(p.size), progressbar.OptionShowCount(),
			progressbar.OptionSetDescription(p.what), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	}
}

// at is called by several goroutines, not in order.
func (p *progress) at(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		p.draw(total)
		if done > p.bar.State().CurrentNum {
			_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
		}
		return
	}
	if !p.size && total < 100 {
		return // the files themselves are printed
	}
	if total > 0 && done*100/total >= p.next {
		p.next = done * 100 / total
		if p.size {
			fmt.Fprintf(p.out, "rogito: %s: %d %% of %s\n", p.what, p.next, byteCount(total))
		} else {
			fmt.Fprintf(p.out, "rogito: %s: %d of %d files\n", p.what, done, total)
		}
		p.next = (p.next/10 + 1) * 10
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
	p.back()
}

// byteCount is a size for people.
func byteCount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d kB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
