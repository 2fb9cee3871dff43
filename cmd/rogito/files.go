package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/atomicfile"
)

// sourceFile is a file opened as a source.
type sourceFile struct {
	*io.SectionReader
	io.Closer

	seen func(at int64) // called with how far it was read; may be nil
}

// ReadAt reads, and reports how far.
func (f *sourceFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.SectionReader.ReadAt(b, off)
	if f.seen != nil {
		f.seen(off + int64(n))
	}
	return n, err
}

// input is the name of standard input among files.
const input = "-"

// open opens a file, or standard input, which is read once.
func (s *session) open(path string) (*sourceFile, error) {
	if path != input {
		return openFile(path)
	}
	s.read.Do(func() { s.piped, s.pipeErr = io.ReadAll(s.stdin) })
	if s.pipeErr != nil {
		return nil, fmt.Errorf("standard input: %w", s.pipeErr)
	}
	return &sourceFile{SectionReader: io.NewSectionReader(bytes.NewReader(s.piped), 0, int64(len(s.piped))), Closer: io.NopCloser(nil)}, nil
}

// baseOf is the name of a file by itself; standard input has none, and gets one.
func baseOf(path string) string {
	if path == input {
		return "document"
	}
	return filepath.Base(path)
}

// openFile opens a file; what has no size, such as a pipe, is read at once.
func openFile(path string) (*sourceFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return &sourceFile{SectionReader: io.NewSectionReader(f, 0, info.Size()), Closer: f}, nil
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sourceFile{SectionReader: io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))), Closer: f}, nil
}

var errNoFiles = errors.New("there are no files: name one, or a folder of them")

// writeFile makes a file whole or not at all, and never over another one
// unless that was asked for.
func writeFile(path string, force bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s exists; --force replaces it", path)
	}
	if err := folderOf(path, filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, write)
}

// output is where results go: beside the input, into a folder, or to one file.
type output struct {
	Out   string `placeholder:"PATH" help:"file, or folder for several results (default: beside the input); - is standard output"`
	Force bool   `help:"replace files that are there"`
	JSON  bool   `help:"print one JSON object a file: file, and out or error"`
}

// made says what became of a file.
func (o output) made(s *session, file string, out []string, err error) {
	if !o.JSON {
		for _, to := range out {
			s.printf("%s\n", to)
		}
		if err != nil {
			s.notef("%s: %s", file, plain(err, file))
		}
		return
	}
	line := struct {
		File  string   `json:"file"`
		Out   []string `json:"out"`
		Error *string  `json:"error"`
	}{File: file, Out: append([]string{}, out...)}
	if err != nil {
		text := plain(err, file)
		line.Error = &text
	}
	_ = json.NewEncoder(s.stdout).Encode(line) // a reader who has gone needs no more
}

// place is the path of one result. Only a single result may name a file.
func (o output) place(input, name string, single bool) string {
	switch info, err := os.Stat(o.Out); {
	case o.Out == "":
		return filepath.Join(filepath.Dir(input), name)
	case err == nil && info.IsDir(), !single:
		return filepath.Join(o.Out, name)
	}
	return o.Out
}

// maker says what the result of a file is called, and how it is written.
type maker func(name string, f *sourceFile) (to string, write func(io.Writer) error)

// each makes a new file of every file, with a progress bar on a terminal; one failure does not stop
// the rest, but shows in the exit code.
func (o output) each(s *session, paths []string, make_ maker) error {
	files, err := expand(paths)
	if err != nil {
		return err
	}
	single := len(files) == 1
	switch {
	case o.Out == "-" && single:
		return o.toStdout(s, files[0].path, make_)
	case o.Out == "" && single && files[0].path == input && s.terminal:
		return errors.New("the result is binary, and standard output is a terminal: --out FILE writes a file, --out - insists")
	case o.Out == "" && single && files[0].path == input:
		return o.toStdout(s, input, make_)
	case o.Out == "-":
		return errors.New("--out - is for one file")
	case o.Out != "" && !single:
		if err := os.MkdirAll(o.Out, 0o755); err != nil {
			return err
		}
	}
	bar := s.newProgress("done")
	bar.size = false
	defer bar.end()
	failed := 0
	for i, p := range files {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		to, err := "", error(nil)
		if f, errOpen := s.open(p.path); errOpen != nil {
			err = errOpen
		} else {
			name, write := make_(baseOf(p.path), f)
			to = o.place(p.path, name, single)
			if single {
				bar.watch(f)
			}
			err = writeFile(to, o.Force, write)
			f.Close()
		}
		if err != nil {
			failed++
			o.made(s, p.path, nil, err)
		} else {
			o.made(s, p.path, []string{to}, nil)
		}
		if !single {
			bar.at(int64(i+1), int64(len(files)))
		}
	}
	switch {
	case failed == 0:
		return nil
	case single:
		return exit{code: exitError}
	}
	return exit{exitError, fmt.Errorf("%d of %d files failed", failed, len(files))}
}

// toStdout writes the one result there.
func (o output) toStdout(s *session, path string, make_ maker) error {
	f, err := s.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, write := make_(baseOf(path), f)
	if err := write(s.bytesOut(true)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// secretFile reads a file that holds one secret; no file, no secret.
func secretFile(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	return strings.TrimRight(string(b), "\r\n"), err
}

// secret is a password: from a file, from the environment, or asked for.
type secret struct {
	file, variable, prompt string
}

func (x secret) read(s *session) (string, error) {
	if x.file != "" {
		return secretFile(x.file)
	}
	if v, ok := s.getenv(x.variable); ok {
		return v, nil
	}
	in, ok := s.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", fmt.Errorf("no password: --password-file FILE or %s has it", x.variable)
	}
	fmt.Fprintf(s.stderr, "%s: ", x.prompt)
	b, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(s.stderr)
	return string(b), err
}

// detachedFiles opens the content of detached signatures, given as FILE or
// NAME=FILE. The files stay open until the process ends.
func detachedFiles(args []string) ([]ades.File, error) {
	var files []ades.File
	for _, arg := range args {
		name, path, named := strings.Cut(arg, "=")
		if _, err := os.Stat(arg); err == nil || !named {
			name, path = filepath.Base(arg), arg
		}
		f, err := openFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, ades.File{Name: name, Source: f})
	}
	return files, nil
}
