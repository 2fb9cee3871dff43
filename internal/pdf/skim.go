package pdf

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"rogito.dev/rogito/internal/limits"
)

// skimmer reads the tokens of objects without building them. It is stricter than the parser: it
// accepts only what every reader interprets alike (ISO 32000-2, 7.3), and each key of a dictionary
// once.
type skimmer struct {
	lexer
	depth int
	keys  []skimKey // of the open dictionaries, innermost last
	ref   func(Ref) error
	// soft is called for slips after which the object continues: a graver one may follow.
	soft func(k *Kind, values ...any)

	// most is the largest number allowed under keys whose values often exceed 31 bits: permissions
	// of an encryption, often written without sign, and the space in a ByteRange.
	most int64

	// Facts about the outermost dictionary.
	isDict bool
	length Object // Integer or Ref
	kind   []byte // value of Type
	coded  bool   // it has a key about filters
	bulk   bool   // it is a picture, a font or a file
	wide   bool   // it has an integer of more than 32 bits
}

// skimKey is a key of a dictionary, with the position of its value.
type skimKey struct {
	name     []byte
	from, to int
}

func (s *skimmer) reset(buf []byte, base int64, last bool) {
	s.lexer = lexer{buf: buf, base: base, last: last}
	s.depth, s.keys = 0, s.keys[:0]
	s.isDict, s.length, s.kind, s.most, s.coded, s.bulk, s.wide = false, nil, nil, 0, false, false, false
}

// end is like that of the lexer, but the end of the file is a finding.
func (s *skimmer) end() error {
	if s.last {
		return slip(slipEnds)
	}
	return errShort
}

// value skims one direct object or reference.
func (s *skimmer) value() error {
	s.space()
	if s.pos >= len(s.buf) {
		return s.end()
	}
	switch c := s.buf[s.pos]; c {
	case '/':
		return s.skipName()
	case '(':
		return s.skipLiteral()
	case '[':
		return s.array()
	case '<':
		if s.pos+1 >= len(s.buf) {
			return s.end()
		}
		if s.buf[s.pos+1] == '<' {
			return s.dict()
		}
		return s.skipHex()
	default:
		if class[c] == classDelim {
			return slip(slipDelimiter)
		}
	}
	_, isRef, err := s.scalar()
	if isRef && err == nil && s.depth == 0 {
		return slip(slipReference)
	}
	return err
}

func (s *skimmer) skipName() error {
	s.pos++
	_, err := s.word()
	return err
}

func (s *skimmer) skipLiteral() error {
	if s.parenthesised() == nil {
		return s.end()
	}
	return nil
}

func (s *skimmer) skipHex() error {
	n := bytes.IndexByte(s.buf[s.pos:], '>')
	if n < 0 {
		return s.end()
	}
	for _, c := range s.buf[s.pos+1 : s.pos+n] {
		if hexValue[c] < 0 && class[c] != classSpace {
			s.soft(slipHex)
			break
		}
	}
	s.pos += n + 1
	return nil
}

// scalar skims a number, a reference or a keyword.
func (s *skimmer) scalar() (ref Ref, isRef bool, err error) {
	w, err := s.word()
	if err != nil {
		return ref, false, err
	}
	if n, ok := parseUint(w); ok && n <= math.MaxInt32 {
		return s.reference(n)
	}
	switch string(w) {
	case "true", "false", "null":
		return ref, false, nil
	}
	if !plainNumber(w) {
		s.soft(slipWord)
		return ref, false, nil
	}
	if len(w) > 9 && bytes.IndexByte(w, '.') < 0 {
		n, err := strconv.ParseInt(string(w), 10, 64)
		if err != nil || n != int64(int32(n)) && (n < 0 || n > s.most) {
			s.wide = true
		}
	}
	return ref, false, nil
}

// plainNumber reports whether a word is an optional sign, digits, and at most one point. What C
// libraries print for infinity, such as -1.#INF, is accepted too, since real producers write it.
func plainNumber(w []byte) bool {
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		w = w[1:]
	}
	if bytes.HasPrefix(w, []byte("1.#")) {
		return len(w) < 12
	}
	digits, points := 0, 0
	for _, c := range w {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.':
			points++
		default:
			return false
		}
	}
	return digits+points > 0 && points <= 1
}

// reference checks whether a number is that of a reference.
func (s *skimmer) reference(n int64) (ref Ref, isRef bool, err error) {
	gen, isRef, err := s.generation()
	if err != nil || !isRef {
		return ref, false, err
	}
	if n > limits.PDFObjects || gen > 65535 {
		s.soft(slipBounds)
		return ref, false, nil
	}
	ref = Ref{Num: int(n), Gen: int(gen)}
	return ref, true, s.ref(ref)
}

func (s *skimmer) enter() error {
	if s.depth++; s.depth > limits.PDFDepth {
		return slip(slipDeep)
	}
	return nil
}

func (s *skimmer) array() error {
	if err := s.enter(); err != nil {
		return err
	}
	s.pos++
	for {
		s.space()
		if s.pos >= len(s.buf) {
			return s.end()
		}
		if s.buf[s.pos] == ']' {
			s.pos++
			s.depth--
			return nil
		}
		if err := s.value(); err != nil {
			return err
		}
	}
}

func (s *skimmer) dict() error {
	if err := s.enter(); err != nil {
		return err
	}
	s.pos += 2
	first := len(s.keys)
	for {
		s.space()
		if s.pos+1 >= len(s.buf) {
			return s.end()
		}
		if s.buf[s.pos] == '>' {
			if s.buf[s.pos+1] != '>' {
				return slip(slipBracket)
			}
			s.pos += 2
			s.depth--
			if s.depth == 0 {
				s.isDict = true
			}
			name, many := s.repeatedKey(s.keys[first:]), len(s.keys)-first >= manyKeys
			s.keys = s.keys[:first]
			switch {
			case name != nil && many:
				s.soft(slipKeyMany, printable(name))
			case name != nil:
				s.soft(slipKeyTwice, printable(name))
			}
			return nil
		}
		if err := s.entry(); err != nil {
			return err
		}
	}
}

// manyKeys is the number of keys from which on poppler sorts a dictionary, and may then find either
// of two equal keys.
const manyKeys = 32

// entry skims a key and its value.
func (s *skimmer) entry() error {
	if s.buf[s.pos] != '/' {
		return slip(slipKey)
	}
	s.pos++
	key, err := s.word()
	if err != nil {
		return err
	}
	if bytes.IndexByte(key, '#') >= 0 {
		key = []byte(unescapeName(key))
	}
	s.space()
	if s.pos >= len(s.buf) {
		return s.end()
	}
	c, at := s.buf[s.pos], s.pos
	switch string(key) {
	case "P":
		s.most = math.MaxUint32
	case "ByteRange":
		s.most = math.MaxInt64
	default:
		s.most = 0
	}
	switch {
	case c == '>':
		return slip(slipNoValue, printable(key))
	case s.depth == 1 && c >= '0' && c <= '9' && string(key) == "Length":
		var ref Ref
		var isRef bool
		ref, isRef, err = s.scalar()
		if n, ok := parseUint(s.buf[at:s.pos]); isRef {
			s.length = ref
		} else if ok && n <= math.MaxInt32 {
			s.length = Integer(n)
		}
	case s.depth == 1 && c == '/' && string(key) == "Type":
		err = s.skipName()
		s.kind = s.buf[at+1 : s.pos]
	default:
		err = s.value()
	}
	s.most = 0
	if s.depth == 1 {
		switch string(key) {
		case "Filter", "DecodeParms", "F", "DP", "FFilter", "FDecodeParms":
			s.coded = true
		case "Subtype", "Type":
			v := string(s.buf[at:s.pos])
			s.bulk = s.bulk || v == "/Image" || v == "/EmbeddedFile"
		case "Length1", "Length2", "Length3":
			s.bulk = true
		}
	}
	s.keys = append(s.keys, skimKey{key, at, s.pos})
	return err
}

// repeatedKey finds a key that occurs twice with different values, or nil. Some producers repeat a
// key with the same value.
func (s *skimmer) repeatedKey(keys []skimKey) []byte {
	if len(keys) > 24 {
		seen := make(map[string]*skimKey, len(keys))
		for i := range keys {
			k := &keys[i]
			if was := seen[string(k.name)]; was != nil && !s.sameValue(was, k) {
				return k.name
			}
			seen[string(k.name)] = k
		}
		return nil
	}
	for i := 1; i < len(keys); i++ {
		for j := range i {
			if len(keys[i].name) == len(keys[j].name) && bytes.Equal(keys[i].name, keys[j].name) && !s.sameValue(&keys[i], &keys[j]) {
				return keys[i].name
			}
		}
	}
	return nil
}

func (s *skimmer) sameValue(a, b *skimKey) bool {
	return bytes.Equal(s.buf[a.from:a.to], s.buf[b.from:b.to])
}

// printable shortens a name from the file and makes it readable in a message.
func printable(b []byte) string {
	out := make([]byte, 0, 32)
	for _, c := range b[:min(len(b), 32)] {
		if c < 0x21 || c > 0x7e {
			c = '?'
		}
		out = append(out, c)
	}
	return string(out)
}

// slipOf is the syntax finding in an error; nil for other errors.
func slipOf(err error) *skimError {
	if err == nil {
		return nil
	}
	var f *skimError
	errors.As(err, &f)
	return f
}
