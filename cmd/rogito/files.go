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
}

// openFile opens a file; what has no size, such as a pipe, is read at once.
func openFile(path string) (*sourceFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return &sourceFile{io.NewSectionReader(f, 0, info.Size()), f}, nil
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sourceFile{io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))), f}, nil
}

var errNoFiles = errors.New("there are no files: name one, or a folder of them")

// writeFile makes a file whole or not at all, and never over another one
// unless that was asked for.
func writeFile(path string, force bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s exists; --force replaces it", path)
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
			s.notef("%s: %v", file, err)
		}
		return
	}
	line := struct {
		File  string   `json:"file"`
		Out   []string `json:"out"`
		Error *string  `json:"error"`
	}{File: file, Out: append([]string{}, out...)}
	if err != nil {
		text := err.Error()
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

// each makes a new file of every file, with a progress bar on a terminal; one
// failure does not stop the rest, and the exit code tells.
func (o output) each(s *session, paths []string, make_ maker) error {
	files, err := expand(paths, false)
	if err != nil {
		return err
	}
	single := len(files) == 1
	switch {
	case o.Out == "-" && single:
		return o.toStdout(s, files[0].path, make_)
	case o.Out == "-":
		return errors.New("--out - is for one file")
	case o.Out != "" && !single:
		if err := os.MkdirAll(o.Out, 0o755); err != nil {
			return err
		}
	}
	bar := newProgress(s.stderr, "done")
	bar.size = false
	failed := 0
	for i, p := range files {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		to, err := "", error(nil)
		if f, errOpen := openFile(p.path); errOpen != nil {
			err = errOpen
		} else {
			name, write := make_(filepath.Base(p.path), f)
			to = o.place(p.path, name, single)
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
	bar.end()
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
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, write := make_(filepath.Base(path), f)
	if err := write(s.bytesOut(true)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// secret is a password: from a file, from the environment, or asked for.
type secret struct {
	file, variable, prompt string
}

func (x secret) read(s *session) (string, error) {
	if x.file != "" {
		b, err := os.ReadFile(x.file)
		return strings.TrimRight(string(b), "\r\n"), err
	}
	if v, ok := s.getenv(x.variable); ok {
		return v, nil
	}
	in, ok := s.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", fmt.Errorf("no password: use a password file or %s", x.variable)
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
