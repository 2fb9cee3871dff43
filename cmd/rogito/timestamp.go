package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
)

func init() {
	add(groupFiles, "timestamp", "time-stamp files", func() any { return &timestampCommand{} })
	add(groupFiles, "extract", "take the signed content out of a signed file", func() any { return &extractCommand{} })
}

type timestampCommand struct {
	raiseFlags
	output
	Into  bool     `help:"put the time-stamp into the file (PDF) in place of a token beside it"`
	Files []string `arg:"" name:"file" help:"files, or folders of files"`
}

func (timestampCommand) Help() string {
	return example(`Obtains a time-stamp (RFC 3161) over each file and writes it beside the file as NAME.tst. With
--into a PDF gets a document time-stamp.`,
		"rogito timestamp --tsa https://tsa.example/tsr plan.dwg",
		"rogito verify plan.dwg.tst --detached plan.dwg")
}

func (c *timestampCommand) Run(s *session) error {
	if len(c.TSA) == 0 {
		return errors.New("a time-stamping authority is needed: --tsa URL")
	}
	password, err := c.password()
	if err != nil {
		return err
	}
	return c.each(s, c.Files, func(name string, f *sourceFile) (string, func(io.Writer) error) {
		if !c.Into {
			return name + ".tst", func(w io.Writer) error { return c.token(s, f, w) }
		}
		ext := filepath.Ext(name)
		r := ades.AugmentOptions{Stamper: c.stamper(s), Hash: hashes[c.Hash], Password: password, Time: time.Now()}
		return strings.TrimSuffix(name, ext) + "-stamped" + ext, func(w io.Writer) error { return pades.Timestamp(s.ctx, f, w, r) }
	})
}

func (c *timestampCommand) token(s *session, f ades.Source, w io.Writer) error {
	hash := hashes[c.Hash]
	h := hash.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, f.Size())); err != nil {
		return err
	}
	token, err := c.stamper(s).Stamp(s.ctx, hash, h.Sum(nil))
	if err != nil {
		return err
	}
	_, err = w.Write(token)
	return err
}

type extractCommand struct {
	output
	PDFPassword string `type:"path" name:"pdf-password-file" placeholder:"FILE" help:"file with the password of an encrypted PDF"`
	File        string `arg:"" help:"the signed file"`
}

func (extractCommand) Help() string {
	return example(`Writes what was signed: the content of a p7m, the files of a container, the revision of a PDF that its
last signature covers. Only content that an intact signature covers is
written. Who signed, and whether that can be trusted, rogito verify tells. Without --out one content goes
to standard output, several go into the current folder.`,
		"rogito extract contract.pdf.p7m --out contract.pdf")
}

func (c *extractCommand) Run(s *session) error {
	f, err := openFile(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	in := ades.ReadOptions{}
	if c.PDFPassword != "" {
		if in.Password, err = (secret{file: c.PDFPassword}).read(s); err != nil {
			return err
		}
	}
	doc, err := rogito.Read(s.ctx, f, in)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	for _, p := range doc.Problems {
		if p.Fatal { // readers may take it for something else
			return fmt.Errorf("%s: %s", c.File, p.Text)
		}
	}
	if len(doc.Content) == 0 {
		return fmt.Errorf("%s: there is no content in it that an intact signature covers", c.File)
	}
	if len(doc.Content) == 1 {
		return c.one(s, doc.Content[0].Source)
	}
	return c.several(s, doc.Content)
}

func (c *extractCommand) one(s *session, src ades.Source) error {
	copy := func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(src, 0, src.Size()))
		return err
	}
	if c.Out == "" {
		return copy(s.stdout)
	}
	to := c.place(c.File, strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File)), true)
	return writeFile(to, c.Force, copy)
}

// several writes the files of a container. Names inside it are a stranger's:
// none may leave the folder.
func (c *extractCommand) several(s *session, files []ades.File) error {
	dir := c.Out
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, f := range files {
		if f.Name == "" { // parts of an XML document have none
			f.Name = fmt.Sprintf("part-%d.xml", i+1)
		}
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("the name %q leads out of the folder", f.Name)
		}
		to := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		err := writeFile(to, c.Force, func(w io.Writer) error {
			_, err := io.Copy(w, io.NewSectionReader(f.Source, 0, f.Source.Size()))
			return err
		})
		if err != nil {
			return err
		}
		s.printf("%s\n", to)
	}
	return nil
}
