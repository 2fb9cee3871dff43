package pdf

import "golang.org/x/sys/cpu"

// vectors says that this processor has the instructions of hex_amd64.s.
var vectors = cpu.X86.HasAVX2

// hexBlocks decodes blocks of 32 hexadecimal digits, n at most, until one holds
// anything else, and returns how many they were. The 16 octets of each are
// written step after those of the one before.
//
//go:noescape
func hexBlocks(out, in *byte, n, step int) int
