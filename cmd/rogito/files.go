package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"rogito.dev/rogito/ades"
)

// sourceFile is a file opened as a source.
type sourceFile struct {
	*io.SectionReader
	f *os.File
}

func openFile(path string) (*sourceFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sourceFile{io.NewSectionReader(f, 0, info.Size()), f}, nil
}

func (s *sourceFile) Close() error { return s.f.Close() }

// expand replaces folders by the files in them; hidden files are left out.
func expand(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			switch hidden := path != p && strings.HasPrefix(d.Name(), "."); {
			case err != nil:
				return err
			case d.IsDir() && hidden:
				return fs.SkipDir
			case !d.IsDir() && !hidden:
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writeFile makes a file whole or not at all, and never over another one
// unless that was asked for.
func writeFile(path string, force bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s exists; --force replaces it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".rogito-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
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

// prepare makes the folder of several results.
func (o output) prepare(single bool) error {
	if o.Out == "" || single {
		return nil
	}
	return os.MkdirAll(o.Out, 0o755)
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
	for _, e := range s.env {
		if v, ok := strings.CutPrefix(e, x.variable+"="); ok {
			return v, nil
		}
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

// detachedFiles opens the content of detached signatures, given as FILE or NAME=FILE.
func detachedFiles(args []string) (files []ades.File, done func(), err error) {
	var open []io.Closer
	done = func() {
		for _, c := range open {
			c.Close()
		}
	}
	for _, arg := range args {
		name, path, named := strings.Cut(arg, "=")
		if _, err := os.Stat(arg); err == nil || !named {
			name, path = filepath.Base(arg), arg
		}
		f, err := openFile(path)
		if err != nil {
			done()
			return nil, nil, err
		}
		open = append(open, f)
		files = append(files, ades.File{Name: name, Source: f})
	}
	return files, done, nil
}

// each runs a step for every file with a progress bar on a terminal; one
// failure does not stop the rest, and the exit code tells.
func (s *session) each(files []string, step func(path string) (string, error)) error {
	p := newProgress(s.stderr, "done")
	p.size = false
	failed := 0
	for i, path := range files {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		result, err := step(path)
		if err != nil {
			failed++
			s.notef("%s: %v", path, err)
		} else {
			s.printf("%s\n", result)
		}
		if len(files) > 1 {
			p.at(int64(i+1), int64(len(files)))
		}
	}
	p.end()
	switch {
	case failed == 0:
		return nil
	case len(files) == 1:
		return exit{code: exitError}
	}
	return exit{exitError, fmt.Errorf("%d of %d files failed", failed, len(files))}
}
