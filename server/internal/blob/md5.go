package blob

import (
	"crypto/md5" //nolint:gosec // a name on the wire, not a protection
	"encoding"
	"encoding/binary"
	"hash"
	"math"
	"runtime"
	"slices"
	"sync"
)

// weak is an MD5, by which clients know a document. Each of its steps waits for the
// one before, so that one alone takes a tenth of a signature over 100 KB; those that
// are wanted at the same time are computed side by side, eight in little more than
// the time of two (BenchmarkLanes).
type weak struct {
	hash.Hash
	n int // bytes that were written
}

func newWeak() *weak { return &weak{Hash: md5.New()} } //nolint:gosec // as above

// goOn is a copy to go on with.
func (w *weak) goOn() (*weak, error) {
	own, err := w.Hash.(hash.Cloner).Clone()
	return &weak{own, w.n}, err
}

// leastTogether is what is too little to wait for others.
const leastTogether = 4 << 10

// write is Write with others, where there are any.
func (w *weak) write(p []byte) {
	whole := len(p) &^ (md5.BlockSize - 1)
	if !vectors || whole < leastTogether || w.n%md5.BlockSize != 0 || !w.writeTogether(p[:whole]) {
		whole = 0
	}
	w.Hash.Write(p[whole:])
	w.n += len(p)
}

// stateMark is what the state that crypto/md5 marshals begins with; then come four
// words, a block that has begun, and the length.
const stateMark = len("md5\x01")

// writeTogether is false where nobody else had anything to write.
func (w *weak) writeTogether(blocks []byte) bool {
	text, err := w.Hash.(encoding.BinaryAppender).AppendBinary(make([]byte, 0, 96))
	if err != nil {
		return false
	}
	j := &lane{blocks: blocks}
	for i := range j.state {
		j.state[i] = binary.BigEndian.Uint32(text[stateMark+4*i:])
	}
	if !j.run() {
		return false
	}
	text = text[:stateMark]
	for _, word := range j.state {
		text = binary.BigEndian.AppendUint32(text, word)
	}
	text = append(text, make([]byte, md5.BlockSize)...)
	text = binary.BigEndian.AppendUint64(text, uint64(w.n+len(blocks)))
	return w.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(text) == nil
}

// lane is one of those that are computed side by side: its state, and what is left
// of its blocks.
type lane struct {
	state  [4]uint32
	blocks []byte
}

// crowd are lanes that gather until the first of them is at work.
type crowd struct {
	lanes []*lane
	done  chan struct{}
}

var gathering struct {
	sync.Mutex
	crowd *crowd // nil: none
}

// run digests the blocks of a lane with those of others; alone it does nothing.
func (j *lane) run() bool {
	gathering.Lock()
	c := gathering.crowd
	first := c == nil
	if first {
		c = &crowd{done: make(chan struct{})}
		gathering.crowd = c
	}
	if c.lanes = append(c.lanes, j); len(c.lanes) == len(together{}.data) {
		gathering.crowd = nil
	}
	gathering.Unlock()
	if !first {
		<-c.done
		return true
	}
	runtime.Gosched() // whoever has a document at hand comes along
	gathering.Lock()
	if gathering.crowd == c {
		gathering.crowd = nil
	}
	gathering.Unlock()
	if len(c.lanes) == 1 {
		return false
	}
	digest(c.lanes)
	close(c.done)
	return true
}

// together is what eight lanes are computed from.
type together struct {
	state [4][8]uint32
	data  [8]*byte
}

// digest takes at most eight lanes to the end of their blocks: all as far as the
// shortest goes, then the others.
func digest(lanes []*lane) {
	for {
		lanes = slices.DeleteFunc(lanes, func(j *lane) bool { return len(j.blocks) == 0 })
		if len(lanes) == 0 {
			return
		}
		n := math.MaxInt
		for _, j := range lanes {
			n = min(n, len(j.blocks))
		}
		var t together
		for k := range t.data {
			j := lanes[min(k, len(lanes)-1)] // where there are fewer, the last one's work is done again
			t.data[k] = &j.blocks[0]
			for i, word := range j.state {
				t.state[i][k] = word
			}
		}
		digestBlocks(&t.state, &t.data, n/md5.BlockSize, &md5Constants)
		for k, j := range lanes {
			for i := range j.state {
				j.state[i] = t.state[i][k]
			}
			j.blocks = j.blocks[n:]
		}
	}
}

// md5Constants are those of RFC 1321, 3.4, each eight times.
var md5Constants = func() (all [64][8]uint32) {
	for i := range all {
		for k := range all[i] {
			all[i][k] = uint32(math.Floor(math.Abs(math.Sin(float64(i+1))) * (1 << 32)))
		}
	}
	return all
}()
