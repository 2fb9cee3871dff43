package audit

import (
	"context"
	"crypto/hmac"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/server/internal/store"
)

// Extent says how much of a log is verified.
type Extent int

// All of it; what is behind the last checkpoint that this installation has
// proved; what is behind the last checkpoint there is. What is left out is said.
const (
	Whole Extent = iota
	SinceProved
	SinceCheckpoint
)

// proof is what a verification that found nothing wrong leaves behind: up to
// which checkpoint it had read. It is authenticated under the master key.
type proof struct {
	Size int64  `json:"size"`
	Time int64  `json:"time"`
	MAC  []byte `json:"mac"`
}

func (l *Log) proofMAC(p *proof) []byte {
	sum := l.keyed.MAC("audit proof", binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(p.Size)), uint64(p.Time)))
	return sum[:]
}

// proved reads the last proof; the zero one where there is none that is ours.
func (s *Live) proved() (p proof, err error) {
	if s.Proof == "" {
		return p, nil
	}
	b, err := os.ReadFile(s.Proof)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("audit: last proof: %w", err)
	}
	if json.Unmarshal(b, &p) != nil || !hmac.Equal(p.MAC, s.Log.proofMAC(&p)) {
		return proof{}, nil
	}
	return p, nil
}

// prove writes down that everything up to a checkpoint was verified.
func (s *Live) prove(size int64) error {
	if s.Proof == "" {
		return nil
	}
	p := proof{Size: size, Time: store.Millis(s.Log.now())}
	p.MAC = s.Log.proofMAC(&p)
	b, err := json.Marshal(p)
	if err == nil {
		err = atomicfile.WriteBytes(s.Proof, 0o600, b)
	}
	if err != nil {
		return fmt.Errorf("audit: keep proof: %w", err)
	}
	return nil
}

// beginAt has a verification begin at the newest checkpoint of at most so many
// entries. The tree up to there is what the checkpoint says it is: its right edge
// is read from the stored hashes, and must have the root that was signed. It is
// false where there is none but the first.
func (v *verification) beginAt(ctx context.Context, q store.Querier, most int64) bool {
	at := sort.Search(len(v.points), func(i int) bool { return v.points[i].Size > most }) - 1
	if at < 1 {
		return false
	}
	c := &v.points[at]
	said, err := openNote(c.Note, v.key)
	if err != nil || said.size != c.Size {
		v.bad(-1, nil, "the checkpoint of %d entries is not signed by the log's key", c.Size)
		return true
	}
	tree, err := edgeAt(ctx, q, c.Size)
	if err != nil || tree.root() != said.root {
		v.bad(-1, nil, "the hashes of the tree are not those of the checkpoint of %d entries", c.Size)
		return true
	}
	v.tree, v.from, v.sure, v.before, v.next = tree, c.Size, c.Size, c.digest(), at+1
	v.res.From = c.Size
	for _, p := range v.points[:at+1] {
		v.times = append(v.times, pointTime{size: p.Size, time: p.CreatedAt})
	}
	for _, w := range v.res.Witnesses {
		w.next = sort.Search(len(w.points), func(i int) bool { return w.points[i].Size > c.Size })
		if w.next == 0 {
			continue
		}
		last := &w.points[w.next-1]
		s, err := openNote(last.Note, v.key)
		if err == nil {
			err = extends(ctx, q, c.Size, said.root, s.size, s.root)
		}
		if err != nil {
			v.bad(-1, nil, "the entries are not those that the %s knows of: %v", w.Name, err)
			return true
		}
		w.Size, w.Time, w.Checkpoints = s.size, s.time, w.next
		for i := range w.points[:w.next] {
			if len(w.points[i].Token) > 0 {
				w.Stamped++
			}
		}
	}
	return true
}

// edgeAt is the right edge of the tree when it had so many leaves.
func edgeAt(ctx context.Context, q store.Querier, size int64) (r roots, err error) {
	r.size = size
	for done, level := int64(0), 62; level >= 0; level-- {
		if size&(1<<level) == 0 {
			continue
		}
		h, err := readHash(ctx, q, tlog.StoredHashIndex(level, done>>level))
		if err != nil {
			return r, err
		}
		r.stack = append(r.stack, h)
		done += 1 << level
	}
	return r, nil
}

// erasedBefore counts the texts of a record that are gone, of the entries that a
// verification did not read.
func erasedBefore(ctx context.Context, q store.Querier, record string, from int64) (n int64, err error) {
	err = q.QueryRow(ctx, `select coalesce(sum(`+events+`), 0) from audit_events where record_id = $1 and seq < $2 and payload is null and kind <> $3`, record, from, KindErased).Scan(&n)
	return n, err
}

func ago(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04 UTC") }
