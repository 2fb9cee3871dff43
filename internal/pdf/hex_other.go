//go:build !amd64

package pdf

const vectors = false

func hexBlocks(_, _ *byte, _, _ int) int { return 0 }
