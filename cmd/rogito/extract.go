package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
)

func init() {
	add(groupFiles, "extract", "take the signed content out of signed files", func() any { return &extractCommand{} })
}

type extractCommand struct {
	output
	Quiet       bool     `short:"q" help:"do not print where the contents went"`
	PDFPassword string   `type:"path" name:"pdf-password-file" placeholder:"FILE" help:"file with the password of encrypted PDFs"`
	Files       []string `arg:"" name:"file" help:"signed files, folders of them and zip archives"`

	mu      sync.Mutex
	claimed map[string]bool // what this run has written, or is about to
}

func (*extractCommand) Help() string {
	return example(`Writes what was signed: the content of a p7m (DER, base64 or PEM; of a p7m in a p7m, the innermost), the files of a
container, the revision of a PDF that its last signature covers. Only content that an intact signature covers is written: where
a signature does not fit nothing is, and the exit code is 1; 2 where that cannot be told. Who signed, and whether that can be
trusted, rogito verify tells.

One content of one file goes to standard output, unless --out names a place; binary content does not go to a terminal, unless
--out - insists. Of folders and zips every signed file is taken, on all processors: its content stands under --out in the folders
that it came from, or beside it, and is called as the file without .p7m. One failure does not stop the rest; the exit code is
that of the worst (3 for errors). Files that are not signed are left alone and counted.`,
		"rogito extract contract.pdf.p7m --out contract.pdf",
		"rogito extract invoices/ --out xml/")
}

func (c *extractCommand) Run(s *session) error {
	password, err := secretFile(c.PDFPassword)
	if err != nil {
		return err
	}
	in := ades.ReadOptions{Password: password}
	files, err := expand(c.Files)
	if err != nil {
		return err
	}
	if len(files) == 1 && files[0].named && !s.isArchive(files[0].path) {
		return c.single(s, files[0].path, in)
	}
	if c.Out == "-" {
		return errors.New("--out - is for the content of one file")
	}
	return c.all(s, files, in)
}

// isArchive says that a file is a plain zip, which is as good as a folder.
func (s *session) isArchive(path string) bool {
	f, err := s.open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return begins(f, "PK") && rogito.Detect(f) == rogito.KindZIP
}

// single takes the content out of one file.
func (c *extractCommand) single(s *session, path string, in ades.ReadOptions) error {
	f, err := s.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := rogito.Extract(s.ctx, ades.File{Name: baseOf(path), Source: f}, in)
	switch {
	case err != nil:
		err = failure(locked(err, in.Password))
		return exit{exitOf(err), fmt.Errorf("%s: %w", displayName(path), err)}
	case len(content) > 1:
		made, err := c.several(cmp.Or(c.Out, "."), content)
		if !c.Quiet {
			c.made(s, path, made, nil)
		}
		return err
	case c.Out == "-" || c.Out == "" && (!s.terminal || isText(content[0].Source)):
		return pour(s.bytesOut(c.Out == "-"), content[0].Source)
	case c.Out == "":
		return errors.New("the content is binary, and standard output is a terminal: --out FILE writes a file, --out - insists")
	}
	return c.write(c.place(path, content[0].Name, true), content[0].Source)
}

// exitOf is the exit code that an error asks for.
func exitOf(err error) int {
	var e exit
	if errors.As(err, &e) {
		return e.code
	}
	return exitError
}

// extracted is what became of one file of many.
type extracted struct {
	name     string
	to       []string
	unsigned bool
	err      error
}

// all takes the contents out of many files, each into a file of its own.
func (c *extractCommand) all(s *session, files []found, in ades.ReadOptions) error {
	bar := s.newProgress("extracted")
	bar.size = false
	var done, failed, unsigned int64
	code := exitOK
	inOrder(s.walk(files, true), func(it item) extracted { return c.one(s, it, in) }, func(e extracted) {
		done++
		switch {
		case e.unsigned:
			unsigned++
		case e.err != nil:
			failed++
			code = worse(code, exitOf(e.err))
			c.made(s, e.name, nil, e.err)
		case !c.Quiet:
			c.made(s, e.name, e.to, nil)
		}
		bar.at(done, max(done, int64(len(files))))
	})
	bar.end()
	text := fmt.Sprintf("%d of %d files extracted, %d failed", done-failed-unsigned, done, failed)
	if unsigned > 0 {
		text += fmt.Sprintf(", %d not signed and left alone", unsigned)
	}
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case failed > 0:
		return exit{code, errors.New(text)}
	}
	s.notef("%s", text)
	return nil
}

// one takes the content out of an item; others are at work at the same time.
func (c *extractCommand) one(s *session, it item, in ades.ReadOptions) extracted {
	defer it.release()
	e := extracted{name: it.Name, err: it.err}
	if e.err == nil {
		e.err = it.load()
	}
	if e.err != nil {
		return e
	}
	content, err := rogito.Extract(s.ctx, ades.File{Name: filepath.Base(it.rel), Source: it.Source}, in)
	switch {
	case errors.Is(err, rogito.ErrNotSigned) && !it.named && !endsSigned(it.rel):
		e.unsigned = true
		return e
	case err == nil && !filepath.IsLocal(it.rel):
		err = fmt.Errorf("the name %q leads out of the folder", it.rel)
	}
	if err != nil {
		e.err = failure(locked(err, in.Password))
		return e
	}
	to := filepath.Join(cmp.Or(c.Out, it.root), it.rel)
	if len(content) > 1 {
		e.to, e.err = c.several(strings.TrimSuffix(to, filepath.Ext(to)), content)
		return e
	}
	to = filepath.Join(filepath.Dir(to), content[0].Name)
	if to == filepath.Clean(it.Name) { // beside itself
		ext := filepath.Ext(to)
		to = strings.TrimSuffix(to, ext) + "-content" + ext
	}
	if e.err = os.MkdirAll(filepath.Dir(to), 0o755); e.err == nil {
		e.err = c.write(to, content[0].Source)
	}
	if e.err == nil {
		e.to = []string{to}
	}
	return e
}

// failure gives an error of the library about a file without content to extract its exit code.
func failure(err error) error {
	switch {
	case errors.Is(err, rogito.ErrNotIntact):
		return exit{exitInvalid, fmt.Errorf("%w; rogito verify says why", err)}
	case errors.Is(err, rogito.ErrUndecided), errors.Is(err, rogito.ErrNoContent):
		return exit{exitUndetermined, fmt.Errorf("%w; rogito verify says why", err)}
	}
	return err
}

// signed are the endings of files around a content.
var signed = []string{".p7m", ".p7s", ".m7m", ".tsd", ".b64", ".pem"}

func endsSigned(name string) bool {
	return slices.Contains(signed, strings.ToLower(filepath.Ext(name)))
}

// several writes the files of a container.
func (c *extractCommand) several(dir string, files []ades.File) (made []string, err error) {
	for _, f := range files {
		to := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return made, err
		}
		if err := c.write(to, f.Source); err != nil {
			return made, err
		}
		made = append(made, to)
	}
	return made, nil
}

// write makes a file of a content. Two contents of one run never share a name,
// whatever may be replaced.
func (c *extractCommand) write(to string, src ades.Source) error {
	c.mu.Lock()
	taken := c.claimed[to]
	if c.claimed == nil {
		c.claimed = map[string]bool{}
	}
	c.claimed[to] = true
	c.mu.Unlock()
	if taken {
		return fmt.Errorf("%s is the content of another file already", to)
	}
	return writeFile(to, c.Force, func(w io.Writer) error { return pour(w, src) })
}

func pour(w io.Writer, src ades.Source) error {
	_, err := io.Copy(w, io.NewSectionReader(src, 0, src.Size()))
	return err
}

// isText says that a content begins like something that people read. A PDF may
// begin so, and is nothing to read.
func isText(src ades.Source) bool {
	if rogito.Detect(src) == rogito.KindPDF {
		return false
	}
	head := make([]byte, min(src.Size(), 4096))
	n, _ := src.ReadAt(head, 0)
	head = head[:n]
	for i := 1; i < utf8.UTFMax && i < len(head) && !utf8.Valid(head); i++ { // the last character may be cut
		head = head[:len(head)-1]
	}
	return utf8.Valid(head) && !bytes.ContainsFunc(head, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}
