package cms_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"rogito.dev/rogito/internal/cms"
)

// TestCopyRange has memory and other sources give the same bytes.
func TestCopyRange(t *testing.T) {
	content := make([]byte, 100_000)
	for i := range content {
		content[i] = byte(i * 7)
	}
	memory := bytes.NewReader(content)
	if _, err := memory.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	other := io.NewSectionReader(memory, 0, memory.Size())
	for _, r := range [][2]int64{{0, 100_000}, {0, 0}, {1, 99_999}, {100_000, 100_000}, {40_000, 40_001}} {
		for _, src := range []io.ReaderAt{memory, other} {
			var out bytes.Buffer
			if err := cms.CopyRange(&out, src, r[0], r[1]); err != nil || !bytes.Equal(out.Bytes(), content[r[0]:r[1]]) {
				t.Errorf("%T %v: %d bytes, %v", src, r, out.Len(), err)
			}
		}
	}
	if memory.Len() != 100_000-5 {
		t.Error("the position of the source has moved")
	}
	for _, src := range []io.ReaderAt{memory, other} {
		if err := cms.CopyRange(io.Discard, src, 10, 100_001); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%T: past the end: %v", src, err)
		}
		if err := cms.CopyRange(brokenWriter{}, src, 10, 20); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%T: error of the writer lost: %v", src, err)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
