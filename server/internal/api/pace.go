package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/peer"
)

// Bounds on a client that sends a body or takes an answer. Every handler's
// bodies are read, and long answers written, through them.
const (
	minRate       = 16 << 10        // bytes a second, on the average, after the first patience
	longestBody   = time.Hour       // for a whole body
	drainTime     = 2 * time.Second // for the rest of an unwanted body: a client that is still sending reads the answer only then
	drainBytes    = 64 << 20        // of it
	writePatience = time.Minute     // beyond the time that the rate gives, for the answer
)

// pace is how fast one request or answer passes.
type pace struct {
	api      *API
	call     *call
	ctx      context.Context
	rc       *http.ResponseController
	waiter   peer.Waiter
	patience time.Duration
	n        int64
	begun    time.Time     // of the piece that passes now
	waited   time.Duration // for the client: what the server does between two pieces is not its fault
	soon     time.Time     // when the deadline is to be set again
}

func (a *API) paced(w http.ResponseWriter, r *http.Request) pace {
	return pace{api: a, call: callFrom(r.Context()), ctx: r.Context(), rc: http.NewResponseController(w), waiter: peer.WaiterOf(r), patience: a.opts.Patience}
}

// deadline is when the next piece must have passed. It is zero while the one
// that was set last, less than a second ago, will do.
func (p *pace) deadline() time.Time {
	now := time.Now()
	p.begun = now
	if p.waiter != nil {
		p.waiter.WaitsForClient(now)
	}
	if now.Before(p.soon) {
		return time.Time{}
	}
	p.soon = now.Add(min(time.Second, p.patience/4))
	left := p.patience + time.Duration(p.n/minRate)*time.Second - p.waited
	return now.Add(min(p.patience, left))
}

// meanwhile gives up the request's place while it waits for its client. Otherwise as many
// stalled clients as there are places would keep everybody else out.
func (p *pace) meanwhile(wait func() (int, error)) (int, error) {
	placed := p.api.leave(p.call)
	n, err := wait()
	p.waited += time.Since(p.begun)
	if placed {
		select {
		case p.api.places <- struct{}{}: // before any request that is new
			p.call.placed.Store(true)
		case <-p.ctx.Done():
		}
	}
	return n, err
}

func (p *pace) over() {
	if p.waiter != nil {
		p.waiter.WaitsForClient(time.Time{})
	}
}

// pacedBody is a body whose client may be slow, but not for ever.
type pacedBody struct {
	io.ReadCloser
	pace
	start time.Time
	work  time.Duration // what the answer may take after the body
	ended bool
}

func (a *API) pacedBody(w http.ResponseWriter, r *http.Request) *pacedBody {
	p := a.paced(w, r)
	return &pacedBody{ReadCloser: r.Body, pace: p, start: time.Now(), work: a.opts.Timeout + writePatience}
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if by := b.deadline(); !by.IsZero() {
		if end := b.start.Add(longestBody); end.Before(by) {
			by = end
		}
		b.rc.SetReadDeadline(by)
		b.rc.SetWriteDeadline(by.Add(b.work))
	}
	n, err := b.meanwhile(func() (int, error) { return b.ReadCloser.Read(p) })
	b.n += int64(n)
	if err != nil {
		b.ended = errors.Is(err, io.EOF)
		b.over()
	}
	return n, err
}

// leave reads a part of what its handler has not read of a body, for a moment. A
// refusal needs none of it; but a connection that is closed on a client that
// still sends is reset, and the client never reads why.
func (b *pacedBody) leave(c *call, r *http.Request) {
	if b.ended {
		return
	}
	b.rc.SetReadDeadline(time.Now().Add(drainTime))
	if r.ProtoMajor != 1 || c.status < http.StatusBadRequest || b.n == 0 && r.Header.Get("Expect") != "" {
		return // on HTTP/2 nothing is reset, and who waits for a word to go on sends nothing
	}
	c.Flush()
	_, _ = io.CopyN(io.Discard, b.ReadCloser, drainBytes)
}

// pacedWriter gives a client time for an answer by its length.
type pacedWriter struct {
	http.ResponseWriter
	*pace
}

func (a *API) pacedWriter(w http.ResponseWriter, r *http.Request) pacedWriter {
	p := a.paced(w, r)
	return pacedWriter{w, &p}
}

// answerPiece is how much of an answer is sent at once.
const answerPiece = 64 << 10

// Write sends pieces, so that a client that takes none is noticed.
func (w pacedWriter) Write(p []byte) (sent int, err error) {
	for len(p) > 0 && err == nil {
		if by := w.deadline(); !by.IsZero() {
			w.rc.SetWriteDeadline(by)
		}
		var n int
		n, err = w.meanwhile(func() (int, error) { return w.ResponseWriter.Write(p[:min(len(p), answerPiece)]) })
		w.n += int64(n)
		sent += n
		p = p[n:]
	}
	w.over()
	return sent, err
}

// Unwrap lets http.ResponseController through.
func (w pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// crowd counts the requests at once of each client behind a proxy, whose
// connections say nothing of their number.
type crowd struct {
	mu   sync.Mutex
	from map[netip.Addr]int
}

// enter counts a request, unless its client has that many.
func (c *crowd) enter(address string, most int) (leave func(), ok bool) {
	addr, known := peer.Addr(address)
	if !known {
		return func() {}, true
	}
	addr = peer.Network(addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from[addr] >= most {
		return nil, false
	}
	if c.from == nil {
		c.from = map[netip.Addr]int{}
	}
	c.from[addr]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.from[addr]--; c.from[addr] == 0 {
			delete(c.from, addr)
		}
	}, true
}
