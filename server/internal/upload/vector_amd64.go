package upload

import "golang.org/x/sys/cpu"

// vectors says that this processor has the instructions of vector_amd64.s. It
// is a variable so that tests compare them with what others have.
var vectors = cpu.X86.HasAVX2

// ordinaryBlocks is the length of the blocks of 32 bytes at the beginning that
// are ordinary, and of what is ordinary in the next one.
//
//go:noescape
func ordinaryBlocks(b []byte) int

// indexEnds is where a byte stands first that has another so far behind it; near
// the end, where the last block of 32 does not fit any more, it is where to look on.
//
//go:noescape
func indexEnds(b []byte, first, last byte, apart int) int
