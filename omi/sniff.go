package omi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"

	"rogito.dev/rogito/internal/limits"
)

// sniffed is how much of a file is read to find its semester.
const sniffed = 4 << 10

var semesterInName = regexp.MustCompile(`Anno/Semestre\s+(\d{4}/[12])`)

// SniffSemester is the semester of the first file below a path that names one, and whether there is
// one. It reads little. A damaged archive is a [*RefusedError].
func SniffSemester(ctx context.Context, path string) (Semester, bool, error) {
	s, err := openFileSet(ctx, []string{path})
	if err != nil {
		return Semester{}, false, err
	}
	defer s.Close()
	return s.sniffFirst(s.sources, 0)
}

// sniffFirst is the semester of the first file that names one.
func (s *fileSet) sniffFirst(list []source, depth int) (Semester, bool, error) {
	for _, src := range list {
		if src.hidden {
			continue
		}
		if sem, ok, err := s.sniff(src, depth); ok || err != nil {
			return sem, ok, err
		}
	}
	return Semester{}, false, nil
}

func (s *fileSet) sniff(src source, depth int) (Semester, bool, error) {
	r, err := src.open()
	if err != nil {
		return Semester{}, false, s.damaged(src, err)
	}
	defer r.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Semester{}, false, s.damaged(src, err)
	}
	head = head[:n]
	switch {
	case isArchive(head) && depth < limits.OMINesting:
		return s.sniffNested(src, depth+1)
	case isTable(head):
		return semesterIn(head, semesterInTitle)
	case isKML(head):
		return semesterIn(head, semesterInName)
	}
	return Semester{}, false, nil
}

func semesterIn(head []byte, form *regexp.Regexp) (Semester, bool, error) {
	m := form.FindSubmatch(head)
	if m == nil {
		return Semester{}, false, nil
	}
	sem, err := ParseSemester(string(m[1]))
	return sem, err == nil, nil
}

func (s *fileSet) sniffNested(src source, depth int) (Semester, bool, error) {
	b, err := s.read(src, nil)
	if err != nil {
		return Semester{}, false, err
	}
	inner := &fileSet{}
	if err := inner.archive(bytes.NewReader(b), int64(len(b)), src.hidden); err != nil {
		return Semester{}, false, err
	}
	return s.sniffFirst(inner.sources, depth)
}
