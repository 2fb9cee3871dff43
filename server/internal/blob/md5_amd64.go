package blob

import "golang.org/x/sys/cpu"

// vectors says that this processor has the instructions of md5_amd64.s.
var vectors = cpu.X86.HasAVX2

// digestBlocks takes eight MD5 on by n blocks each.
//
//go:noescape
func digestBlocks(state *[4][8]uint32, data *[8]*byte, n int, constants *[64][8]uint32)
