package base64

import "golang.org/x/sys/cpu"

// vectors says that this processor has the instructions of vector_amd64.s. It
// is a variable so that tests compare them with what others have.
var vectors = cpu.X86.HasAVX2

// wide says that it has those of decodeWide as well.
var wide = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI

// decodeWide is decodeBlocks for blocks of 64 (200 KB: 8 µs, not 18).
//
//go:noescape
func decodeWide(dst, src []byte) int

// decodeBlocks decodes base64 of the standard alphabet in blocks of 32
// characters, up to one that has another character, or to where less than 32
// bytes of either are left. It says how many characters it decoded.
//
//go:noescape
func decodeBlocks(dst, src []byte) int

// encodeBlocks encodes blocks of 24 bytes, up to where less than 32 of either are
// left. It says how many bytes it encoded.
//
//go:noescape
func encodeBlocks(dst, src []byte) int
