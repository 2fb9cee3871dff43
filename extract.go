package rogito

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/visible"
)

// Reasons why [Extract] returns nothing.
var (
	// ErrNotIntact: a signature or time-stamp does not match the content, or readers may show
	// something other than what was signed.
	ErrNotIntact = errors.New("the document is not intact, so that nothing is handed out")
	// ErrUndecided: it cannot be determined whether a signature matches.
	ErrUndecided = errors.New("whether its signature fits cannot be told, so that nothing is handed out")
	// ErrNoContent: the signatures cover nothing that the document contains.
	ErrNoContent = errors.New("there is no content in it that an intact signature covers")
)

// maxExtracted is how many nested signed files Extract opens.
const maxExtracted = 8

// Extract returns what the signatures of a file cover: the content of a CMS file, the signed files
// of a container, the revision of a PDF that its last signature covers. A signed CMS file inside
// another is opened in turn, unless it carries no content. Of a signed message Extract returns the
// attachments, if it has any. Content that no intact signature covers is never returned
// (ErrNotIntact, ErrUndecided, ErrNoContent). Extract says nothing about who signed, or whether
// they can be trusted; that takes a [Verifier].
//
// Every file has a local name (see [filepath.IsLocal]): its name in the container, or that of the
// signed file without .p7m and the like.
func Extract(ctx context.Context, signed ades.File, o ades.ReadOptions) ([]ades.File, error) {
	files, err := extract(ctx, signed.Source, o, 0)
	if err != nil {
		return nil, err
	}
	return contents(ctx, signed, files)
}

// contents names the files that a signed one holds. Of a signed message it returns the attachments,
// since those are what users look for.
func contents(ctx context.Context, signed ades.File, files []ades.File) ([]ades.File, error) {
	files = slices.Clone(files)
	if len(files) == 1 && kindOf(signed.Source) == KindSMIME {
		if parts := attached(ctx, files[0].Source, "", 0); len(parts) > 0 {
			return parts, nil
		}
	}
	for i := range files {
		f := &files[i]
		switch {
		case len(files) == 1:
			f.Name = contentName(signed.Name, *f)
		case f.Name == "": // parts of an XML document
			f.Name = fmt.Sprintf("part-%d.xml", i+1)
		case !filepath.IsLocal(f.Name):
			return nil, ades.Malformed("ZIP", f.Name, "the name leads out of the folder")
		}
	}
	return files, nil
}

// maxMessages is how many nested messages are opened.
const maxMessages = 3

// attached returns the files of a message and those of the messages in it, each under the name of
// its message: postacert.eml, postacert/contract.pdf. It returns none if src is no message or has
// no attachments.
func attached(ctx context.Context, src ades.Source, folder string, depth int) []ades.File {
	if src.Size() > limits.Armour || limits.BudgetOf(ctx).Spend(2*src.Size()) != nil {
		return nil
	}
	raw, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil
	}
	parts, err := message.Files(raw)
	if err != nil {
		return nil
	}
	taken := map[string]bool{}
	var out []ades.File
	for i, p := range parts {
		name := visible.Name(p.Name)
		if !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
			name = fmt.Sprintf("part-%d", i+1)
		}
		for n := 2; taken[strings.ToLower(name)]; n++ {
			ext := path.Ext(p.Name)
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(visible.Name(p.Name), ext), n, ext)
		}
		taken[strings.ToLower(name)] = true
		f := ades.File{Name: path.Join(folder, name), Source: bytes.NewReader(p.Data)}
		out = append(out, f)
		if base, is := strings.CutSuffix(name, ".eml"); is && base != "" && depth+1 < maxMessages {
			out = append(out, attached(ctx, f.Source, path.Join(folder, base), depth+1)...)
		}
	}
	return out
}

func extract(ctx context.Context, src ades.Source, o ades.ReadOptions, depth int) ([]ades.File, error) {
	doc, err := Read(ctx, src, o)
	if err != nil {
		return nil, err
	}
	if len(doc.Signatures)+len(doc.Timestamps) == 0 && !ades.Fatal(doc.Problems) {
		return nil, ErrNotSigned
	}
	decided := func(s *ades.Signature) bool { return s.Intact() != ades.Unknown }
	files, err := covered(doc)
	if errors.Is(err, ErrNoContent) && depth > 0 && len(doc.Signatures) > 0 && !slices.ContainsFunc(doc.Signatures, decided) {
		return []ades.File{{Source: src}}, nil // a detached signature is what was signed
	}
	if err != nil {
		return nil, err
	}
	if len(files) == 1 && depth < maxExtracted && Detect(files[0].Source) == KindCMS {
		return extract(ctx, files[0].Source, o, depth+1)
	}
	return files, nil
}

// covered returns the content of a layer that an intact signature covers, or the reason why there
// is none.
func covered(doc *ades.Document) ([]ades.File, error) {
	for _, p := range doc.Problems {
		if p.Fatal {
			return nil, fmt.Errorf("%w: %s", ErrNotIntact, p.Text)
		}
	}
	switch fits := doc.Fits(); {
	case fits == ades.No:
		return nil, fmt.Errorf("%w: a signature or time-stamp does not fit", ErrNotIntact)
	case len(doc.Content) == 0:
		return nil, ErrNoContent
	case fits != ades.Yes:
		return nil, ErrUndecided
	}
	return doc.Content, nil
}

// signedEndings are the extensions of files that wrap a content.
var signedEndings = []string{".p7m", ".p7s", ".m7m", ".tsd", ".b64", ".pem"}

// contentName names the content of a signed file: its name in the container, or the name of the
// signed file without signature extensions. If no extension is left, that of the content's kind is
// added.
func contentName(signed string, content ades.File) string {
	if content.Name != "" && filepath.IsLocal(content.Name) {
		return path.Base(filepath.ToSlash(content.Name))
	}
	name := path.Base(filepath.ToSlash(signed))
	for slices.Contains(signedEndings, strings.ToLower(path.Ext(name))) {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	if !filepath.IsLocal(name) || name == "." {
		name = "content"
	}
	if path.Ext(name) == "" {
		name += map[Kind]string{KindXML: ".xml", KindPDF: ".pdf"}[Detect(content.Source)]
	}
	return name
}
