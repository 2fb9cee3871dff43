package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Source is a log to be verified: the live store, or an export.
type Source interface {
	// Key is the public key of the checkpoints (C2SP vkey).
	Key() string
	// Entries by their place in the tree; those that have none yet at the end.
	Entries(ctx context.Context) iter.Seq2[*Entry, error]
	// Checkpoints, oldest first.
	Checkpoints(ctx context.Context) ([]Checkpoint, error)
	// Leaves that the log claims to have.
	Leaves(ctx context.Context) (int64, error)
}

// TokenCheck checks that a time-stamp token is over a SHA-256 digest and
// signed by its certificate.
type TokenCheck func(token, digest []byte) error

// Result of a verification. Bad is nil when the log is whole.
type Result struct {
	Entries     int64  `json:"entries"`
	Pending     int64  `json:"pending"` // not in the tree yet
	Erased      int64  `json:"erased"`
	Checkpoints int    `json:"checkpoints"`
	Stamped     int    `json:"stamped"`
	Bad         *Fault `json:"bad,omitempty"`
}

// Fault is the first entry that is not what it was.
type Fault struct {
	Seq  int64  `json:"seq"`
	ID   string `json:"id,omitempty"`
	What string `json:"what"`
}

func (f *Fault) Error() string { return fmt.Sprintf("entry %d: %s", f.Seq, f.What) }

// Verify recomputes the tree from its entries and holds it against every
// checkpoint. The error means that no result could be had.
func Verify(ctx context.Context, src Source, check TokenCheck) (*Result, error) {
	verifier, err := note.NewVerifier(src.Key())
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	// Asked first: a live log grows while it is read.
	claimed, err := src.Leaves(ctx)
	if err != nil {
		return nil, err
	}
	points, err := src.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	v := &verification{points: points, verifier: verifier, check: check, erased: map[string]int64{}}
	for e, err := range src.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		if v.entry(e); v.res.Bad != nil {
			return &v.res, nil
		}
	}
	v.end(claimed)
	return &v.res, nil
}

type verification struct {
	res      Result
	tree     roots
	points   []Checkpoint
	next     int // checkpoint
	sure     int64
	verifier note.Verifier
	check    TokenCheck
	erased   map[string]int64 // record → first entry without payload, not yet explained
}

func (v *verification) bad(e *Entry, format string, args ...any) {
	v.res.Bad = &Fault{Seq: v.tree.size, What: fmt.Sprintf(format, args...)}
	if e != nil {
		v.res.Bad.ID = e.ID
	}
}

func (v *verification) entry(e *Entry) {
	if e.Seq < 0 {
		v.res.Pending++
		if e.Payload != nil && !bytes.Equal(digest(e.Salt, e.Payload), e.Digest) {
			v.bad(e, "its text is not the one that was written")
		}
		v.explain(e)
		return
	}
	switch {
	case e.Seq > v.tree.size:
		v.bad(nil, "is missing (the next one found is %d)", e.Seq)
		return
	case e.Seq < v.tree.size:
		v.bad(e, "stands twice in the log")
		return
	case e.Payload != nil && !bytes.Equal(digest(e.Salt, e.Payload), e.Digest):
		v.bad(e, "its text is not the one that was written")
		return
	}
	h := tlog.RecordHash(e.leaf())
	if e.Leaf != nil && !bytes.Equal(h[:], e.Leaf) {
		v.bad(e, "it is not the entry that was written in this place")
		return
	}
	v.explain(e)
	v.tree.add(h)
	v.res.Entries++
	v.checkpoints()
}

// explain keeps count of payloads that are gone: each must be followed by the
// event that says so.
func (v *verification) explain(e *Entry) {
	switch {
	case e.Kind == KindErased && e.Payload != nil:
		delete(v.erased, e.Record)
	case e.Payload == nil:
		v.res.Erased++
		if _, ok := v.erased[e.Record]; !ok {
			v.erased[e.Record] = max(e.Seq, v.tree.size)
		}
	}
}

func (v *verification) checkpoints() {
	for ; v.next < len(v.points) && v.points[v.next].Size == v.tree.size; v.next++ {
		if why := v.checkpoint(v.points[v.next]); why != "" {
			v.res.Bad = &Fault{Seq: v.sure, What: fmt.Sprintf("from here to %d: %s", v.tree.size-1, why)}
			return
		}
		v.sure = v.tree.size
		v.res.Checkpoints++
	}
}

func (v *verification) checkpoint(c Checkpoint) string {
	n, err := note.Open([]byte(c.Note), note.VerifierList(v.verifier))
	if err != nil {
		return fmt.Sprintf("the checkpoint of %d entries is not signed by the log's key", c.Size)
	}
	size, root, err := parseCheckpoint(n.Text)
	if err != nil || size != c.Size {
		return fmt.Sprintf("the checkpoint of %d entries cannot be read", c.Size)
	}
	if root != v.tree.root() {
		return fmt.Sprintf("the entries are not those of the checkpoint of %d entries", c.Size)
	}
	if len(c.Token) > 0 && v.check != nil {
		d := sha256.Sum256([]byte(c.Note))
		if err := v.check(c.Token, d[:]); err != nil {
			return fmt.Sprintf("the time-stamp of the checkpoint of %d entries is not good", c.Size)
		}
		v.res.Stamped++
	}
	return ""
}

func (v *verification) end(claimed int64) {
	switch {
	case v.next < len(v.points):
		v.bad(nil, "is missing: a checkpoint covers %d entries, the log has %d", v.points[len(v.points)-1].Size, v.tree.size)
	case claimed > v.tree.size:
		v.bad(nil, "is missing: the log had %d entries", claimed)
	default:
		for _, seq := range v.erased {
			if v.res.Bad == nil || seq < v.res.Bad.Seq {
				v.res.Bad = &Fault{Seq: seq, What: "its text is gone and no erasure was written down"}
			}
		}
	}
}

// Live is the log of a database as a Source. Extra are checkpoints held
// elsewhere: the file of a Checkpointer.
type Live struct {
	Log    *Log
	Public string
	Extra  []Checkpoint
}

// Key is the public key of the checkpoints.
func (s *Live) Key() string { return s.Public }

// Checkpoints of the database, and the extra ones.
func (s *Live) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	all, err := s.Log.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	return merge(all, s.Extra), nil
}

// merge brings two ordered lists together; the same size may come twice.
func merge(a, b []Checkpoint) []Checkpoint {
	out := make([]Checkpoint, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0].Note == b[0].Note:
			b = b[1:] // the same one, held twice
		case len(b) == 0 || len(a) > 0 && a[0].Size <= b[0].Size:
			out, a = append(out, a[0]), a[1:]
		default:
			out, b = append(out, b[0]), b[1:]
		}
	}
	return out
}

// Leaves is what the tree's head says.
func (s *Live) Leaves(ctx context.Context) (size int64, err error) {
	err = s.Log.db.Read().QueryRow(ctx, `select size from audit_head where id = 1`).Scan(&size)
	return size, err
}

// Entries in the order of the tree, in pages, so that a long log needs no
// memory. What gets its place while the log is read is found there, however
// that falls: those without a place are believed only if none came after them.
func (s *Live) Entries(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		last, pending := int64(-1), []*Entry(nil)
		for {
			page, err := entries(ctx, s.Log.db.Read(), selectEntry+`where seq > $1 order by seq limit 1000`, last)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if e.Leaf, err = s.leaf(ctx, e.Seq); !yield(e, err) || err != nil {
					return
				}
				last = e.Seq
			}
			if len(page) == 0 && pending != nil {
				break
			}
			if len(page) == 1000 {
				continue
			}
			if pending, err = entries(ctx, s.Log.db.Read(), selectEntry+`where seq is null order by n limit 100000`); err != nil {
				yield(nil, err)
				return
			}
			if len(pending) == 0 {
				pending = []*Entry{} // asked, and there are none
			}
		}
		for _, e := range pending {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// leaf is the stored hash of a leaf; nil when it is gone, which the tree will
// show.
func (s *Live) leaf(ctx context.Context, seq int64) ([]byte, error) {
	h, err := readHashes(ctx, s.Log.db.Read(), []int64{tlog.StoredHashIndex(0, seq)})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return []byte{}, nil // not the hash of anything: named as the first bad entry
	}
	return h[0][:], nil
}

type exportLine struct {
	Log        string      `json:"log,omitempty"` // "rogito-audit/1", first line
	Key        string      `json:"key,omitempty"`
	Leaves     *int64      `json:"leaves,omitempty"`
	Entry      *Entry      `json:"entry,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

// Export writes a log as lines of JSON: a head with the public key, the
// checkpoints, the entries.
func Export(ctx context.Context, src Source, w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	leaves, err := src.Leaves(ctx)
	if err != nil {
		return err
	}
	points, err := src.Checkpoints(ctx)
	if err != nil {
		return err
	}
	if err := enc.Encode(exportLine{Log: "rogito-audit/1", Key: src.Key(), Leaves: &leaves}); err != nil {
		return err
	}
	for i := range points {
		if err := enc.Encode(exportLine{Checkpoint: &points[i]}); err != nil {
			return err
		}
	}
	for e, err := range src.Entries(ctx) {
		if err != nil {
			return err
		}
		if e.Seq >= leaves { // it came after the head was read
			if e.Kind != KindErased {
				continue
			}
			late := *e
			late.Seq = -1 // what it explains may stand before
			e = &late
		}
		if err := enc.Encode(exportLine{Entry: e}); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// Exported is an export as a Source.
type Exported struct {
	key    string
	leaves int64
	points []Checkpoint
	rest   *json.Decoder
	first  *Entry
}

// ReadExport opens an export; its entries are read as they are verified, once.
func ReadExport(r io.Reader) (*Exported, error) {
	x := &Exported{rest: json.NewDecoder(bufio.NewReader(r))}
	var head exportLine
	if err := x.rest.Decode(&head); err != nil || head.Log != "rogito-audit/1" || head.Leaves == nil {
		return nil, errors.New("audit: not an export of the audit log")
	}
	x.key, x.leaves = head.Key, *head.Leaves
	for {
		var line exportLine
		err := x.rest.Decode(&line)
		if err == io.EOF {
			return x, nil
		}
		if err != nil {
			return nil, fmt.Errorf("audit: export: %w", err)
		}
		if line.Checkpoint == nil {
			x.first = line.Entry
			return x, nil
		}
		x.points = append(x.points, *line.Checkpoint)
	}
}

// Key is the public key that the export names. Whoever distrusts the export
// compares it with a key they know.
func (x *Exported) Key() string { return x.key }

// Checkpoints of the export.
func (x *Exported) Checkpoints(context.Context) ([]Checkpoint, error) { return x.points, nil }

// Leaves that the export's head claims.
func (x *Exported) Leaves(context.Context) (int64, error) { return x.leaves, nil }

// Entries of the export.
func (x *Exported) Entries(context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if x.first != nil && !yield(x.first, nil) {
			return
		}
		for {
			var line exportLine
			err := x.rest.Decode(&line)
			if err == io.EOF {
				return
			}
			if err == nil && line.Entry == nil {
				err = errors.New("a line is no entry")
			}
			if err != nil {
				yield(nil, fmt.Errorf("audit: export: %w", err))
				return
			}
			if !yield(line.Entry, nil) {
				return
			}
		}
	}
}
