package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
)

func init() {
	add(groupFiles, "timestamp", "time-stamp files", func() any { return &timestampCommand{} })
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
	if err := c.checkTSA(); err != nil {
		return err
	}
	password, err := secretFile(c.PDFPassword)
	if err != nil {
		return err
	}
	return c.each(s, c.Files, func(name string, f *sourceFile) (string, func(io.Writer) error) {
		if !c.Into {
			return name + ".tst", func(w io.Writer) error { return c.token(s, f, w) }
		}
		ext := filepath.Ext(name)
		r := ades.AugmentOptions{Stamper: c.stamper(s), Hash: hashes[c.Hash], Password: password, Time: time.Now()}
		return strings.TrimSuffix(name, ext) + "-stamped" + ext, func(w io.Writer) error { return locked(pades.Timestamp(s.ctx, f, w, r), password) }
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
