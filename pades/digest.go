package pades

import (
	"context"
	"crypto"
	"fmt"
	"hash"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/limits"
)

// digester hashes byte ranges. All of them begin at the start of the file, so a common prefix is
// hashed once; the rest is bounded, or a file full of signatures would cost its size for each of
// them.
type digester struct {
	ctx    context.Context
	src    ades.Source
	common map[crypto.Hash]*prefix
	left   int64
}

type prefix struct {
	state hash.Hash
	pos   int64
}

func newDigester(ctx context.Context, src ades.Source) digester {
	return digester{ctx: ctx, src: src, common: make(map[crypto.Hash]*prefix, 1), left: src.Size() + limits.PDFHashed}
}

// of returns the digest function of a signature's ranges.
func (d *digester) of(f *signatureEntry) func(crypto.Hash) ([]byte, error) {
	if f.end == 0 {
		return nil
	}
	known := make(map[crypto.Hash][]byte, 1)
	return func(h crypto.Hash) ([]byte, error) {
		if sum, ok := known[h]; ok {
			return sum, nil
		}
		if !h.Available() {
			return nil, nil
		}
		sum, err := d.sum(h, f.ranges)
		known[h] = sum
		return sum, err
	}
}

func (d *digester) sum(h crypto.Hash, b [4]int64) ([]byte, error) {
	state, err := d.upTo(h, b[1])
	if err != nil {
		return nil, err
	}
	if err := d.feed(state, b[2], b[2]+b[3]); err != nil {
		return nil, err
	}
	return state.Sum(nil), nil
}

// upTo returns the hash state after the first n bytes of the file.
func (d *digester) upTo(h crypto.Hash, n int64) (hash.Hash, error) {
	p := d.common[h]
	if p == nil || p.pos > n {
		p = d.begin(h, n)
		d.common[h] = p
	}
	if err := d.feed(p.state, p.pos, n); err != nil {
		delete(d.common, h)
		return nil, err
	}
	p.pos = n
	c, ok := p.state.(hash.Cloner)
	if !ok { // the state was used up: the next signature starts over
		delete(d.common, h)
		return p.state, nil
	}
	clone, err := c.Clone()
	if err != nil {
		delete(d.common, h)
		return p.state, nil // not clonable either
	}
	return clone, nil
}

// begin is where hashing of the first n bytes starts: at the end of the document that was just
// signed, if its hash state is known, else at the start.
func (d *digester) begin(h crypto.Hash, n int64) *prefix {
	if g, ok := d.src.(*grown); ok && g.src.Size() <= n {
		if state := handoff.State(g.src, h); state != nil {
			return &prefix{state: state, pos: g.src.Size()}
		}
	}
	return &prefix{state: h.New()}
}

func (d *digester) feed(w hash.Hash, from, to int64) error {
	if d.left -= to - from; d.left < 0 {
		return ades.Malformed("PDF", "ByteRange", "more than %d bytes under signatures", int64(limits.PDFHashed))
	}
	const step = 8 << 20 // about ten milliseconds
	for from < to {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		next := min(to, from+step)
		if err := stream(w, d.src, from, next); err != nil {
			return fmt.Errorf("digest byte range: %w", err)
		}
		from = next
	}
	return nil
}
