package revision

import "encoding/binary"

// trueTypeCmap reads the character map of a TrueType font, of formats 4, 6
// and 12 for Unicode. What is out of bounds is left out.
func trueTypeCmap(b []byte) map[rune]uint16 {
	u16 := func(at int) int {
		if at < 0 || at+2 > len(b) {
			return 0
		}
		return int(binary.BigEndian.Uint16(b[at:]))
	}
	u32 := func(at int) int {
		if at < 0 || at+4 > len(b) {
			return 0
		}
		return int(binary.BigEndian.Uint32(b[at:]))
	}
	start := 0
	for i := range u16(4) {
		if at := 12 + 16*i; at+16 <= len(b) && string(b[at:at+4]) == "cmap" {
			start = u32(at + 8)
		}
	}
	if start == 0 {
		return nil
	}
	out := make(map[rune]uint16)
	left := 1 << 18 // entries that are looked at, repeated ones included
	more := func() bool { left--; return left > 0 }
	for i := range u16(start + 2) {
		rec := start + 4 + 8*i
		platform, enc := u16(rec), u16(rec+2)
		if platform != 0 && !(platform == 3 && (enc == 1 || enc == 10)) {
			continue
		}
		t := start + u32(rec+4)
		switch u16(t) {
		case 4:
			segments := u16(t+6) / 2
			for s := range segments {
				end, first := u16(t+14+2*s), u16(t+16+2*segments+2*s)
				delta, offAt := u16(t+16+4*segments+2*s), t+16+6*segments+2*s
				off := u16(offAt)
				for ch := first; ch <= end && ch < 0xFFFF && more(); ch++ {
					g := ch + delta
					if off != 0 {
						if g = u16(offAt + off + 2*(ch-first)); g != 0 {
							g += delta
						}
					}
					out[rune(ch)] = uint16(g)
				}
			}
		case 6:
			first, n := u16(t+6), u16(t+8)
			for k := range n {
				out[rune(first+k)] = uint16(u16(t + 10 + 2*k))
			}
		case 12:
			for k := range min(u32(t+12), 1<<14) {
				g := t + 16 + 12*k
				first, last := u32(g), u32(g+4)
				for ch := first; ch <= last && ch < 0x110000 && more(); ch++ {
					out[rune(ch)] = uint16(u32(g+8) + ch - first)
				}
			}
		}
	}
	return out
}
