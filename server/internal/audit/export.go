package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/sentence"
	"rogito.dev/rogito/server/internal/store"
)

// exportLine is a line of an export: the head first, then checkpoints, then
// entries.
type exportLine struct {
	Log        string      `json:"log,omitempty"` // exportName, first line
	Key        string      `json:"key,omitempty"`
	From       int64       `json:"from,omitempty"` // the first entry; those before it are in earlier exports
	Edge       []byte      `json:"edge,omitempty"` // right edge of the tree before it
	Entry      *Entry      `json:"entry,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

const exportName = "rogito-audit/1"

// Export writes the log as lines of JSON: a head with the public key, the
// checkpoints, the entries. It begins at the newest checkpoint of at most since
// entries; 0 writes all of it. Its last checkpoint is made for it and covers it to
// the end, since nobody who verifies it has the master key.
func (k *Checkpointer) Export(ctx context.Context, w io.Writer, since int64) error {
	for {
		if _, err := k.Log.Sequence(ctx); err != nil {
			return err
		}
		err := k.Log.db.View(ctx, func(q store.Querier) error { return k.export(ctx, q, w, since) })
		if !errors.Is(err, errUnsettled) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// errUnsettled says that an erasure has no place yet: what it explains would be
// in the export, and it would not.
var errUnsettled = errors.New("audit: an erasure waits for its place")

func (k *Checkpointer) export(ctx context.Context, q store.Querier, w io.Writer, since int64) error {
	var waiting int64
	if err := q.QueryRow(ctx, `select count(*) from audit_events where seq is null and kind = $1`, KindErased).Scan(&waiting); err != nil {
		return fmt.Errorf("audit: export: %w", err)
	}
	if waiting > 0 && k.Log.db.Dialect() != store.SQLite {
		return errUnsettled
	}
	h, err := k.Log.scanHead(q.QueryRow(ctx, readHead))
	if err != nil {
		return err
	}
	points, err := checkpoints(ctx, q)
	if err != nil {
		return err
	}
	head := exportLine{Log: exportName, Key: k.Public}
	if at := sort.Search(len(points), func(i int) bool { return points[i].Size > since }) - 1; at > 0 {
		points = points[at:]
		edge, err := edgeAt(ctx, q, points[0].Size)
		if err != nil {
			return err
		}
		head.From, head.Edge = points[0].Size, edge.edge()
	}
	if len(points) > 0 && points[len(points)-1].Size < h.size {
		last, err := k.sign(h, &points[len(points)-1])
		if err != nil {
			return err
		}
		points = append(points, *last)
	}
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	if err := enc.Encode(head); err != nil {
		return err
	}
	for i := range points {
		if err := enc.Encode(exportLine{Checkpoint: &points[i]}); err != nil {
			return err
		}
	}
	for next := head.From; ; {
		list, err := dictionaries.entries(ctx, q, selectRow+`where seq >= $1 order by seq limit $2`, next, page)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return buf.Flush()
		}
		for _, e := range list {
			e.leaf()
			if err := enc.Encode(exportLine{Entry: e}); err != nil {
				return err
			}
			next = e.Seq + 1
		}
	}
}

// VerifyExport verifies exports as it reads them, oldest first: each must go on
// from the ones before it. Where a key is given, they must be signed by it; else by
// the one that they name.
func VerifyExport(key string, check TokenCheck, parts ...io.Reader) (*Result, error) {
	var all Result
	var before *verification
	given := key != ""
	for _, r := range parts {
		in := json.NewDecoder(bufio.NewReader(r))
		var head exportLine
		if err := in.Decode(&head); err != nil || head.Log != exportName {
			return nil, errors.New("audit: not an export of the audit log")
		}
		if key != "" && key != head.Key {
			return nil, errors.New("the export names another key than the one given")
		}
		key = head.Key
		v := newVerification(key, nil, check)
		if err := v.readExport(in, head); err != nil {
			return nil, err
		}
		switch {
		case v.res.Bad != nil:
		case before == nil:
			all.From = v.from
		case !before.knows(v.from, v.began):
			v.bad(v.from, nil, "the export from here does not go on from the one before it")
		}
		all.Entries = v.tree.size - all.From
		all.Erased += v.res.Erased
		all.Checkpoints += v.res.Checkpoints
		all.Stamped += v.res.Stamped
		if all.Bad = v.res.Bad; all.Bad != nil {
			return &all, nil
		}
		v.explain()
		all.Unproved = append(all.Unproved, v.res.Unproved...)
		before = v
	}
	all.Proved = append(all.Proved, fmt.Sprintf("%d entries are unchanged and in their order up to the end of the export, signed by its key", all.Entries))
	if all.From > 0 {
		all.Unproved = append(all.Unproved, sentence.New("the first %d entries: they are in earlier exports, whose checkpoint this one goes on from", all.From))
	}
	all.Unproved = append(all.Unproved, sentence.New("that the log has no more entries than the export, and that the records fit: this only the live log can tell"))
	if !given {
		all.Unproved = append(all.Unproved, sentence.New("whose key it is: compare it with /pki/audit.pub (--key)"))
	}
	return &all, nil
}

// readExport verifies one export behind its first line.
func (v *verification) readExport(in *json.Decoder, head exportLine) error {
	for begun := false; ; {
		var line exportLine
		err := in.Decode(&line)
		if err != nil && err != io.EOF {
			return fmt.Errorf("audit: export: %w", err)
		}
		if !begun && line.Checkpoint != nil {
			v.points = append(v.points, *line.Checkpoint)
			continue
		}
		if !begun {
			begun = true
			v.beginExport(head)
		}
		if v.res.Bad != nil {
			return nil
		}
		if err == io.EOF {
			break
		}
		if line.Entry == nil {
			return errors.New("audit: export: a line is no entry")
		}
		v.entry(line.Entry)
	}
	if err := v.end(func(string) (bool, error) { return false, nil }); err != nil {
		return err
	}
	if v.sure != v.tree.size {
		v.bad(v.sure, nil, "it and those after it are not covered by a checkpoint")
	}
	return nil
}

// beginExport takes the tree before the first entry from the head of an export: it
// must have the root that its first checkpoint signs.
func (v *verification) beginExport(head exportLine) {
	if head.From == 0 && len(head.Edge) == 0 {
		v.begin()
		return
	}
	tree, ok := rootsOf(head.From, head.Edge)
	if !ok || len(v.points) == 0 {
		v.bad(-1, nil, "the head of the export names no tree to go on from")
		return
	}
	c := &v.points[0]
	said, err := openNote(c.Note, v.key)
	if err != nil || said.size != head.From || c.Size != head.From || said.root != tree.root() {
		v.bad(head.From, nil, "the export does not go on from a checkpoint that the log's key signed")
		return
	}
	v.tree, v.from, v.sure, v.before, v.next, v.began = tree, head.From, head.From, c.digest(), 1, said.root
	v.times = append(v.times, pointTime{c.Size, c.CreatedAt, said.root})
	v.res.Checkpoints++
}

// knows says whether the tree had this root when it had so many entries.
func (v *verification) knows(size int64, root tlog.Hash) bool {
	return slices.ContainsFunc(v.times, func(p pointTime) bool { return p.size == size && p.root == root })
}
