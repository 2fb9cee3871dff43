package omi

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The address file: a block for each municipality, in input order, then a directory of the blocks,
// then the footer. A search reads the directory and one block; a municipality whose rows are not
// contiguous has several.
const (
	addressFile  = "addresses"
	addressMagic = "RGTADR1\n"
	entrySize    = 4 + 8 + 4 + 4 // code, offset, length, checksum
	footSize     = 4 + 4 + 8     // checksum of the directory, entries, magic
	mostName     = 250
	mostBlock    = 64 << 20
	mostEntries  = 1 << 20
	otherName    = " / "
)

// civic is a street number with its position in micro-degrees.
type civic struct {
	number   uint32
	exponent string
	x, y     int32
}

// addressWriter writes the address file.
type addressWriter struct {
	w         io.Writer
	at        uint64
	directory []byte
	report    AddressReport
	towns     map[string]bool

	town    string
	streets map[string][]civic
	pending int // estimated size of the block
}

func newAddressWriter(w io.Writer) *addressWriter {
	return &addressWriter{w: w, towns: map[string]bool{}, streets: map[string][]civic{}}
}

func (a *addressWriter) add(town, street string, c civic) error {
	if town != a.town || a.pending > mostBlock/2 {
		if err := a.flush(); err != nil {
			return err
		}
		a.town = town
	}
	if _, known := a.streets[street]; !known {
		a.pending += len(street) + 8
	}
	a.streets[street] = append(a.streets[street], c)
	a.pending += len(c.exponent) + 16
	a.report.Numbers++
	return nil
}

// flush writes the block of a municipality.
func (a *addressWriter) flush() error {
	if len(a.streets) == 0 {
		return nil
	}
	var b []byte
	for _, street := range slices.Sorted(maps.Keys(a.streets)) {
		numbers := a.streets[street]
		slices.SortStableFunc(numbers, func(a, b civic) int {
			return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.exponent, b.exponent))
		})
		b = appendString(b, street)
		b = binary.AppendUvarint(b, uint64(len(numbers)))
		for _, c := range numbers {
			b = appendString(binary.AppendUvarint(b, uint64(c.number)), c.exponent)
			b = le.AppendUint32(le.AppendUint32(b, uint32(c.x)), uint32(c.y))
		}
	}
	if !a.towns[a.town] {
		a.towns[a.town] = true
		a.report.Municipalities++
	}
	a.report.Streets += len(a.streets)
	a.directory = append(a.directory, a.town...)
	a.directory = le.AppendUint64(a.directory, a.at)
	a.directory = le.AppendUint32(a.directory, uint32(len(b)))
	a.directory = le.AppendUint32(a.directory, crc32.ChecksumIEEE(b))
	clear(a.streets)
	a.pending = 0
	return a.write(b)
}

func (a *addressWriter) write(b []byte) error {
	n, err := a.w.Write(b)
	a.at += uint64(n)
	return err
}

func (a *addressWriter) end() error {
	if err := a.flush(); err != nil {
		return err
	}
	foot := le.AppendUint32(nil, crc32.ChecksumIEEE(a.directory))
	foot = append(le.AppendUint32(foot, uint32(len(a.directory)/entrySize)), addressMagic...)
	return errors.Join(a.write(a.directory), a.write(foot))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Address is a street number found by a search.
type Address struct {
	Street   string // as published
	Number   string // with its exponent: "10/B"; empty if none was asked for
	Lat, Lng float64
	Exact    bool // the requested number, as opposed to one near it
}

// errDamaged: an address file is corrupt.
var errDamaged = errors.New("omi: the file of addresses is damaged: import it again")

// HasAddresses reports whether addresses were imported.
func (l *Library) HasAddresses() bool {
	_, err := os.Stat(filepath.Join(l.dir, addressFile))
	return err == nil
}

// mostFound bounds the streets in an answer.
const mostFound = 20

// Addresses finds a street, with an optional number, in a municipality. The best matches come
// first. Nothing is kept in memory between searches.
func (l *Library) Addresses(cadastral, sought string) ([]Address, error) {
	f, err := os.Open(filepath.Join(l.dir, addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("omi: open addresses: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("omi: open addresses: %w", err)
	}
	return findAddresses(f, info.Size(), cadastral, sought)
}

func findAddresses(f io.ReaderAt, size int64, cadastral, sought string) ([]Address, error) {
	want := parseAddress(sought)
	if len(want.words) == 0 {
		return nil, nil
	}
	blocks, err := blocksOf(f, size, cadastral)
	if err != nil {
		return nil, err
	}
	var hits []hit
	for _, b := range blocks {
		if hits, err = want.search(b, hits); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.Street, b.Street)) })
	var found []Address
	for _, h := range hits[:min(len(hits), mostFound)] {
		found = append(found, h.Address)
	}
	return found, nil
}

// blocksOf reads the blocks of a municipality.
func blocksOf(f io.ReaderAt, size int64, cadastral string) (blocks [][]byte, err error) {
	var foot [footSize]byte
	if size < footSize {
		return nil, errDamaged
	}
	if _, err := f.ReadAt(foot[:], size-footSize); err != nil {
		return nil, fmt.Errorf("omi: read addresses: %w", err)
	}
	n := int64(le.Uint32(foot[4:]))
	start := size - footSize - n*entrySize
	if string(foot[8:]) != addressMagic || n > mostEntries || start < 0 {
		return nil, errDamaged
	}
	directory := make([]byte, n*entrySize)
	if _, err := f.ReadAt(directory, start); err != nil && err != io.EOF {
		return nil, fmt.Errorf("omi: read addresses: %w", err)
	}
	if crc32.ChecksumIEEE(directory) != le.Uint32(foot[:]) {
		return nil, errDamaged
	}
	for ; len(directory) > 0; directory = directory[entrySize:] {
		if string(directory[:4]) != cadastral {
			continue
		}
		at, length := le.Uint64(directory[4:]), le.Uint32(directory[12:])
		if length > mostBlock || at > uint64(start) || at+uint64(length) > uint64(start) {
			return nil, errDamaged
		}
		b := make([]byte, length)
		if _, err := f.ReadAt(b, int64(at)); err != nil && err != io.EOF {
			return nil, fmt.Errorf("omi: read addresses: %w", err)
		}
		if crc32.ChecksumIEEE(b) != le.Uint32(directory[16:]) {
			return nil, errDamaged
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// wanted is the street and number to search for.
type wanted struct {
	kind     string // VIA, PIAZZA; empty if not given
	words    []string
	numbered bool
	number   uint32
	exponent string
}

// shortKinds are common abbreviations of kinds of streets.
var shortKinds = map[string]string{
	"V": "VIA", "VLE": "VIALE", "PZA": "PIAZZA", "PZZA": "PIAZZA", "P": "PIAZZA", "PLE": "PIAZZALE", "C": "CORSO", "CSO": "CORSO", "LGO": "LARGO", "STR": "STRADA", "VIC": "VICOLO", "LOC": "LOCALITA", "FRAZ": "FRAZIONE",
}

// parseAddress parses "Via Torino 10/B": a number at the end is the street number, and a postal
// code is ignored.
func parseAddress(sought string) (w wanted) {
	fields := slices.DeleteFunc(strings.Fields(Plain(sought)), func(f string) bool { return len(f) == 5 && isDigits(f) })
	if n := len(fields); n > 1 && (len(fields[n-1]) == 1 && unicode.IsLetter(rune(fields[n-1][0])) || fields[n-1] == "BIS" || fields[n-1] == "TER") && isDigits(fields[n-2]) {
		w.exponent, fields = fields[n-1], fields[:n-1]
	}
	if n := len(fields); n > 1 {
		digits := strings.TrimRightFunc(fields[n-1], unicode.IsLetter)
		if v, err := strconv.ParseUint(digits, 10, 31); err == nil && isDigits(digits) {
			w.numbered, w.number, w.exponent = true, uint32(v), cmp.Or(w.exponent, fields[n-1][len(digits):])
			fields = fields[:n-1]
		}
	}
	w.kind, w.words = streetWords(fields)
	return w
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// streetWords returns the kind of a street and the words that identify it.
func streetWords(fields []string) (kind string, words []string) {
	for i, f := range fields {
		switch {
		case i == 0 && (general[f] || shortKinds[f] != ""):
			kind = cmp.Or(shortKinds[f], f)
		case fillers[f] || f == "N" || i == 1 && (f == "ZZA" || f == "LE" || f == "SO"):
		default:
			words = append(words, f)
		}
	}
	return kind, words
}

type hit struct {
	Address
	rank int
}

// search adds the matching streets of a block.
func (w wanted) search(b []byte, hits []hit) ([]hit, error) {
	r := &blockReader{b: b}
	for len(r.b) > 0 && !r.bad {
		street := r.text()
		n := r.uvarint()
		rank, fits := w.rank(street)
		best, place := civic{}, -1
		for i := uint64(0); i < n && !r.bad; i++ {
			c := civic{number: uint32(r.uvarint()), exponent: r.text()}
			c.x, c.y = int32(r.uint32()), int32(r.uint32())
			if !fits || r.bad {
				continue
			}
			if p := w.distance(c, i, n); place < 0 || p < place {
				best, place = c, p
			}
		}
		if fits && place >= 0 && !r.bad {
			if rank *= 2; w.numbered && place != 0 { // of two equal streets, prefer the one with the number
				rank++
			}
			a := Address{Street: street, Lat: float64(best.y) / 1e6, Lng: float64(best.x) / 1e6, Exact: !w.numbered || place == 0}
			if w.numbered {
				a.Number = strings.TrimSuffix(strconv.FormatUint(uint64(best.number), 10)+"/"+best.exponent, "/")
			}
			hits = append(hits, hit{a, rank})
		}
	}
	if r.bad {
		return hits, errDamaged
	}
	return hits, nil
}

// rank says how well a street matches: first without missing words, then with the right kind, then
// with few other words.
func (w wanted) rank(street string) (rank int, fits bool) {
	best := -1
	for name := range strings.SplitSeq(street, otherName) {
		kind, words := streetWords(strings.Fields(Plain(name)))
		all := true
		for _, want := range w.words {
			all = all && slices.ContainsFunc(words, func(has string) bool {
				return has == want || len(want) == 1 && strings.HasPrefix(has, want) || len(has) == 1 && strings.HasPrefix(want, has)
			})
		}
		if !all {
			continue
		}
		r := 2 * max(0, len(words)-len(w.words))
		if w.kind != "" && kind != w.kind {
			r++
		}
		if best < 0 || r < best {
			best = r
		}
	}
	return best, best >= 0
}

// distance is how far a number is from the requested one, 0 being equal. Without a number it is the
// distance from the middle of the street.
func (w wanted) distance(c civic, i, n uint64) int {
	if !w.numbered {
		return int(max(i, n/2) - min(i, n/2))
	}
	d := int(max(c.number, w.number)-min(c.number, w.number)) * 4
	if d%8 != 0 {
		d += 16 // on the other side of the street
	}
	if c.exponent != w.exponent {
		d++
	}
	return d
}

// blockReader reads a block written by flush.
type blockReader struct {
	b   []byte
	bad bool
}

func (r *blockReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *blockReader) text() string {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *blockReader) uint32() uint32 {
	if len(r.b) < 4 {
		r.bad = true
		return 0
	}
	v := le.Uint32(r.b)
	r.b = r.b[4:]
	return v
}
