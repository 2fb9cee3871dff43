package asic

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldom"
)

var errBomb = fmt.Errorf("the container inflates to too much: %w", limits.ErrBudget)

// container is an opened ZIP.
type container struct {
	ctx     context.Context
	entries []*entry
	byName  map[string]*entry // the first of each name
	mime    string
	comment string
	budget  atomic.Int64        // files of an archive may be read concurrently
	twice   []string            // names that occur more than once
	spelt   map[string][]*entry // see lookup
	// failed is why reading has to end: too much inflation, or a cancelled context.
	failed error
	// problems of the archive itself: readers may interpret it in two ways.
	problems []ades.Problem
}

// entry is a file in the container.
type entry struct {
	*source
	name   string
	role   role
	marked bool      // the name is flagged as UTF-8
	file   *zip.File // to copy it; set by sound
}

// open reads the directory of a container. An error means that the file is not a ZIP; other defects
// are problems.
func open(ctx context.Context, src ades.Source) (*container, error) {
	l, err := readLayout(src)
	if err != nil {
		return nil, err
	}
	c := &container{ctx: ctx, byName: map[string]*entry{}, comment: l.comment, problems: l.problems}
	c.budget.Store(limits.ZIPInflate + limits.ZIPInflateTimes*src.Size())
	for _, r := range l.records {
		e := &entry{source: newSource(c, src, r), role: roleOf(r.name), marked: r.flags&flagUTF8 != 0}
		e.name = legible(r.name, e.marked)
		if e.role == roleMeta && r.size > 0 && r.name != metaInf+odfManifestName {
			e.role = roleStray // readers ignore it, but users might not
		}
		if r.size == 0 && r.packed > 0 {
			if err := e.empty(); err != nil {
				c.problem(finding.ZIPEntryUnreadable.Problem(e.name, err))
			}
		}
		c.entries = append(c.entries, e)
		if why := leadsOutside(r.name); why != nil {
			c.problem(finding.Of(e.name, why))
		}
		if e.role == roleFolder {
			if r.size > 0 {
				c.problem(finding.ZIPFolderWithContent.Problem(e.name))
			}
			continue
		}
		if c.byName[e.name] != nil {
			c.twice = append(c.twice, e.name)
			continue
		}
		c.byName[e.name] = e
	}
	others := collisions(c.entries)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		c.problem(finding.ZIPSameName.Problem(name, name, others[name]))
	}
	return c, c.readMime()
}

func (c *container) problem(p ades.Problem) {
	if len(c.problems) < 64 {
		c.problems = append(c.problems, p)
	}
}

// cancelled returns the reason to stop reading, if any.
func (c *container) cancelled() error {
	if limits.ReadingOver(c.ctx) {
		return nil
	}
	return c.ctx.Err()
}

// spend charges inflated bytes. They are streamed and not held, so they count against the
// container's own bound and not against memory.
func (c *container) spend(n int64) error {
	if limits.ReadingOver(c.ctx) {
		return nil
	}
	if c.budget.Add(-n) < 0 {
		return errBomb
	}
	return nil
}

// recordError records an error that is not about one entry.
func (c *container) recordError(err error) {
	switch {
	case errors.Is(err, limits.ErrBudget):
		c.failed = &ades.MalformedError{Format: "ZIP", Err: errBomb}
	case c.ctx.Err() != nil:
		c.failed = c.ctx.Err()
	}
}

// openToUpdate opens a container for signing or augmenting. An ambiguous one is an error.
func openToUpdate(ctx context.Context, src ades.Source) (*container, ades.Format, error) {
	c, err := open(ctx, src)
	if err != nil {
		return nil, "", err
	}
	format, err := c.format()
	if err != nil || format == ades.ODF || format == ades.OOXML {
		return nil, "", ErrNotContainer
	}
	for _, p := range c.problems {
		if p.Fatal {
			return nil, "", ades.Malformed("ZIP", p.Where, "%s", p.Text)
		}
	}
	if len(c.twice) > 0 {
		return nil, "", ades.Malformed("ZIP", c.twice[0], "two entries of one name")
	}
	z, err := zip.NewReader(src, src.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) || len(z.File) != len(c.entries) {
		return nil, "", ades.Malformed("ZIP", "", "the directory cannot be read: %v", err)
	}
	for i, f := range z.File {
		c.entries[i].file = f
	}
	return c, format, nil
}

// readMime finds the media type: in the mimetype file, wherever it is and however it is stored, or
// in the comment of the ZIP.
func (c *container) readMime() error {
	if e := c.byName["mimetype"]; e != nil && e.Size() < 1024 {
		b, err := e.bytes()
		if err != nil {
			return err
		}
		c.mime = strings.TrimSpace(strings.TrimPrefix(string(b), "\xEF\xBB\xBF"))
	}
	if e := c.byName["mimetype"]; e != nil && !mediaType.MatchString(c.mime) {
		e.role = roleData // a document with that name
	}
	if c.mime == "" {
		if m, ok := strings.CutPrefix(strings.TrimSpace(c.comment), "mimetype="); ok {
			c.mime = strings.TrimSpace(m)
		}
	}
	return nil
}

// mediaType is the syntax of a mimetype file (RFC 6838, section 4.2).
var mediaType = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}$`)

// of returns the files with certain roles in directory order; of several data files with one name,
// which are equal or a fatal problem, the first.
func (c *container) of(roles ...role) []*entry {
	var found []*entry
	for _, e := range c.entries {
		for _, r := range roles {
			if e.role == r && (r != roleData || c.byName[e.name] == e) {
				found = append(found, e)
			}
		}
	}
	return found
}

// format determines the format, by media type or else by contents.
func (c *container) format() (ades.Format, error) {
	switch {
	case strings.HasPrefix(c.mime, mimeODF):
		return ades.ODF, nil
	case c.isOPC():
		return ades.OOXML, nil
	case c.mime == MediaTypeS:
		return ades.ASiCS, nil
	case c.mime == MediaTypeE:
		return ades.ASiCE, nil
	}
	signed := len(c.of(roleXML, roleCMS, roleTimestamp, roleRecord)) > 0
	switch {
	case !signed:
		return "", ErrNotContainer
	case len(c.of(roleManifest)) == 0 && len(c.of(roleData)) == 1:
		return ades.ASiCS, nil
	}
	return ades.ASiCE, nil
}

// bytes reads a small file.
func (e *entry) bytes() ([]byte, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, ades.Malformed("ZIP", e.name, "%d bytes, more than a signature file may have", e.Size())
	}
	if limits.BudgetOf(e.c.ctx).Spend(e.Size()) != nil {
		return nil, &ades.MalformedError{Format: "ZIP", Where: e.name, Err: errBomb}
	}
	b := make([]byte, e.Size())
	if _, err := io.ReadFull(io.NewSectionReader(e, 0, e.Size()), b); err != nil {
		return nil, &ades.MalformedError{Format: "ZIP", Where: e.name, Err: err}
	}
	return b, nil
}

// files are those of the container, without one of them if it is given.
func (c *container) files(but *entry) []ades.File {
	var out []ades.File
	for _, e := range c.entries {
		if e.role != roleFolder && e != but {
			out = append(out, ades.File{Name: e.name, Source: e})
		}
	}
	return out
}

// xml parses a small file; an error names it by its format.
func (e *entry) xml(format string) (*xmldom.Document, error) {
	b, err := e.bytes()
	if err != nil {
		return nil, err
	}
	d, err := xmldom.ParseContext(e.c.ctx, string(b), xmldom.Limits{})
	if err != nil {
		return nil, &ades.MalformedError{Format: format, Where: e.name, Err: err}
	}
	return d, nil
}

// Detect reports whether a source is a ZIP that may be a signature container.
func Detect(src ades.Source) (ades.Format, bool) {
	c, err := open(context.Background(), src)
	if err != nil {
		return "", false
	}
	f, err := c.format()
	return f, err == nil
}

// Files returns the files of a ZIP that is not a signature container, and the reasons why readers
// may find other files in it.
func Files(ctx context.Context, src ades.Source) ([]ades.File, []ades.Problem, error) {
	c, err := open(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	return c.files(nil), c.problems, nil
}
