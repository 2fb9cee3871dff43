package jades

import (
	"bytes"
	"encoding/base64"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// meteredWriter is a writer that charges the costs of one document.
type meteredWriter struct {
	w io.Writer
	s *sigReader
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	if w.s.budget -= int64(len(p)); w.s.budget < 0 {
		return 0, limits.ErrBudget
	}
	if err := w.s.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

// cappedBuffer keeps what is written, up to a length.
type cappedBuffer struct {
	bytes.Buffer
	most int
	over bool
}

func (k *cappedBuffer) Write(p []byte) (int, error) {
	if k.over = k.over || k.Len()+len(p) > k.most; k.over {
		k.Reset()
		return len(p), nil
	}
	return k.Buffer.Write(p)
}

// writeContent writes a content as it is signed: in base64url or unencoded.
func writeContent(w io.Writer, src ades.Source, unencoded bool) error {
	in := io.NewSectionReader(src, 0, src.Size())
	if unencoded {
		_, err := io.Copy(w, in)
		return err
	}
	enc := base64.NewEncoder(base64.RawURLEncoding, w)
	if _, err := io.Copy(enc, in); err != nil {
		return err
	}
	return enc.Close()
}
