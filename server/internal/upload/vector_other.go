//go:build !amd64

package upload

var vectors, wide = false, false

func decodeWide(_, _ []byte) int { return 0 }

func decodeBlocks(_, _ []byte) int { return 0 }

func ordinaryBlocks([]byte) int { return 0 }

func indexEnds([]byte, byte, byte, int) int { return 0 }
