package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// exportLine is a line of an export: the head first, then checkpoints, then
// entries.
type exportLine struct {
	Log        string      `json:"log,omitempty"` // exportName, first line
	Key        string      `json:"key,omitempty"`
	Entry      *Entry      `json:"entry,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
}

const exportName = "rogito-audit/1"

// Export writes the log as lines of JSON: a head with the public key, the
// checkpoints, the entries. Its last checkpoint is made for it and covers it to
// the end, since nobody who verifies it has the master key.
func (k *Checkpointer) Export(ctx context.Context, w io.Writer) error {
	for {
		if _, err := k.Log.Sequence(ctx); err != nil {
			return err
		}
		err := k.Log.db.View(ctx, func(q store.Querier) error { return k.export(ctx, q, w) })
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

func (k *Checkpointer) export(ctx context.Context, q store.Querier, w io.Writer) error {
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
	if len(points) > 0 && points[len(points)-1].Size < h.size {
		last, err := k.sign(h, &points[len(points)-1])
		if err != nil {
			return err
		}
		points = append(points, *last)
	}
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	if err := enc.Encode(exportLine{Log: exportName, Key: k.Public}); err != nil {
		return err
	}
	for i := range points {
		if err := enc.Encode(exportLine{Checkpoint: &points[i]}); err != nil {
			return err
		}
	}
	for next := int64(0); ; {
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

// VerifyExport verifies an export as it reads it. Where a key is given, the
// export must be signed by it; else by the one that it names.
func VerifyExport(r io.Reader, key string, check TokenCheck) (*Result, error) {
	in := json.NewDecoder(bufio.NewReader(r))
	var head exportLine
	if err := in.Decode(&head); err != nil || head.Log != exportName {
		return nil, errors.New("audit: not an export of the audit log")
	}
	if key != "" && key != head.Key {
		return nil, errors.New("the export names another key than the one given")
	}
	v := newVerification(head.Key, nil, check)
	for begun := false; ; {
		var line exportLine
		err := in.Decode(&line)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("audit: export: %w", err)
		}
		if !begun && line.Checkpoint != nil {
			v.points = append(v.points, *line.Checkpoint)
			continue
		}
		if !begun {
			begun = true
			v.begin()
		}
		if err == io.EOF {
			break
		}
		if line.Entry == nil {
			return nil, errors.New("audit: export: a line is no entry")
		}
		if v.entry(line.Entry); v.res.Bad != nil {
			return &v.res, nil
		}
	}
	if err := v.end(func(string) (bool, error) { return false, nil }); err != nil {
		return nil, err
	}
	if v.sure != v.tree.size {
		v.bad(v.sure, nil, "it and those after it are not covered by a checkpoint")
	}
	if v.res.Bad == nil {
		v.proved("%d entries are unchanged and in their order up to the end of the export, signed by its key", v.res.Entries)
		v.unproved("that the log has no more entries than the export, and that the records fit: this only the live log can tell")
		if key == "" {
			v.unproved("whose key it is: compare it with /pki/audit.pub (--key)")
		}
		v.tell()
	}
	return &v.res, nil
}
