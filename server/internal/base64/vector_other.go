//go:build !amd64

package base64

var vectors, wide = false, false

func decodeWide(_, _ []byte) int { return 0 }

func decodeBlocks(_, _ []byte) int { return 0 }

func encodeBlocks(_, _ []byte) int { return 0 }
