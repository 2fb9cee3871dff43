package main

import (
	"fmt"
	"io"
	"os"
	"sync"

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
}

// newProgress counts bytes; set size to false to count files.
func newProgress(out io.Writer, what string) *progress {
	f, ok := out.(*os.File)
	return &progress{out: out, tty: ok && isatty.IsTerminal(f.Fd()), next: 10, what: what, size: true}
}

// at is told by several goroutines, not in order.
func (p *progress) at(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		if p.bar == nil {
			p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowBytes(p.size), progressbar.OptionShowCount(),
				progressbar.OptionSetDescription(p.what), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
		}
		if done > p.bar.State().CurrentNum {
			_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
		}
		return
	}
	if !p.size && total < 100 {
		return // the files themselves are told
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
		_ = p.bar.Finish()
	}
}

// byteCount is a size for people.
func byteCount(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d kB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MB", n>>20)
}
