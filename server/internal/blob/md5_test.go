package blob

import (
	"bytes"
	"crypto/md5"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
)

// Lanes of any lengths and any number have the digests of crypto/md5.
func TestLanes(t *testing.T) {
	if !vectors {
		t.Skip("SKIPPED: this processor has no AVX2")
	}
	for _, lengths := range [][]int{{1, 1}, {1, 2, 3}, {1000, 1, 0, 77}, {8, 7, 6, 5, 4, 3, 2, 1}, {1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024}} {
		var lanes []*lane
		var want [][]byte
		for _, n := range lengths {
			data := make([]byte, 64*n)
			_, _ = rand.Read(data)
			h := md5.New()
			fmt.Fprintf(h, "%064d", n)
			w := &weak{Hash: h}
			text, _ := w.Hash.(interface{ AppendBinary([]byte) ([]byte, error) }).AppendBinary(nil)
			j := &lane{blocks: data}
			for i := range j.state {
				j.state[i] = uint32(text[4+4*i])<<24 | uint32(text[5+4*i])<<16 | uint32(text[6+4*i])<<8 | uint32(text[7+4*i])
			}
			h.Write(data)
			text, _ = w.Hash.(interface{ AppendBinary([]byte) ([]byte, error) }).AppendBinary(nil)
			lanes, want = append(lanes, j), append(want, text[4:20])
		}
		all := append([]*lane{}, lanes...)
		digest(lanes)
		for k, j := range all {
			got := fmt.Sprintf("%08x%08x%08x%08x", j.state[0], j.state[1], j.state[2], j.state[3])
			if got != fmt.Sprintf("%x", want[k]) {
				t.Errorf("%v: lane %d: %s, want %x", lengths, k, got, want[k])
			}
		}
	}
}

// Whoever writes beside others, in pieces of any length, gets the digest of his own.
func TestWeakBesideOthers(t *testing.T) {
	var all sync.WaitGroup
	for k := range 40 {
		all.Go(func() {
			data := make([]byte, 1<<20)
			_, _ = rand.Read(data)
			for round := range 20 {
				content := data[:(k*7919+round*104729)%len(data)]
				w := newWeak()
				for rest := content; len(rest) > 0; {
					n := min(len(rest), chunkSize-k%3*round)
					w.write(rest[:n])
					rest = rest[n:]
				}
				own, err := w.goOn()
				if err != nil {
					t.Error(err)
				}
				if want := md5.Sum(content); !bytes.Equal(own.Sum(nil), want[:]) {
					t.Errorf("%d bytes: another digest", len(content))
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkLanes(b *testing.B) {
	const size = 64 << 10
	for _, n := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n * size))
			data := make([]byte, size)
			for b.Loop() {
				if n == 1 {
					md5.Sum(data)
					continue
				}
				lanes := make([]*lane, n)
				for i := range lanes {
					lanes[i] = &lane{blocks: data}
				}
				digest(lanes)
			}
		})
	}
}
