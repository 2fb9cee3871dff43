// Package pdfmerge is the one place where pdfcpu is used: to join PDF files
// into one, and to encrypt a PDF that is not. What it makes is a new document;
// signatures in what it was given do not survive, so callers look for them
// first.
package pdfmerge

import (
	"fmt"
	"io"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"rogito.dev/rogito/ades"
)

var once sync.Once

func configuration(password string) *model.Configuration {
	once.Do(api.DisableConfigDir) // nothing is written to anybody's home
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	c.UserPW, c.OwnerPW = password, password
	return c
}

// Merge joins documents in order. The password opens those that are encrypted;
// the result is not.
func Merge(w io.Writer, password string, docs ...ades.Source) (err error) {
	defer rescue(&err)
	readers := make([]io.ReadSeeker, len(docs))
	for i, d := range docs {
		readers[i] = io.NewSectionReader(d, 0, d.Size())
	}
	if err := api.MergeRaw(readers, w, false, configuration(password)); err != nil {
		return fmt.Errorf("merge PDF: %w", err)
	}
	return nil
}

// Encrypt encrypts a document with AES-256 under a password, by the handler of
// ISO 32000-2 (revision 6): that of Adobe's extension before it, which the
// library takes for older versions of PDF, can be guessed too fast.
func Encrypt(w io.Writer, doc ades.Source, password string) (err error) {
	defer rescue(&err)
	once.Do(api.DisableConfigDir)
	c := model.NewAESConfiguration(password, password, 256)
	c.ValidationMode = model.ValidationRelaxed
	c.Permissions = model.PermissionsAll
	c.Cmd = model.ENCRYPT
	d, err := api.ReadValidateAndOptimize(io.NewSectionReader(doc, 0, doc.Size()), c)
	if err != nil {
		return fmt.Errorf("encrypt PDF: %w", err)
	}
	version := model.V20
	d.HeaderVersion, d.RootVersion = &version, nil
	if err := api.WriteContext(d, w); err != nil {
		return fmt.Errorf("encrypt PDF: %w", err)
	}
	return nil
}

// rescue turns a panic over a hostile file into an error.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("PDF library gave up: %v", p)
	}
}
