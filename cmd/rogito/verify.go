package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server"
)

func init() {
	add(groupFiles, "verify", "tell whether signed documents are valid, who signed them, and why not", func() any { return new(verifyCommand) })
}

type verifyCommand struct {
	trustFlags
	Files        []string `arg:"" optional:"" name:"file" help:"files, folders and zip archives"`
	Detached     []string `placeholder:"[NAME=]FILE" help:"the content of a detached signature; repeat for several"`
	Element      string   `placeholder:"ID|XPATH" help:"what counts in an XML document: this element, by its Id or an XPath; the rest need not be signed"`
	File         string   `placeholder:"NAME" help:"what counts in a container: this file; the others need not be signed"`
	Password     string   `env:"ROGITO_PDF_PASSWORD" help:"password of an encrypted PDF"`
	PasswordFile string   `placeholder:"FILE" help:"file with the password of an encrypted PDF"`
	At           string   `placeholder:"DATE" help:"the verdict as at the end of that day (YYYY-MM-DD) or at that time (RFC 3339)"`
	Recursive    bool     `short:"r" help:"open signed documents inside signed documents"`
	PolicyFile   string   `name:"policy" placeholder:"FILE" help:"judge by this policy (YAML or JSON) in place of the default one"`
	JSON         bool     `xor:"form" help:"print the report of POST /verify, one object a line"`
	Plain        bool     `default:"true" negatable:"" help:"with --json: plainDocument, the signed content"`
	ETSI         bool     `name:"etsi" xor:"form" help:"print the report of ETSI TS 119 102-2 as XML"`
	HTML         bool     `name:"html" xor:"form" help:"print a page for people"`
	PDF          string   `name:"pdf" placeholder:"OUT" help:"write the report as PDF to this file"`
	Facts        string   `placeholder:"FILE" help:"judge facts that were stored before (see --save-facts)"`
	SaveFacts    string   `placeholder:"FILE" help:"store everything that was found, to judge it again"`
	Lang         string   `enum:"en,it" default:"en" help:"language of the report: ${enum}"`
	Timezone     string   `default:"UTC" env:"ROGITO_TIMEZONE" placeholder:"ZONE" help:"zone of the times in a report for people, e.g. Europe/Rome; UTC by default"`

	zone *time.Location
}

// Help says what the exit codes mean.
func (*verifyCommand) Help() string {
	return "Exits 0 if everything is valid, 1 if something is invalid or not signed, 2 if validity cannot be determined, 3 on an error; of several files the worst counts. " +
		"Signatures that are valid for a part of a document only leave it undetermined, unless --element or --file names that part. " +
		"A file that is itself a time-stamp is valid when it verifies over the content given. A zip archive that is no container is a folder: one verdict a file."
}

// Verdicts as exit codes; of several, the worst.
const (
	exitInvalid      = 1
	exitUndetermined = 2
)

// worse orders exit codes: error, invalid, undetermined, valid.
func worse(a, b int) int {
	rank := map[int]int{exitOK: 0, exitUndetermined: 1, exitInvalid: 2, exitError: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

func (c *verifyCommand) Run(s *session) error {
	v, o, err := c.prepare(s)
	if err != nil {
		return err
	}
	if c.Facts != "" {
		return c.replay(s, v, o)
	}
	files, err := expand(c.Files, true)
	if err != nil {
		return err
	}
	code := exitOK
	for _, f := range files {
		one, err := c.path(s, v, o, f)
		if err != nil {
			s.notef("%s: %v", f, err)
			one = exitError
		}
		code = worse(code, one)
	}
	if code == exitOK {
		return nil
	}
	return exit{code: code}
}

func (c *verifyCommand) prepare(s *session) (*rogito.Verifier, rogito.VerifyOptions, error) {
	o := rogito.VerifyOptions{Recursive: c.Recursive, Password: c.Password, Expect: ades.Expectation{Element: c.Element, File: c.File}}
	store, err := c.store(s)
	if err != nil {
		return nil, o, err
	}
	v := &rogito.Verifier{Trust: store, Memory: commandMemory}
	if c.PolicyFile != "" {
		text, err := os.ReadFile(c.PolicyFile)
		if err != nil {
			return nil, o, err
		}
		if v.Policy, err = policy.Load(text); err != nil {
			return nil, o, err
		}
	}
	if c.PasswordFile != "" {
		if o.Password, err = (secret{file: c.PasswordFile}).read(s); err != nil {
			return nil, o, err
		}
	}
	if o.At, err = parseAt(c.At); err != nil {
		return nil, o, err
	}
	if c.zone, err = time.LoadLocation(c.Timezone); err != nil {
		return nil, o, fmt.Errorf("--timezone: %w", err)
	}
	o.Detached, err = detachedFiles(c.Detached)
	return v, o, err
}

// parseAt reads a day, which means its end in UTC, or a moment.
func parseAt(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Add(24*time.Hour - time.Second), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("--at wants YYYY-MM-DD or RFC 3339, not %q", text)
	}
	return t, nil
}

// path verifies the file at a path; of a plain zip, the files inside it.
func (c *verifyCommand) path(s *session, v *rogito.Verifier, o rogito.VerifyOptions, path string) (int, error) {
	f, err := openFile(path)
	if err != nil {
		return exitError, err
	}
	defer f.Close()
	return c.file(s, v, o, ades.File{Name: path, Source: f}, 0)
}

// maxZips is how deep plain zips inside each other are opened.
const maxZips = 4

func (c *verifyCommand) file(s *session, v *rogito.Verifier, o rogito.VerifyOptions, f ades.File, depth int) (int, error) {
	if depth < maxZips && o.Expect == (ades.Expectation{}) && rogito.Detect(f.Source) == rogito.KindZIP {
		files, problems, err := asic.Files(s.ctx, f.Source)
		broken := ades.Fatal(problems)
		if err == nil && !broken && len(files) > 0 {
			code := exitOK
			for _, in := range files {
				in.Name = f.Name + "/" + in.Name
				one, err := c.file(s, v, o, in, depth+1)
				if err != nil {
					s.notef("%s: %v", in.Name, err)
					one = exitError
				}
				code = worse(code, one)
			}
			return code, nil
		}
		o.Recursive = o.Recursive || broken // to be told what is wrong with it
	}
	return c.one(s, v, o, f)
}

func (c *verifyCommand) one(s *session, v *rogito.Verifier, o rogito.VerifyOptions, f ades.File) (int, error) {
	r, err := v.Verify(s.ctx, f.Source, o)
	if err != nil {
		return exitError, err
	}
	if c.SaveFacts != "" {
		b, err := json.MarshalIndent(r.Facts, "", "  ")
		if err != nil {
			return exitError, err
		}
		if err := os.WriteFile(c.SaveFacts, b, 0o600); err != nil {
			return exitError, err
		}
	}
	return codeOf(r), c.print(s, r, f.Name)
}

// replay judges stored facts again.
func (c *verifyCommand) replay(s *session, v *rogito.Verifier, o rogito.VerifyOptions) error {
	b, err := os.ReadFile(c.Facts)
	if err != nil {
		return err
	}
	facts := new(report.Facts)
	if err := json.Unmarshal(b, facts); err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	at := o.At
	if at.IsZero() {
		at = facts.GatheredAt
	}
	r := v.Judge(facts, at)
	if err := c.print(s, r, c.Facts); err != nil {
		return err
	}
	if code := codeOf(r); code != exitOK {
		return exit{code: code}
	}
	return nil
}

// codeOf turns an outcome into an exit code.
func codeOf(r *report.Report) int {
	switch r.Outcome() {
	case report.OutcomeValid:
		return exitOK
	case report.OutcomeInvalid:
		return exitInvalid
	}
	return exitUndetermined
}

func (c *verifyCommand) print(s *session, r *report.Report, name string) error {
	lang := report.Lang(c.Lang)
	r.Zone, r.Producer = c.zone, "Rogito "+server.Version
	if c.PDF != "" {
		var b bytes.Buffer
		if err := r.WritePDF(&b, filepath.Base(name), lang); err != nil {
			return err
		}
		if err := os.WriteFile(c.PDF, b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		view, err := r.View(c.Plain)
		if err != nil {
			return err
		}
		view.File = name
		return json.NewEncoder(s.stdout).Encode(view)
	case c.ETSI:
		return r.WriteETSI(s.stdout)
	case c.HTML:
		return r.WriteHTML(s.text(), filepath.Base(name), lang)
	}
	if err := r.WriteText(s.text(), name, lang); err != nil {
		return err
	}
	s.printf("\n")
	return nil
}

// commandMemory is what reading one document may take on the command line,
// where nobody else waits: large XML needs ten times its size.
const commandMemory = 1 << 30
