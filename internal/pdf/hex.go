package pdf

import "encoding/binary"

// Eight characters at once, one in each octet of a word.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// allHex reports whether eight characters are hexadecimal digits.
func allHex(x uint64) bool {
	digit := (x + (0x80-'0')*ones) &^ (x + (0x80-'9'-1)*ones)
	lower := x | 0x20*ones
	letter := (lower + (0x80-'a')*ones) &^ (lower + (0x80-'f'-1)*ones)
	return (digit|letter)&^x&highs == highs // sums carry over only where x has a high bit
}

// hexWords is how many times eight hexadecimal digits stand at the beginning.
// The Contents of a signature are some ten thousand of them, most of them zeros:
// one by one they were 9 % of reading back a signature.
func hexWords(b []byte) int {
	n := 0
	if vectors && len(b) >= 32 {
		var unread [16]byte
		blocks := hexBlocks(&unread[0], &b[0], len(b)/32, 0)
		n, b = 4*blocks, b[32*blocks:]
	}
	for ; len(b) >= 8 && allHex(binary.LittleEndian.Uint64(b)); b = b[8:] {
		n++
	}
	return n
}

// decodeHex decodes digits from the beginning of b, eight at once or, where the
// processor can, 32, as far as that goes, and returns how many octets they are.
// There is room in out for half as many octets as b has.
func decodeHex(out, b []byte) int {
	n := 0
	if vectors && len(b) >= 32 {
		blocks := hexBlocks(&out[0], &b[0], min(len(b)/32, len(out)/16), 16)
		n, b = 16*blocks, b[32*blocks:]
	}
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		if !allHex(x) {
			break
		}
		x = x&(0x0f*ones) + (x>>6&ones)*9 // letters have that bit, and begin at 1
		x = (x<<4 | x>>8) & 0x00ff00ff00ff00ff
		x = (x | x>>8) & 0x0000ffff0000ffff
		binary.LittleEndian.PutUint32(out[n:], uint32(x|x>>16))
		n += 4
	}
	return n
}
