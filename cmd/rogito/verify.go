package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
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
	Password     string   `env:"ROGITO_PDF_PASSWORD" help:"password of an encrypted PDF; others on the machine see arguments"`
	PasswordFile string   `name:"pdf-password-file" aliases:"password-file" type:"path" placeholder:"FILE" help:"file with the password of an encrypted PDF"`
	At           string   `placeholder:"DATE" help:"the verdict as at the end of that day (YYYY-MM-DD) or at that time (RFC 3339)"`
	Recursive    bool     `short:"r" help:"judge the signed documents inside too: the default"`
	Outer        bool     `help:"judge the outermost document alone, not the signed documents inside it"`
	PolicyFile   string   `name:"policy" placeholder:"FILE" help:"judge by this policy (YAML or JSON) in place of the default one"`
	Summary      bool     `xor:"form" help:"print one line a file, and a count"`
	SignedOnly   bool     `name:"signed-only" help:"leave out what is not signed, unless nothing is: the exit code is that of the rest, and a signature that was taken away goes unseen"`
	Quiet        bool     `short:"q" xor:"form" help:"print nothing: the exit code tells"`
	CSV          string   `name:"csv" placeholder:"OUT" help:"write a table of the verdicts to this file (- is standard output); the reports are not printed unless asked for"`
	JSON         bool     `xor:"form" help:"print the report of POST /verify, one object a line"`
	Plain        bool     `default:"true" negatable:"" help:"with --json: plainDocument, the signed content"`
	ETSI         bool     `name:"etsi" xor:"form" help:"print the report of ETSI TS 119 102-2 as XML"`
	HTML         bool     `name:"html" xor:"form" help:"print a page for people"`
	PDF          string   `name:"pdf" placeholder:"OUT" help:"write the report as PDF to this file"`
	Facts        string   `placeholder:"FILE" help:"judge facts that were stored before (see --save-facts)"`
	SaveFacts    string   `placeholder:"FILE" help:"store everything that was found, to judge it again"`
	Lang         string   `enum:"auto,en,it" default:"auto" help:"language of the report: ${enum}; auto: as LANG says"`
	Timezone     string   `env:"ROGITO_TIMEZONE" placeholder:"ZONE" help:"zone of the times in a report for people, e.g. Europe/Rome; by default that of the machine (TZ)"`

	zone *time.Location
	lang paper.Lang
}

// Help says what the exit codes mean.
func (*verifyCommand) Help() string {
	return example(`Exits 0 if everything is valid, 1 if something is invalid or not signed, 2 if validity cannot be determined, 3 on an error;
of several files the worst counts. Signatures that are valid for a part of a document only leave it undetermined, unless
--element or --file names that part. A file that is itself a time-stamp is valid when it verifies over the content given. A zip
archive that is no container is a folder: one verdict a file. Files are verified side by side, on all processors, and told in
their order.

The table of --csv has the columns path, verdict (valid, invalid, not signed, undetermined, error), format, level, signers,
qualification, time and reason. A cell that a spreadsheet would take for a formula begins with an apostrophe.`,
		"rogito verify contract.pdf",
		"rogito verify --summary archive.zip",
		"rogito verify invoices/ --csv verdicts.csv")
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
	files, err := expand(c.Files)
	if err != nil {
		return err
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = displayName(f.path)
	}
	show, err := c.form(s, names...)
	if err != nil {
		return err
	}
	// What an expectation names is in the container itself.
	items := numbered(s.walk(files, o.Expect == (ades.Expectation{})))
	inOrder(items, func(it numberedItem) judged {
		if f, ok := it.Source.(*sourceFile); ok && show.done != nil && show.done.size {
			show.done.watch(f)
		}
		return c.one(s, v, o, it)
	}, show.add)
	if err := cmp.Or(s.ctx.Err(), show.end()); err != nil {
		return err
	}
	if show.code == exitOK {
		return nil
	}
	return exit{code: show.code}
}

func (c *verifyCommand) prepare(s *session) (*rogito.Verifier, rogito.VerifyOptions, error) {
	o := rogito.VerifyOptions{Recursive: !c.Outer, Password: c.Password, Expect: ades.Expectation{Element: c.Element, File: c.File}}
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
	c.lang = s.language(c.Lang)
	if c.zone, err = zoneOf(c.Timezone); err != nil {
		return nil, o, err
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

// numberedItem is an item and how many came before it.
type numberedItem struct {
	item
	n int
}

func numbered(items iter.Seq[item]) iter.Seq[numberedItem] {
	return func(yield func(numberedItem) bool) {
		n := 0
		for it := range items {
			if !yield(numberedItem{it, n}) {
				return
			}
			n++
		}
	}
}

// one verifies an item; others are verified at the same time.
func (c *verifyCommand) one(s *session, v *rogito.Verifier, o rogito.VerifyOptions, it numberedItem) judged {
	defer it.release()
	j := judged{name: it.Name, code: exitError, verdict: "error"}
	switch {
	case it.err != nil:
		j.err = it.err
		return j
	case it.n > 0 && (c.PDF != "" || c.SaveFacts != ""):
		j.err = errors.New("--pdf and --save-facts are for one file, and there are several")
		return j
	}
	o.Recursive = o.Recursive || it.broken // to be told what is wrong with it
	if j.err = it.load(); j.err != nil {
		return j
	}
	if len(o.Detached) == 0 {
		o.Detached = it.beside
	}
	r, err := v.Verify(s.ctx, it.Source, o)
	if err != nil {
		j.err = locked(err, o.Password)
		return j
	}
	if c.SaveFacts != "" {
		b, err := json.MarshalIndent(r.Facts, "", "  ")
		if err == nil {
			err = os.WriteFile(c.SaveFacts, b, 0o600)
		}
		if err != nil {
			j.err = err
			return j
		}
	}
	return c.judged(r, it.Name)
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
	show, err := c.form(s, c.Facts)
	if err != nil {
		return err
	}
	show.add(c.judged(v.Judge(facts, at), c.Facts))
	if err := show.end(); err != nil || show.code == exitOK {
		return err
	}
	return exit{code: show.code}
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

// commandMemory is what reading one document may take on the command line, where no other request
// waits: large XML needs ten times its size.
const commandMemory = 1 << 30
