package pdf

import (
	"errors"
	"slices"

	"rogito.dev/rogito/internal/limits"
)

// Differences in how readers interpret the encoding of a stream (ISO 32000-2, 7.3.8.2 and 7.4).
// Problems of the data itself are found while decoding, in filter.go and lzw.go.

// What real producers write. Streams encoded after signing must have none of it; in untouched ones
// most of it is no reason for doubt, since the usual readers show the same. Poppler ignores an
// incomplete row, and PDFium decodes nothing behind a crypt filter.
const (
	oddTail     = "bytes behind the end of its data"
	oddEnd      = "data without an end"
	oddChecksum = "a wrong checksum"
	oddRow      = "a last row that is not whole"
	oddHalf     = "half a byte"
	oddClear    = "data that do not begin with a clear code"
	oddCrypt    = "a crypt filter of its own"
	oddFilter   = "the short name of a filter"
	oddDamaged  = "damaged data"
	oddPicture  = "a filter of pictures"
)

// grave ranks oddities: 0 is the same for all readers, 1 the same except for the last row of a
// picture, 2 is different.
func grave(odd string) int {
	switch odd {
	case "", oddTail, oddEnd, oddChecksum, oddHalf, oddClear, oddFilter:
		return 0
	case oddRow:
		return 1
	}
	return 2
}

// odder is the first of the gravest.
func odder(list ...string) string {
	out := ""
	for _, odd := range list {
		if odd != "" && (out == "" || grave(odd) > grave(out)) {
			out = odd
		}
	}
	return out
}

// oddFilters is what is odd about the filters of a stream. Each must be an unabbreviated name, its
// parameters must have the same structure, and the data must be in the file.
func (d *Document) oddFilters(dict *Dict) string {
	if len(dict.Entries) == 0 {
		return ""
	}
	for _, key := range []Name{"F", "DP", "FFilter", "FDecodeParms"} {
		if dict.Has(key) {
			return "the key /" + string(key)
		}
	}
	filter, err1 := d.Resolve(dict.Get("Filter"))
	parms, err2 := d.Resolve(dict.Get("DecodeParms"))
	if err1 != nil || err2 != nil {
		return "filters that cannot be read"
	}
	filters, several := filter.(Array)
	if !several && filter != nil {
		filters = Array{filter}
	}
	short := ""
	for _, f := range filters {
		switch d.Name(f) {
		case "FlateDecode", "LZWDecode", "ASCIIHexDecode", "ASCII85Decode", "RunLengthDecode", "Crypt":
		case "DCTDecode", "JPXDecode", "JBIG2Decode", "CCITTFaxDecode":
		case "Fl", "LZW", "AHx", "A85", "RL", "CCF", "DCT":
			short = oddFilter
		default: // some readers use the data undecoded, some use none
			return "a filter that is not one of the standard's"
		}
	}
	// Many readers ignore a dictionary with an array of filters, and an array with a single name.
	switch p := parms.(type) {
	case nil:
	case *Dict:
		if (several || filter == nil) && len(p.Entries) > 0 {
			return "parameters that do not match its filters"
		}
	case Array:
		for i, o := range p {
			o, err := d.Resolve(o)
			dict, ok := o.(*Dict)
			if err != nil || !ok && o != nil {
				return "parameters that are no dictionary"
			}
			if dict != nil && len(dict.Entries) > 0 && (!several || i >= len(filters)) {
				return "parameters that do not match its filters"
			}
		}
	default:
		return "parameters that are no dictionary"
	}
	return short
}

// oddParameters is what is odd about the parameters of a filter. Only those of FlateDecode and
// LZWDecode (ISO 32000-2, table 8) are allowed, within their bounds.
func (d *Document) oddParameters(parms *Dict) string {
	if parms == nil {
		return ""
	}
	for _, e := range parms.Entries {
		v, err := d.Resolve(e.Value)
		if err == nil && v == nil {
			continue
		}
		n, whole := v.(Integer)
		ok := false
		switch e.Key {
		case "Predictor":
			ok = n == 1 || n == 2 || n >= 10 && n <= 15
		case "Colors":
			ok = n >= 1 && n <= 32
		case "BitsPerComponent":
			ok = n == 1 || n == 2 || n == 4 || n == 8 || n == 16
		case "Columns":
			ok = n >= 1 && n < 1<<24
		case "EarlyChange":
			ok = n == 0 || n == 1
		}
		if err != nil || !whole || !ok {
			return "the parameter /" + printable([]byte(e.Key))
		}
	}
	return ""
}

// oddIntegers names a key whose value is not an integer.
func (d *Document) oddIntegers(dict *Dict, keys ...Name) string {
	for _, key := range keys {
		v, err := d.Resolve(dict.Get(key))
		if _, ok := v.(Integer); err != nil || !ok {
			return "an odd /" + string(key)
		}
	}
	return ""
}

// oddSection is what is odd about the dictionary of a cross-reference stream. It must not contain
// references, which no reader can resolve yet.
func oddSection(dict *Dict) string {
	for _, key := range []Name{"Filter", "DecodeParms", "Index", "W", "Size", "Length"} {
		if holdsReference(dict.Get(key)) {
			return "a reference in /" + string(key)
		}
	}
	if w, _ := dict.Get("W").(Array); len(w) != 3 {
		return "an odd /W"
	}
	if index := dict.Get("Index"); index != nil {
		if a, ok := index.(Array); !ok || len(a)%2 != 0 {
			return "an odd /Index"
		}
	}
	return ""
}

func holdsReference(o Object) bool {
	switch v := o.(type) {
	case Ref:
		return true
	case Array:
		return slices.ContainsFunc(v, holdsReference)
	case *Dict:
		return slices.ContainsFunc(v.Entries, func(e Entry) bool { return holdsReference(e.Value) })
	}
	return false
}

// oddlySealed is what is odd about the encryption of a stream: readers differ in whether they
// remove invalid padding, and whether a stream of Type XRef is encrypted.
func (d *Document) oddlySealed(s *Stream) string {
	if d.crypt == nil || s.span.End == 0 {
		return ""
	}
	if kind := s.Dict.Get("Type"); kind == Name("XRef") || holdsReference(kind) || holdsReference(s.Dict.Get("Filter")) {
		return "an encryption that depends on its Type"
	}
	m := d.crypt.streamMethod(s.Dict)
	if m == methodIdentity || m == methodRC4 {
		return ""
	}
	sealed, err := d.encoded(s, nil)
	if err != nil || len(sealed) == 0 {
		return ""
	}
	open, err := d.crypt.stream(sealed, s)
	if pad := len(sealed) - 16 - len(open); err != nil || pad < 1 || pad > 16 {
		return "a padding of its encryption that is none"
	}
	return ""
}

// auditDrawn and auditBulk bound what the audit decodes: of streams that draw, and of pictures,
// fonts and files.
const (
	auditDrawn = 64 << 20
	auditBulk  = 16 << 20
)

// encoding checks the encoding of a stream that is neither an object stream nor a cross-reference
// stream: every reader must decode it to the same bytes. If its Length is wrong, start is 0, and
// the data ends where the parser determines.
func (a *auditor) encoding(p place, bulk bool, start, n int64) error {
	left := &a.drawn
	if bulk {
		left = &a.bulk
	}
	if *left <= 0 || n > limits.PDFStream/4 {
		return nil
	}
	d := a.doc
	o, err := d.indirect(p.offset, Ref{int(p.num), int(p.gen)})
	s, ok := o.(*Stream)
	if err != nil || !ok {
		return nil // problems of an object are reported where it is read
	}
	if holdsReference(s.Dict.Get("Filter")) || holdsReference(s.Dict.Get("DecodeParms")) {
		if d, err = a.as(int(p.rev)); err != nil {
			return err
		}
	}
	if start > 0 {
		s.span = Span{start, start + n}
	} else if n = s.span.End - s.span.Start; n > limits.PDFStream/4 {
		return nil
	}
	odd, cost, err := d.judgeStream(s, bulk, *left)
	*left -= max(cost, n)
	if interrupted(err) {
		return err
	}
	if errors.Is(err, errTooLarge) || errors.Is(err, limits.ErrBudget) {
		*left = 0
	}
	if odd != "" && a.reachable(int(p.num), int(p.rev)) {
		a.noteOf(int(p.num), int(p.rev), a.until-1, placeName(p), slipCoding, odd)
	}
	return nil
}

// judgeStream returns what readers decode differently in a stream, or "", and how many bytes were
// decoded. At most most bytes are. The document's own limits are not charged: the caller has its
// own.
func (d *Document) judgeStream(s *Stream, bulk bool, most int64) (odd string, cost int64, err error) {
	// A filter behind another needs the output of that one.
	filter := first(s.Dict, "Filter", "F")
	chain, _ := filter.(Array)
	w := d.work
	parsed, decoded := w.parsed, w.decoded
	w.most, w.judged = most, len(chain) < 2 && !holdsReference(filter)
	_, odd, err = d.decode(s, d.crypt)
	w.most, w.judged = 0, false
	cost = w.decoded - decoded
	w.parsed, w.decoded = parsed, decoded
	switch {
	case interrupted(err), errors.Is(err, errTooLarge), errors.Is(err, limits.ErrBudget):
	case errors.Is(err, errUnsupported):
		if !bulk && !s.Dict.Has("Width") { // a thumbnail has no other sign of being a picture
			odd = odder(odd, oddPicture)
		}
	case err != nil && !bulk && s.span.End > s.span.Start:
		odd = odder(odd, oddDamaged)
	}
	if rank := grave(odd); rank == 0 || rank == 1 && bulk {
		odd = ""
	}
	return odd, cost, err
}
