package pdf

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"context"
	base85 "encoding/ascii85"
	"encoding/hex"
	"io"
	"strings"
	"testing"
)

// TestOddData: what other readers may decode to something else is named, and
// what the standard says is not.
func TestOddData(t *testing.T) {
	z := deflate([]byte("some data"))
	rows := deflate([]byte{0, 1, 2, 3, 2, 1, 1, 1})
	lzwData := string([]byte{0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01})
	for _, c := range []struct {
		name, keys, data, odd string
	}{
		{"none", "", "x", ""},
		{"Flate", "/Filter/FlateDecode", z, ""},
		{"in an array", "/Filter[/FlateDecode]/DecodeParms[null]", z, ""},
		{"empty parameters", "/Filter[/FlateDecode]/DecodeParms<<>>", z, ""},
		{"a line end", "/Filter/FlateDecode", z + "\r\n", ""},
		{"bytes behind", "/Filter/FlateDecode", z + "x", oddTail},
		{"no checksum", "/Filter/FlateDecode", z[:len(z)-4], oddEnd},
		{"wrong checksum", "/Filter/FlateDecode", z[:len(z)-1] + "x", oddChecksum},
		{"two line ends", "/Filter/FlateDecode", z + "\n\n\n", oddTail},
		{"short name", "/Filter/Fl", z, oddFilter},
		{"short key", "/F/FlateDecode", z, "the key /F"},
		{"file", "/F(x)", z, "the key /F"},
		{"rows", "/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 3>>", rows, ""},
		{"cut row", "/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 4>>", rows, oddRow},
		{"cut row and predictor", "/Filter/FlateDecode/DecodeParms<</Predictor 3/Columns 4>>", rows, "the parameter /Predictor"},
		{"real", "/Filter/FlateDecode/DecodeParms<</Predictor 12.0/Columns 3>>", rows, "the parameter /Predictor"},
		{"three bits", "/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 8/BitsPerComponent 3>>", rows, "the parameter /BitsPerComponent"},
		{"unknown parameter", "/Filter/FlateDecode/DecodeParms<</Rows 1>>", z, "the parameter /Rows"},
		{"shape", "/Filter[/FlateDecode]/DecodeParms<</Predictor 12/Columns 3>>", rows, "parameters that do not match its filters"},
		{"other shape", "/Filter/FlateDecode/DecodeParms[<</Predictor 12/Columns 3>>]", rows, "parameters that do not match its filters"},
		{"no filter", "/DecodeParms<</Predictor 12/Columns 3>>", "x", "parameters that do not match its filters"},
		{"LZW", "/Filter/LZWDecode", lzwData, ""},
		{"early", "/Filter/LZWDecode/DecodeParms<</EarlyChange 2>>", lzwData, "the parameter /EarlyChange"},
		{"LZW behind", "/Filter/LZWDecode", lzwData + "x", oddTail},
		{"LZW cut", "/Filter/LZWDecode", lzwData[:7], oddEnd},
		{"LZW start", "/Filter/LZWDecode", "\x30\x98\x08", oddClear},
		{"ASCII85", "/Filter/ASCII85Decode", "87cURD]i,\"Ebo80~>", ""},
		{"ASCII85 rest", "/Filter/ASCII85Decode", "87cURDZ~>", ""},
		{"ASCII85 other rest", "/Filter/ASCII85Decode", "87cURD[~>", "a last group that is not whole"},
		{"ASCII85 one", "/Filter/ASCII85Decode", "87cUR8~>", "a last group that is not whole"},
		{"ASCII85 large", "/Filter/ASCII85Decode", "uuuuu~>", "a group that is no number of four bytes"},
		{"ASCII85 mark", "/Filter/ASCII85Decode", "<~87cUR~>", "a mark before its data"},
		{"ASCII85 end", "/Filter/ASCII85Decode", "87cUR", oddEnd},
		{"hexadecimal", "/Filter/ASCIIHexDecode", "61 62>", ""},
		{"half", "/Filter/ASCIIHexDecode", "616>", oddHalf},
		{"hexadecimal end", "/Filter/ASCIIHexDecode", "61", oddEnd},
		{"hexadecimal behind", "/Filter/ASCIIHexDecode", "61>62>", oddTail},
		{"runs", "/Filter/RunLengthDecode", "\x02abc\xfex\x80", ""},
		{"runs without end", "/Filter/RunLengthDecode", "\x02abc", oddEnd},
		{"runs behind", "/Filter/RunLengthDecode", "\x02abc\x80xyz", oddTail},
		{"crypt", "/Filter[/Crypt]/DecodeParms[<</Name/Identity>>]", "x", oddCrypt},
	} {
		d := &Document{work: newWork(context.Background())}
		p := &parser{lexer: lexer{buf: []byte("<<" + c.keys + ">>"), last: true}, work: d.work, limit: parserStep}
		o, err := p.object()
		if err != nil {
			t.Fatal(err)
		}
		s := &Stream{Dict: o.(*Dict), Data: []byte(c.data)}
		_, odd, err := d.decode(s, nil)
		if err != nil || odd != c.odd {
			t.Errorf("%s: %q, %v; want %q", c.name, odd, err, c.odd)
		}
		if _, err := d.Strict(s); (err == nil) != (c.odd == "") {
			t.Errorf("%s: Strict: %v", c.name, err)
		}
	}
}

// FuzzStrict compares the filters with decoders that others wrote: where
// nothing is odd they give the same bytes.
func FuzzStrict(f *testing.F) {
	f.Add(byte(0), []byte(deflate([]byte("some data some data"))))
	f.Add(byte(1), []byte{0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01})
	f.Add(byte(2), []byte("61 62>"))
	f.Add(byte(3), []byte("87cURD]i,\"Ebo80~>"))
	f.Add(byte(4), []byte("\x02abc\xfex\x80"))
	f.Add(byte(5), []byte{0, 1, 2, 3, 2, 1, 1, 1, 4, 7, 7, 7})
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		d := &Document{work: newWork(t.Context())}
		name := []Name{"FlateDecode", "LZWDecode", "ASCIIHexDecode", "ASCII85Decode", "RunLengthDecode", "FlateDecode"}[kind%6]
		var parms *Dict
		switch kind % 6 {
		case 1:
			parms = NewDict(Name("EarlyChange"), Integer(0))
		case 5:
			parms = NewDict(Name("Predictor"), Integer(15), Name("Columns"), Integer(kind)/6+1)
			data = []byte(deflate(data))
		}
		got, odd, err := d.filter(name, parms, bytes.Clone(data))
		if err != nil || odd != "" {
			return
		}
		var want []byte
		switch kind % 6 {
		case 0:
			var r io.ReadCloser
			if r, err = zlib.NewReader(bytes.NewReader(data)); err == nil {
				want, err = io.ReadAll(r)
			}
		case 1:
			want, err = io.ReadAll(lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8))
		case 2:
			text, _, _ := bytes.Cut(data, []byte(">"))
			want, err = hex.DecodeString(string(bytes.Join(bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\x00\t\n\f\r ", r) }), nil)))
		case 3:
			text, _, _ := bytes.Cut(data, []byte("~"))
			want = make([]byte, 4*len(text)+4)
			var n int
			n, _, err = base85.Decode(want, text, true)
			want = want[:n]
		case 4: // the end is where it should be
			if i := bytes.LastIndexByte(data, 128); i < 0 || len(bytes.Trim(data[i+1:], "\r\n")) > 0 {
				t.Errorf("no end in %x", data)
			}
			return
		case 5:
			if len(got)%(int(kind)/6+1) != 0 {
				t.Errorf("%d bytes in rows of %d", len(got), kind/6+1)
			}
			return
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of %x: %x; others have %x, %v", name, data, got, want, err)
		}
	})
}

// TestOddPadding: readers cut a padding that is none, or leave it.
func TestOddPadding(t *testing.T) {
	c := &crypt{key: []byte("0123456789abcdef"), stm: methodAES128}
	ref := Ref{Num: 4}
	sealed, err := c.seal(c.stm, ref, []byte("BT (one) Tj ET and more of it"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []bool{false, true} {
		file := append([]byte("%PDF-1.7\n"), sealed...)
		if bad {
			file[len(file)-17] ^= 0x80 // the last byte in clear
		}
		d := &Document{src: bytes.NewReader(file), size: int64(len(file)), work: newWork(t.Context()), crypt: c}
		s := &Stream{Dict: NewDict(), ref: ref, span: Span{9, int64(len(file))}}
		if _, err := d.Strict(s); (err != nil) != bad {
			t.Errorf("bad padding %v: %v", bad, err)
		}
		if _, err := d.Data(s); err != nil {
			t.Error(err)
		}
		s.Dict.Set("Type", Name("XRef"))
		if _, err := d.Strict(s); err == nil {
			t.Error("the encryption of a stream that calls itself a cross-reference stream is taken for plain")
		}
	}
}
