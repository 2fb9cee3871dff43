package oid

// encodeSmall encodes an identifier whose arcs are below 2^32, as nearly all
// are, in one allocation.
func encodeSmall(dotted string) ([]byte, bool) {
	out := make([]byte, 0, len(dotted))
	var arc, root uint64
	digits, index := 0, 0
	for i := 0; i <= len(dotted); i++ {
		if i < len(dotted) && dotted[i] != '.' {
			c := dotted[i] - '0'
			if c > 9 || digits == 9 {
				return nil, false
			}
			arc = arc*10 + uint64(c)
			digits++
			continue
		}
		if digits == 0 {
			return nil, false
		}
		switch index {
		case 0:
			root = arc
		case 1:
			out = appendVarint(out, root*40+arc)
		default:
			out = appendVarint(out, arc)
		}
		index++
		arc, digits = 0, 0
	}
	return out, root <= 2 && index > 1
}

func appendVarint(out []byte, v uint64) []byte {
	shift := 0
	for v>>shift >= 0x80 {
		shift += 7
	}
	for ; shift > 0; shift -= 7 {
		out = append(out, byte(v>>shift)|0x80)
	}
	return append(out, byte(v)&0x7f)
}
