package audit

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
)

// Half of what is new in the text of an event is digests and ids in hexadecimal,
// and most of the rest is signature values in base64. condense writes such runs as
// the bytes they replace, behind a mark that no UTF-8 has, and how many they are:
// 450 bytes less for a signature, for 10 µs.
const (
	markBase64 = 0xfe
	markHex    = 0xff
	leastHex   = 16
	leastBase  = 32
)

// alphabet says of each byte whether it is of base64 (1), of lower-case hexadecimal
// too (3), or a mark (4).
var alphabet = func() (is [256]byte) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		is[c] = 1
	}
	for _, c := range "0123456789abcdef" {
		is[c] = 3
	}
	is[markBase64], is[markHex] = 4, 4
	return is
}()

// condense is false for a text that holds a mark.
func condense(text []byte) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	done := 0 // up to here
	for i := 0; i < len(text); {
		of := alphabet[text[i]]
		if of == 4 {
			return nil, false
		}
		if of == 0 {
			i++
			continue
		}
		begin, both := i, byte(3)
		for ; i < len(text) && alphabet[text[i]]&1 != 0; i++ {
			both &= alphabet[text[i]]
		}
		end := i
		switch {
		case both == 3 && end-begin >= leastHex:
			end -= (end - begin) % 2
			out = append(out, text[done:begin]...)
			out = binary.AppendUvarint(append(out, markHex), uint64(end-begin)/2)
			out, _ = hex.AppendDecode(out, text[begin:end])
			done = end
		case end-begin >= leastBase:
			for end < len(text) && text[end] == '=' && (end-begin)%4 != 0 {
				end++
			}
			raw, err := base64.StdEncoding.Strict().DecodeString(string(text[begin:end]))
			if err != nil {
				continue
			}
			out = append(out, text[done:begin]...)
			out = append(binary.AppendUvarint(append(out, markBase64), uint64(len(raw))), raw...)
			done, i = end, end
		}
	}
	return append(out, text[done:]...), true
}

var errCondensed = errors.New("audit: a condensed text ends too soon")

// expand is the text that was condensed.
func expand(small []byte) ([]byte, error) {
	out := make([]byte, 0, 2*len(small))
	for {
		i := slices.IndexFunc(small, func(c byte) bool { return c >= markBase64 })
		if i < 0 {
			return append(out, small...), nil
		}
		mark := small[i]
		out = append(out, small[:i]...)
		n, k := binary.Uvarint(small[i+1:])
		small = small[i+1:]
		if k <= 0 || n > uint64(len(small)-k) {
			return nil, errCondensed
		}
		raw := small[k : k+int(n)]
		small = small[k+int(n):]
		if mark == markHex {
			out = hex.AppendEncode(out, raw)
		} else {
			out = base64.StdEncoding.AppendEncode(out, raw)
		}
	}
}
