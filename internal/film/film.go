// Package film reads the metadata that shows whether a film can be played: its container, a track
// with pictures, and its duration. It supports what telephones and browsers record: ISO base media
// (ISO/IEC 14496-12: MP4, QuickTime, 3GPP, also fragmented) and Matroska (RFC 9559: WebM, also
// truncated). Pictures are not decoded.
package film

import (
	"bufio"
	"errors"
	"io"
	"time"

	"rogito.dev/rogito/ades"
)

// Info is the metadata of a film.
type Info struct {
	Format   string // mp4, webm
	Duration time.Duration
}

// Limits of what is read: a film of minutes has some thousand elements.
const (
	maxElements = 1 << 20
	maxTables   = 32 << 20 // bytes of a moov or moof box
)

// Read reads a film to its end, once and in order. What is no film, has no pictures
// or does not last is a *ades.MalformedError.
func Read(r io.Reader) (Info, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(12)
	if err != nil && !errors.Is(err, io.EOF) {
		return Info{}, err
	}
	var s scan
	switch {
	case len(head) >= 4 && string(head[:4]) == "\x1a\x45\xdf\xa3":
		m := &matroska{r: b, scale: 1_000_000}
		err = m.read()
		s = m.scan
		s.format = "webm"
	case len(head) == 12 && isBox(string(head[4:8])):
		m := &media{r: b, tracks: map[uint32]*track{}}
		err = m.read()
		s = m.scan
		s.format = "mp4"
	default:
		return Info{}, malformed("it is neither ISO base media nor Matroska")
	}
	switch {
	case err != nil:
		return Info{}, err
	case !s.pictures:
		return Info{}, malformed("it has no track of pictures")
	case s.bytes == 0:
		return Info{}, malformed("there is nothing in its track")
	case s.length <= 0:
		return Info{}, malformed("it has no duration")
	}
	return Info{s.format, s.length}, nil
}

// scan is what a reader has found.
type scan struct {
	format   string
	pictures bool
	bytes    int64 // of pictures and sound
	length   time.Duration
}

func malformed(text string, args ...any) error { return ades.Malformed("film", "", text, args...) }

// cut makes an end in the middle a fault of the input; what the reader says
// otherwise stays.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("it ends in the middle")
	}
	return err
}

// skip reads over bytes.
func skip(r io.Reader, n int64) error {
	got, err := io.CopyN(io.Discard, r, n)
	if got < n {
		return cut(err)
	}
	return err
}

// seconds is a time in units of which a scale are a second.
func seconds(units, scale uint64) time.Duration {
	const day = 24 * 3600
	if scale == 0 || units == 0 {
		return 0
	}
	if units/scale >= day {
		return day * time.Second // longer than anybody films
	}
	return max(1, time.Duration(units/scale)*time.Second+time.Duration(units%scale*1000/scale)*time.Millisecond)
}
