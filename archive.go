package rogito

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
)

// Archived returns the documents in a ZIP that is no signature container, and what is wrong with
// the ZIP itself. It leaves out files that operating systems add to archives, and the report.json
// that the server puts into the ZIP of a batch.
func Archived(ctx context.Context, src ades.Source) ([]ades.File, []ades.Problem, error) {
	files, problems, err := asic.Files(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	files = slices.DeleteFunc(files, isSystemFile)
	if i := batchReport(files); i >= 0 {
		files = slices.Delete(files, i, i+1)
	}
	return files, problems, nil
}

// isSystemFile reports whether f was added to the archive by an operating system. Such files have
// their own formats, are not shown to users, and need no signature in a plain archive.
func isSystemFile(f ades.File) bool {
	base := path.Base(f.Name)
	mark := ""
	switch {
	case strings.HasPrefix(f.Name, "__MACOSX/") && strings.HasPrefix(base, "._"):
		mark = "\x00\x05\x16\x07" // AppleDouble
	case base == ".DS_Store":
		mark = "\x00\x00\x00\x01Bud1"
	case strings.EqualFold(base, "Thumbs.db"):
		mark = "\xd0\xcf\x11\xe0" // compound file
	default:
		return false
	}
	head := make([]byte, len(mark))
	n, _ := f.Source.ReadAt(head, 0)
	return string(head[:n]) == mark
}

// maxBatchReport is the largest report of a batch that is parsed.
const maxBatchReport = 8 << 20

// batchLine is the entry for one document in the report of a batch.
type batchLine struct {
	Index        *int            `json:"index"`
	Name         string          `json:"name"`
	File         *string         `json:"file"`
	State        string          `json:"state"`
	ErrorNumber  *int            `json:"errorNumber"`
	ErrorMessage *string         `json:"errorMessage"`
	SHA256       *string         `json:"sha256"`
	Findings     json.RawMessage `json:"findings"`
}

// batchReport returns the index of the report of a batch, or -1. The report is a list that names
// all other files of the ZIP and nothing else.
func batchReport(files []ades.File) int {
	i := slices.IndexFunc(files, func(f ades.File) bool { return f.Name == "report.json" })
	if i < 0 || len(files) == 1 || files[i].Source.Size() > maxBatchReport {
		return -1
	}
	text, err := io.ReadAll(io.NewSectionReader(files[i].Source, 0, files[i].Source.Size()))
	var lines []batchLine
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err != nil || in.Decode(&lines) != nil || in.More() {
		return -1
	}
	named := map[string]bool{}
	for _, l := range lines {
		if l.Index == nil || l.State == "" {
			return -1
		}
		if l.File != nil {
			named[*l.File] = true
		}
	}
	for j, f := range files {
		if j != i && !named[f.Name] {
			return -1
		}
		delete(named, f.Name)
	}
	if len(named) > 0 {
		return -1
	}
	return i
}
