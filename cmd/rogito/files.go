package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// expand replaces folders by the regular files in them, the hidden ones only
// if that is asked for.
func expand(paths []string, hidden bool) ([]string, error) {
	var out []string
	for _, p := range paths {
		if info, err := os.Stat(p); err != nil || !info.IsDir() {
			out = append(out, p) // what cannot be opened is told where it is
			continue
		}
		root := p + string(filepath.Separator) // a link to a folder is followed
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch skip := !hidden && path != root && strings.HasPrefix(d.Name(), "."); {
			case err != nil:
				return err
			case d.IsDir() && skip:
				return fs.SkipDir
			case d.Type().IsRegular() && !skip:
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there are no files: name one, or a folder of them")
	}
	return out, nil
}

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
	Out   string `placeholder:"PATH" help:"file, or folder for several results (default: beside the input)"`
	Force bool   `help:"replace files that are there"`
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

// each makes a new file of every file, with a progress bar on a terminal; one
// failure does not stop the rest, and the exit code tells. make_ says what the
// new file is called, and how it is written.
func (o output) each(s *session, paths []string, make_ func(name string, f *sourceFile) (string, func(io.Writer) error)) error {
	files, err := expand(paths, false)
	if err != nil {
		return err
	}
	single := len(files) == 1
	if o.Out != "" && !single {
		if err := os.MkdirAll(o.Out, 0o755); err != nil {
			return err
		}
	}
	p := newProgress(s.stderr, "done")
	p.size = false
	failed := 0
	for i, path := range files {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		to, err := "", error(nil)
		if f, errOpen := openFile(path); errOpen != nil {
			err = errOpen
		} else {
			name, write := make_(filepath.Base(path), f)
			to = o.place(path, name, single)
			err = writeFile(to, o.Force, write)
			f.Close()
		}
		if err != nil {
			failed++
			s.notef("%s: %v", path, err)
		} else {
			s.printf("%s\n", to)
		}
		if !single {
			p.at(int64(i+1), int64(len(files)))
		}
	}
	p.end()
	switch {
	case failed == 0:
		return nil
	case single:
		return exit{code: exitError}
	}
	return exit{exitError, fmt.Errorf("%d of %d files failed", failed, len(files))}
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
