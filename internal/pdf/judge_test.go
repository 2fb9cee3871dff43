package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"testing"
)

// What is said of a stream is the same whether it is kept or only judged.
func FuzzJudgeFlate(f *testing.F) {
	deflated := func(b []byte) []byte {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		_, _ = w.Write(b)
		_ = w.Close()
		return z.Bytes()
	}
	rows := bytes.Repeat([]byte{2, 1, 2, 3}, 20000) // more than a piece
	f.Add(deflated([]byte("text")), 1, 1)
	f.Add(deflated(rows), 12, 3)
	f.Add(deflated(rows[:len(rows)-1]), 12, 3)
	f.Add(deflated(append(bytes.Clone(rows), 9, 9, 9, 9)), 15, 3)
	f.Add(deflated(rows)[:60], 12, 3)
	f.Add(append(deflated(rows), "tail"...), 2, 5)
	f.Add(deflated(nil), 12, 1)
	f.Fuzz(func(t *testing.T, data []byte, kind, columns int) {
		parms := &Dict{}
		parms.Set("Predictor", Integer(kind))
		parms.Set("Columns", Integer(columns))
		d := &Document{work: newWork(context.Background()), cache: map[int]Object{}}
		out, odd, err := d.filter("FlateDecode", parms, data)
		decoded := d.work.decoded
		d.work.judged = true
		_, judged, flaw := d.filter("FlateDecode", parms, data)
		if (err == nil) != (flaw == nil) || err == nil && odd != judged {
			t.Fatalf("%q and %q, %v and %v", odd, judged, err, flaw)
		}
		if size := d.work.decoded - decoded; err == nil && size < int64(len(out)) {
			t.Fatalf("%d bytes counted of %d", size, len(out))
		}
	})
}
