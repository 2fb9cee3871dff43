package pades

import (
	"fmt"
	"io"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
)

// foreign reports another document behind the signed bytes. What was appended after a signature must
// not contain one: under another file name it would be shown.
func (r *reader) foreign() error {
	from := r.src.Size()
	for _, f := range r.found {
		if f.end > 0 {
			from = min(from, f.end)
		}
	}
	const step = 256 << 10
	piece := min(step+foreign.Sight, r.src.Size()-from)
	buf := make([]byte, piece, piece+foreign.Sight)
	for at := from; at < r.src.Size(); at += step {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n, err := r.src.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return err
		}
		window := buf[:n+foreign.Sight] // data beyond the end of the file matches nothing
		clear(window[n:])
		for i, what := range foreign.Documents(window, min(n, step)) {
			for _, f := range r.found {
				if off := at + int64(i); f.end > 0 && off >= f.end && !f.broken() {
					f.fatal(finding.PDFUpdateForeign, fmt.Sprintf("offset %d", off), what)
				}
			}
		}
	}
	return nil
}
