package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/server/internal/sentence"
)

// TokenCheck checks that a time-stamp token is over a SHA-256 digest and
// signed by its certificate.
type TokenCheck func(token, digest []byte) error

// Result of a verification. Bad is nil when nothing speaks against the log;
// Unproved says what could not be looked at, or by nobody.
type Result struct {
	Entries     int64               `json:"entries"`
	From        int64               `json:"from,omitempty"` // entries before it were not read
	Pending     int64               `json:"pending"`        // not in the tree yet
	Erased      int64               `json:"erased"`
	Records     int64               `json:"records"` // compared with their events
	Checkpoints int                 `json:"checkpoints"`
	Stamped     int                 `json:"stamped"`
	Witnesses   []*Witness          `json:"witnesses,omitempty"`
	Bad         *Fault              `json:"bad,omitempty"`
	Proved      []string            `json:"proved"`
	Unproved    []sentence.Sentence `json:"unproved"`
}

// Fault is the first entry that is not what it was.
type Fault struct {
	Seq  int64  `json:"seq"`
	ID   string `json:"id,omitempty"`
	What string `json:"what"`
}

func (f *Fault) Error() string {
	if f.Seq < 0 {
		return f.What
	}
	return fmt.Sprintf("entry %d: %s", f.Seq, f.What)
}

// verification recomputes the tree from its entries and compares it with every checkpoint and
// every witness on the way.
type verification struct {
	res    Result
	key    string
	check  TokenCheck
	judge  func(e *Entry, at int64) string // what is wrong with an entry; nil: nobody knows
	tree   roots
	points []Checkpoint
	next   int   // checkpoint
	sure   int64 // leaves that the checkpoint before covers
	before []byte
	erased map[string]*gap
	lost   map[string]int64 // id of an entry that its writer misses → entry that says so
	latest int64            // time of an entry
	back   int64            // entries dated long before one ahead of them
	backAt int64
	times  []pointTime

	from         int64                              // entries before this one are not read
	began        tlog.Hash                          // root of an export's tree before its first entry
	touched      map[string]bool                    // records that the entries tell of, where not all are read
	erasedBefore func(record string) (int64, error) // texts that are gone before from; nil: there are none, or nobody knows
	trouble      error                              // why something could not be asked
}

// gap is a run of a record's entries without payload.
type gap struct{ first, n int64 }

// pointTime is the time of a checkpoint, and the root that it signs.
type pointTime struct {
	size, time int64
	root       tlog.Hash
}

func newVerification(key string, points []Checkpoint, check TokenCheck) *verification {
	return &verification{key: key, points: points, check: check, erased: map[string]*gap{}, lost: map[string]int64{}, touched: map[string]bool{}}
}

func (v *verification) bad(seq int64, e *Entry, format string, args ...any) {
	if v.res.Bad != nil {
		return
	}
	v.res.Bad = &Fault{Seq: seq, What: fmt.Sprintf(format, args...)}
	if e != nil {
		v.res.Bad.ID = e.ID
	}
}

// entry takes the next entry of the tree, and returns the hashes that it adds.
func (v *verification) entry(e *Entry) []tlog.Hash {
	at := v.tree.size
	switch {
	case e.Seq > at:
		v.bad(at, nil, "is missing (the next one found is %d)", e.Seq)
	case e.Seq < at:
		v.bad(at, e, "stands twice in the log")
	case !e.intact():
		v.bad(at, e, "its text is not the one that was written")
	}
	if v.judge != nil {
		if why := v.judge(e, at); why != "" {
			v.bad(at, e, "%s", why)
		}
	}
	if v.res.Bad != nil {
		return nil
	}
	v.note(e, at)
	fresh := v.tree.add(e.leaf())
	v.res.Entries++
	v.pass()
	return fresh
}

// clockStep is how far a clock may go back unnoticed: several servers, and
// transactions that overlap.
const clockStep = int64(10 * time.Minute / time.Millisecond)

// note keeps count of what one entry says of others: payloads that are gone must
// be followed by the event that says so, and that they are as many.
func (v *verification) note(e *Entry, at int64) {
	if e.CreatedAt < v.latest-clockStep {
		if v.back++; v.back == 1 {
			v.backAt = at
		}
	}
	v.latest = max(v.latest, e.CreatedAt)
	g := v.erased[e.Record]
	if v.from > 0 {
		v.touched[e.Record] = true
	}
	switch {
	case e.Kind == KindErased && e.Payload != nil:
		var d erasure
		_, detail := e.Text()
		n := int64(0)
		if v.from > 0 && v.erasedBefore != nil {
			if n, v.trouble = v.erasedBefore(e.Record); v.trouble != nil {
				v.bad(at, e, "what it erased cannot be asked for")
			}
		}
		if g != nil {
			n += g.n
		}
		// Who verifies a later export does not know what is gone from earlier ones.
		err := json.Unmarshal(detail, &d)
		unknown := v.from > 0 && v.erasedBefore == nil && d.Events > n
		if err != nil || d.Events != n && !unknown {
			v.bad(at, e, "it erased the text of %d entries, and that of %d is gone", d.Events, n)
		}
		delete(v.erased, e.Record)
	case e.Payload == nil:
		v.res.Erased++
		if g == nil {
			v.erased[e.Record] = &gap{first: at, n: 1}
		} else {
			g.n++
		}
	case e.Kind == KindLost:
		var d struct{ ID string }
		_, detail := e.Text()
		_ = json.Unmarshal(detail, &d)
		v.lost[d.ID] = at
	}
}

// pass compares the tree with the checkpoints of its present size.
func (v *verification) pass() {
	for ; v.next < len(v.points) && v.points[v.next].Size == v.tree.size && v.res.Bad == nil; v.next++ {
		c := &v.points[v.next]
		if why := v.checkpoint(c); why != "" {
			v.bad(v.sure, nil, "from here to %d: %s", max(v.tree.size-1, 0), why)
			return
		}
		v.sure, v.before = v.tree.size, c.digest()
		v.res.Checkpoints++
	}
	for _, w := range v.res.Witnesses {
		for ; w.next < len(w.points) && w.points[w.next].Size == v.tree.size && v.res.Bad == nil; w.next++ {
			c := &w.points[w.next]
			s, err := openNote(c.Note, v.key)
			switch {
			case err == nil && len(c.Token) > 0 && !v.stamped(c):
				v.bad(v.tree.size, nil, "the %s holds a checkpoint of %d entries whose time-stamp is not good", w.Name, v.tree.size)
			case err != nil:
				v.bad(v.tree.size, nil, "the %s holds a checkpoint of %d entries: %v", w.Name, v.tree.size, err)
			case s.size != v.tree.size || s.root != v.tree.root():
				v.bad(w.Size, nil, "from here to %d: the entries are not those that the %s knows of", max(v.tree.size-1, 0), w.Name)
			default:
				w.Size, w.Time = s.size, s.time
				w.Checkpoints++
				if len(c.Token) > 0 {
					w.Stamped++
				}
			}
		}
	}
}

func (v *verification) checkpoint(c *Checkpoint) string {
	s, err := openNote(c.Note, v.key)
	switch {
	case err != nil:
		return fmt.Sprintf("the checkpoint of %d entries is not signed by the log's key", c.Size)
	case s.size != c.Size || s.time != c.CreatedAt:
		return fmt.Sprintf("the checkpoint of %d entries was changed", c.Size)
	case s.root != v.tree.root():
		return fmt.Sprintf("the entries are not those of the checkpoint of %d entries", c.Size)
	case v.before == nil && s.previous != "-" || v.before != nil && s.previous != hex.EncodeToString(v.before):
		return fmt.Sprintf("a checkpoint before that of %d entries is gone or was changed", c.Size)
	}
	if len(c.Token) > 0 {
		if !v.stamped(c) {
			return fmt.Sprintf("the time-stamp of the checkpoint of %d entries is not good", c.Size)
		}
		v.res.Stamped++
	}
	v.times = append(v.times, pointTime{s.size, s.time, s.root})
	return ""
}

// stamped says whether the time-stamp of a checkpoint is over its note.
func (v *verification) stamped(c *Checkpoint) bool {
	d := sha256.Sum256([]byte(c.Note))
	return v.check == nil || v.check(c.Token, d[:]) == nil
}

// begin compares the empty tree with the checkpoint that every log begins with.
func (v *verification) begin() {
	if len(v.points) == 0 || v.points[0].Size != 0 {
		v.bad(0, nil, "the checkpoint that every log begins with is gone")
		return
	}
	v.pass()
}

// end is about what the entries as a whole must explain.
func (v *verification) end(there func(id string) (bool, error)) error {
	if v.next < len(v.points) {
		v.bad(v.tree.size, nil, "is missing: a checkpoint covers %d entries, the log has %d", v.points[len(v.points)-1].Size, v.tree.size)
	}
	for _, w := range v.res.Witnesses {
		if w.next < len(w.points) {
			v.bad(v.tree.size, nil, "is missing: the %s covers %d entries, the log has %d", w.Name, w.points[len(w.points)-1].Size, v.tree.size)
		}
	}
	if v.res.Bad != nil {
		return nil
	}
	for _, g := range v.erased {
		if v.res.Bad == nil || g.first < v.res.Bad.Seq {
			v.res.Bad = &Fault{Seq: g.first, What: "its text is gone and no erasure was written down"}
		}
	}
	for id, seq := range v.lost {
		if ok, err := there(id); err != nil {
			return err
		} else if !ok {
			v.bad(seq, nil, "entry %s was taken away before it had its place", id)
		}
	}
	return nil
}

// heldBack reports an entry that got its place long after it was written: there are checkpoints
// far apart in time between the size that its writer knew and its place.
func (v *verification) heldBack(base, at int64) bool {
	larger := func(than int64) int {
		return sort.Search(len(v.times), func(i int) bool { return v.times[i].size > than })
	}
	first, last := larger(base), larger(at)
	return last > first && v.times[last-1].time-v.times[first].time > clockStep
}

func (v *verification) proved(format string, args ...any) {
	v.res.Proved = append(v.res.Proved, fmt.Sprintf(format, args...))
}

func (v *verification) unproved(form sentence.Form, args ...any) {
	v.res.Unproved = append(v.res.Unproved, sentence.New(form, args...))
}

// explain lists what supports a good result, and what it does not cover.
func (v *verification) explain() {
	r := &v.res
	if v.back > 0 {
		v.unproved("%d entries are dated more than ten minutes before one ahead of them, the first is entry %d: a clock was set back", v.back, v.backAt)
	}
	if n := r.Checkpoints - r.Stamped; n > 0 {
		v.unproved("%d of %d checkpoints have no time-stamp", n, r.Checkpoints)
	}
}

func when(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
