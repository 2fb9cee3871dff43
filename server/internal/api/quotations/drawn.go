package quotations

import (
	"bytes"
	"sync"
	"sync/atomic"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/api"
)

// drawnLimit bounds what is kept, in bytes.
const drawnLimit = 32 << 20

// drawings keep what an answer with a perimeter has behind the place, which is the
// same for every place in a zone: of the first zones that are asked for, until other
// publications are loaded. Of a lookup with 60 KB of it, writing that was 24 of 73 µs.
type drawings struct {
	current atomic.Pointer[drawing]
}

// drawing is what is kept while a set of publications is the current one.
type drawing struct {
	set   *omi.Set
	rests sync.Map // of a drawn: its bytes
	size  atomic.Int64
}

type drawn struct {
	omi.Zone
	omi.Geometry
}

// rest appends the rest of an answer that has no message to its beginning, or gives
// it apart where it is kept.
func (d *drawings) rest(begin []byte, set *omi.Set, z omi.Zone, g omi.Geometry) (_, rest []byte) {
	now := d.current.Load()
	if now == nil || now.set != set {
		now = &drawing{set: set}
		d.current.Store(now)
	}
	key := drawn{z, g}
	if kept, ok := now.rests.Load(key); ok {
		return begin, kept.([]byte)
	}
	b := z.AppendRest(begin, g)
	b = append(b, api.EnvelopeMessage+`""`+api.EnvelopeEnd...)
	n := int64(len(b) - len(begin))
	if now.size.Add(n) <= drawnLimit {
		if _, twice := now.rests.LoadOrStore(key, bytes.Clone(b[len(begin):])); !twice {
			return b, nil
		}
	}
	now.size.Add(-n)
	return b, nil
}
