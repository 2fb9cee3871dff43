package pdf

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Object is one of: nil (null), Bool, Integer, Real, Name, String, Array, *Dict, *Stream, Ref; and,
// for writing, Raw and *Placeholder.
type Object any

// Bool is true or false.
type Bool bool

// Integer is a whole number.
type Integer int64

// Real is a number in its original spelling, so that it can be written unchanged.
type Real string

// Float is the value of the number, or zero if it is invalid.
func (r Real) Float() float64 {
	f, err := strconv.ParseFloat(string(r), 64)
	if err != nil {
		return lenientFloat(string(r))
	}
	return f
}

// lenientFloat parses forms that other readers accept ("--1.5", "12.-3").
func lenientFloat(s string) float64 {
	neg := false
	for len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = neg || s[0] == '-'
		s = s[1:]
	}
	if i := strings.IndexByte(s, '-'); i >= 0 {
		s = s[:i]
	}
	f, _ := strconv.ParseFloat(s, 64)
	if neg {
		return -f
	}
	return f
}

// Name is a name without its slash, escapes resolved.
type Name string

// String is a string object after unescaping and decryption.
type String struct {
	Bytes []byte
	Hex   bool // it is written in angle brackets
	// Clear: it is in an encrypted document and could not be decrypted. Readers show nothing for
	// it, or something else.
	Clear bool
}

// Array is an array object.
type Array []Object

// Ref is an indirect reference.
type Ref struct {
	Num int
	Gen int
}

func (r Ref) String() string {
	return strconv.Itoa(r.Num) + " " + strconv.Itoa(r.Gen) + " R"
}

// IsZero reports whether the reference points to nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// Span is a range of the file.
type Span struct {
	Start, End int64
}

// Entry is one key of a dictionary with its value.
type Entry struct {
	Key   Name
	Value Object
	// Span is where the value is in the file; empty inside an object stream and for objects made in
	// memory.
	Span Span
}

// Dict is a dictionary that keeps the order of its keys.
type Dict struct {
	Entries []Entry
}

// NewDict makes a dictionary from alternating keys and values. It is for literals: it panics if a
// key is not a Name.
func NewDict(pairs ...Object) *Dict {
	d := &Dict{Entries: make([]Entry, 0, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Entries = append(d.Entries, Entry{Key: pairs[i].(Name), Value: pairs[i+1]})
	}
	return d
}

// find returns the last entry with a key: most readers use that one if a key is repeated.
func (d *Dict) find(key Name) *Entry {
	if d == nil {
		return nil
	}
	for i := len(d.Entries) - 1; i >= 0; i-- {
		if d.Entries[i].Key == key {
			return &d.Entries[i]
		}
	}
	return nil
}

// Get returns the unresolved value of a key, or nil.
func (d *Dict) Get(key Name) Object {
	if e := d.find(key); e != nil {
		return e.Value
	}
	return nil
}

// Has reports whether the key is present, even with null.
func (d *Dict) Has(key Name) bool { return d.find(key) != nil }

// Span returns where the value of a key is in the file.
func (d *Dict) Span(key Name) (Span, bool) {
	e := d.find(key)
	if e == nil || e.Span.End == 0 {
		return Span{}, false
	}
	return e.Span, true
}

// Set replaces the value of a key, or adds it at the end.
func (d *Dict) Set(key Name, value Object) {
	if e := d.find(key); e != nil {
		e.Value, e.Span = value, Span{}
		return
	}
	d.Entries = append(d.Entries, Entry{Key: key, Value: value})
}

// Delete removes a key.
func (d *Dict) Delete(key Name) {
	d.Entries = slices.DeleteFunc(d.Entries, func(e Entry) bool { return e.Key == key })
}

// Repeated lists the keys that occur more than once, which readers resolve differently.
func (d *Dict) Repeated() []Name {
	var out []Name
	seen := make(map[Name]bool, len(d.Entries))
	for _, e := range d.Entries {
		if seen[e.Key] {
			out = append(out, e.Key)
		}
		seen[e.Key] = true
	}
	return out
}

// Clone copies the dictionary, but not the objects in it.
func (d *Dict) Clone() *Dict {
	c := &Dict{Entries: make([]Entry, len(d.Entries), len(d.Entries)+4)}
	copy(c.Entries, d.Entries)
	return c
}

// Stream is a dictionary with data. The data of a stream that was read remains in the file until
// [Document.Data] reads it.
type Stream struct {
	Dict *Dict
	// Data of a stream made in memory, encoded as its Filter says.
	Data []byte

	span Span // of the encoded data in the file
	ref  Ref  // for decryption
}

// Span is where the encoded data is in the file.
func (s *Stream) Span() Span { return s.span }

// Raw is written unchanged.
type Raw string

// Placeholder is a range of the update to be filled in later: the update writes Open, Size times
// Fill and Close, and records the position.
type Placeholder struct {
	Open, Close string
	Fill        byte
	Size        int
	Offset      int64 // from the start of the update; set by Bytes
}

// Len is the length of the whole range.
func (p *Placeholder) Len() int { return len(p.Open) + p.Size + len(p.Close) }

// Equal compares two objects by value; streams by dictionary and, if both are in the file, by the
// position of their data.
func Equal(a, b Object) bool {
	switch x := a.(type) {
	case String:
		y, ok := b.(String)
		return ok && x.Clear == y.Clear && bytes.Equal(x.Bytes, y.Bytes)
	case Array:
		y, ok := b.(Array)
		return ok && slices.EqualFunc(x, y, Equal)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && equalDicts(x, y)
	case *Stream:
		y, ok := b.(*Stream)
		return ok && equalDicts(x.Dict, y.Dict) && x.span == y.span && bytes.Equal(x.Data, y.Data)
	case *Placeholder:
		return a == b
	}
	switch b.(type) {
	case String, Array, *Dict, *Stream:
		return false
	}
	return a == b
}

// equalDicts treats null as absent, like ISO 32000.
func equalDicts(a, b *Dict) bool {
	for _, e := range a.Entries {
		if !Equal(a.Get(e.Key), b.Get(e.Key)) {
			return false
		}
	}
	for _, e := range b.Entries {
		if !a.Has(e.Key) && e.Value != nil {
			return false
		}
	}
	return true
}
