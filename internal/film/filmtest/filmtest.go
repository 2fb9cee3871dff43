// Package filmtest makes films for tests: they have the tables of one that can be
// played, and nothing to see.
package filmtest

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
)

func box(name string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	out := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(append(out, name...), body...)
}

func words(all ...uint32) (out []byte) {
	for _, w := range all {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	return out
}

func movie(handler string, length uint32, more ...[]byte) []byte {
	trak := box("trak", box("tkhd", words(0, 0, 0, 1, 0, length)), box("mdia",
		box("mdhd", words(0, 0, 0, 1000, length, 0)), box("hdlr", words(0, 0), []byte(handler), make([]byte, 13))))
	return box("moov", box("mvhd", words(0, 0, 0, 1000, length)), trak, bytes.Join(more, nil))
}

// MP4 is a film of some thousandths of a second, with a track of a kind ("vide",
// "soun"). What follows it, as with telephones, are its tables.
func MP4(handler string, length uint32) []byte {
	return bytes.Join([][]byte{box("ftyp", []byte("isom"), words(512), []byte("isommp42")), box("mdat", bytes.Repeat([]byte{1}, 500)), movie(handler, length)}, nil)
}

// Holding is a film with something else in it.
func Holding(content []byte) []byte {
	return append(MP4("vide", 4200), box("free", content)...)
}

// Fragments is a film as a browser records it: its length is in its fragments.
func Fragments(samples uint32) []byte {
	init := movie("vide", 0, box("mvex", box("trex", words(0, 1, 1, 40, 0, 0))))
	out := bytes.Join([][]byte{box("ftyp", []byte("iso5"), words(512)), init}, nil)
	for i := range uint32(2) {
		out = append(out, box("moof", box("mfhd", words(0, i+1)), box("traf", box("tfhd", words(0x20000, 1)), box("tfdt", words(0, i*samples*40)), box("trun", words(0, samples))))...)
		out = append(out, box("mdat", bytes.Repeat([]byte{1}, 100))...)
	}
	return out
}

func element(id uint32, body []byte) []byte {
	var out []byte
	for shift := 24; shift >= 0; shift -= 8 {
		if b := byte(id >> shift); b != 0 || len(out) > 0 {
			out = append(out, b)
		}
	}
	size := binary.BigEndian.AppendUint32(nil, 0x10000000|uint32(len(body)))
	return append(append(out, size...), body...)
}

// WebM is a film as a browser records it: neither its length nor the end of its
// parts is said. Frames are 40 ms apart.
func WebM(frames int) []byte {
	head := element(0x1A45DFA3, element(0x4282, []byte("webm")))
	tracks := element(0x1654AE6B, element(0xAE, bytes.Join([][]byte{element(0xD7, []byte{1}), element(0x83, []byte{1})}, nil)))
	out := bytes.Join([][]byte{
		head,
		{0x18, 0x53, 0x80, 0x67, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		element(0x1549A966, element(0x2AD7B1, []byte{0x0f, 0x42, 0x40})), tracks,
		{0x1F, 0x43, 0xB6, 0x75, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		element(0xE7, []byte{0}),
	}, nil)
	for i := range frames {
		at := binary.BigEndian.AppendUint16([]byte{0x81}, uint16(40*i))
		out = append(out, element(0xA3, append(append(at, 0x80), 1, 2, 3, 4))...)
	}
	return out
}

// Photo is a picture that can be decoded.
func Photo() []byte {
	img := image.NewGray(image.Rect(0, 0, 160, 100))
	for i := range img.Pix {
		img.SetGray(i%160, i/160, color.Gray{Y: uint8(i)})
	}
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, nil) // a buffer takes it all
	return b.Bytes()
}
