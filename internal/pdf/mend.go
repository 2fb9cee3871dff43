package pdf

import (
	"errors"

	"rogito.dev/rogito/internal/limits"
)

// bulky reports whether a stream is a picture, a font or a file, which draws nothing itself.
func bulky(d *Dict) bool {
	kind, sub := d.Get("Type"), d.Get("Subtype")
	return kind == Name("Image") || sub == Name("Image") || kind == Name("EmbeddedFile") || sub == Name("EmbeddedFile") ||
		d.Has("Length1") || d.Has("Length2") || d.Has("Length3")
}

// mending records which streams of a rewritten document need mending.
type mending struct {
	known   map[Ref]bool
	decoded int64 // bytes decoded to determine that
}

// mostJudged bounds them to about two seconds.
const mostJudged = limits.PDFInflate

func (d *Document) needsMending(s *Stream) (bool, error) {
	need, known := d.mending.known[s.ref]
	size := s.span.End - s.span.Start
	if known || d.mending.decoded >= mostJudged || size > limits.PDFStream/4 {
		return need, nil
	}
	odd, cost, err := d.judgeStream(s, bulky(s.Dict), limits.PDFStream)
	if interrupted(err) {
		return false, err
	}
	d.mending.decoded += max(cost, size)
	if d.mending.known == nil {
		d.mending.known = map[Ref]bool{}
	}
	d.mending.known[s.ref] = odd != ""
	return odd != "", nil
}

// Mended rewrites a stream that readers decode differently, so that all decode it alike: to what
// precedes the damage, which is what most of them show; to nothing if they draw nothing; and
// unchanged after a filter that is not in the standard. For any other stream Mended is nil, and it
// is copied unchanged. It is for documents opened with Lenient.
func (d *Document) Mended(s *Stream) (*Stream, error) {
	switch s.Dict.Get("F").(type) {
	case nil, Name, Array:
	default:
		return nil, nil // its data is in another file
	}
	if need, err := d.needsMending(s); err != nil || !need {
		return nil, err
	}
	names, parms, err := d.filters(s.Dict)
	if err != nil {
		return nil, wrapMalformed("stream "+s.ref.String(), err)
	}
	data, done, _, err := d.unfilter(s, d.crypt)
	dict := s.Dict.Clone()
	for _, k := range []Name{"Filter", "DecodeParms", "F", "DP", "FFilter", "FDecodeParms"} {
		dict.Delete(k)
	}
	switch {
	case interrupted(err) || errors.Is(err, limits.ErrBudget):
		return nil, err
	case err != nil && !errors.Is(err, errUnsupported):
		return nil, nil // its encoding parameters are out of bounds
	case err != nil && picture(names[done]) && !bulky(dict) && !dict.Has("Width"):
		data = nil
	case err != nil && picture(names[done]): // the picture filter and those after it are kept
		var rest, with Array
		for i := done; i < len(names); i++ {
			rest = append(rest, names[i])
			var p Object
			if parms[i] != nil {
				p = parms[i]
			}
			with = append(with, p)
		}
		dict.Set("Filter", rest)
		dict.Set("DecodeParms", with)
		return &Stream{Dict: dict, Data: data}, nil
	}
	return Compressed(dict, data), nil
}

// picture reports whether a filter decodes pictures.
func picture(filter Name) bool {
	switch filter {
	case "DCTDecode", "JPXDecode", "JBIG2Decode", "CCITTFaxDecode", "CCF", "DCT":
		return true
	}
	return false
}
