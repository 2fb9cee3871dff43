package typeface

import "encoding/binary"

// SRGB builds a small ICC profile (version 2) of the sRGB colour space: three primaries and a gamma
// of 2.2. With its own profile the colours of an appearance are defined regardless of the
// document's output intent, as PDF/A requires.
func SRGB() []byte {
	tags := []struct {
		name string
		data []byte
	}{
		{"desc", iccDescription("sRGB")},
		{"cprt", append([]byte("text\x00\x00\x00\x00"), "No copyright, use freely\x00"...)},
		{"wtpt", iccXYZ(0xF351, 0x10000, 0x116CC)},
		{"rXYZ", iccXYZ(0x6FA2, 0x38F5, 0x0390)},
		{"gXYZ", iccXYZ(0x6299, 0xB785, 0x18DA)},
		{"bXYZ", iccXYZ(0x24A0, 0x0F84, 0xB6CF)},
		{"rTRC", iccGamma()},
		{"gTRC", iccGamma()},
		{"bTRC", iccGamma()},
	}
	var directory, body []byte
	directory = binary.BigEndian.AppendUint32(directory, uint32(len(tags)))
	at := 128 + 4 + 12*len(tags)
	for _, t := range tags {
		directory = append(directory, t.name...)
		directory = binary.BigEndian.AppendUint32(directory, uint32(at+len(body)))
		directory = binary.BigEndian.AppendUint32(directory, uint32(len(t.data)))
		body = append(body, t.data...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	header := make([]byte, 128)
	binary.BigEndian.PutUint32(header, uint32(at+len(body)))
	binary.BigEndian.PutUint32(header[8:], 0x02100000)
	copy(header[12:], "mntrRGB XYZ ")
	for i, v := range []uint16{2026, 1, 1, 0, 0, 0} {
		binary.BigEndian.PutUint16(header[24+2*i:], v)
	}
	copy(header[36:], "acsp")
	// The illuminant is D50, as every profile's is.
	copy(header[68:], iccXYZ(0xF6D6, 0x10000, 0xD32D)[8:])
	return append(append(header, directory...), body...)
}

func iccXYZ(x, y, z uint32) []byte {
	b := []byte("XYZ \x00\x00\x00\x00")
	for _, v := range []uint32{x, y, z} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func iccGamma() []byte {
	b := []byte("curv\x00\x00\x00\x00\x00\x00\x00\x01")
	return binary.BigEndian.AppendUint16(b, 0x0233)
}

func iccDescription(s string) []byte {
	b := []byte("desc\x00\x00\x00\x00")
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)+1))
	b = append(append(b, s...), 0)
	// Empty Unicode and ScriptCode forms of the name.
	return append(b, make([]byte, 4+4+2+1+67)...)
}
