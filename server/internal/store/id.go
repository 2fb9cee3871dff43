package store

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

var lastID struct {
	sync.Mutex
	millis uint64
	tail   uint64
}

// NewID returns a new id: 24 lower-case hex characters, 48 bits of time in
// milliseconds and 48 random ones. Ids of one process sort by the order in
// which they were made; the distance between two says nothing of how many
// were made.
func NewID() string {
	var r [8]byte
	_, _ = rand.Read(r[:]) // never fails: crypto/rand ends the process instead
	random := binary.BigEndian.Uint64(r[:])

	lastID.Lock()
	now := uint64(time.Now().UnixMilli())
	if now > lastID.millis {
		lastID.millis, lastID.tail = now, random>>17 // 47 bits: room to count up
	} else if lastID.tail += 1 + random>>36; lastID.tail >= 1<<48 {
		lastID.millis, lastID.tail = lastID.millis+1, random>>17
	}
	millis, tail := lastID.millis, lastID.tail
	lastID.Unlock()

	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], millis<<16|tail>>32)
	binary.BigEndian.PutUint32(b[8:12], uint32(tail))
	return hex.EncodeToString(b[:12])
}

// IsID says whether s has the shape of an id.
func IsID(s string) bool {
	if len(s) != 24 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// IDAt is the first id that can be made at a time; empty for the zero time.
func IDAt(t time.Time) string {
	if t.IsZero() || t.UnixMilli() < 0 {
		return ""
	}
	return fmt.Sprintf("%012x%012x", t.UnixMilli()&(1<<48-1), 0)
}

// IDTime is when an id was made; the zero time for what is not an id.
func IDTime(id string) time.Time {
	if !IsID(id) {
		return time.Time{}
	}
	var ms uint64
	if _, err := fmt.Sscanf(id[:12], "%x", &ms); err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
