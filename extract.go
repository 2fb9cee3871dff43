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

// Why [Extract] hands out nothing.
var (
	// ErrNotIntact: a signature or time-stamp does not fit the content, or readers
	// may take the document for something else than what was signed.
	ErrNotIntact = errors.New("the document is not intact, so that nothing is handed out")
	// ErrUndecided: whether a signature fits cannot be told.
	ErrUndecided = errors.New("whether its signature fits cannot be told, so that nothing is handed out")
	// ErrNoContent: the signatures cover nothing that is in the document.
	ErrNoContent = errors.New("there is no content in it that an intact signature covers")
)

// maxExtracted is how many signed files Extract opens inside each other.
const maxExtracted = 8

// Extract returns what the signatures of a file cover: the content of a CMS
// file, the signed files of a container, the revision of a PDF that its last
// signature covers. A signed CMS file inside another is opened in turn, unless it
// carries no content. Of a signed message what is attached to it is handed out, where anything is. Nothing is handed out that an intact signature does not
// cover (ErrNotIntact, ErrUndecided, ErrNoContent). Who signed, and whether that
// can be trusted, only a [Verifier] tells.
//
// Every file has a name that stays in the folder it is put into: the one in the
// container, or that of the signed file without .p7m and the like.
func Extract(ctx context.Context, signed ades.File, o ades.ReadOptions) ([]ades.File, error) {
	files, err := extract(ctx, signed.Source, o, 0)
	if err != nil {
		return nil, err
	}
	return contents(ctx, signed, files)
}

// contents names the files that a signed one holds. A signed message is taken
// apart: what is attached to it is what people look for.
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

// maxMessages is how many messages inside each other are taken apart.
const maxMessages = 3

// attached are the files of a message, and those of the messages in it, each
// under the name of its message: postacert.eml, postacert/contract.pdf. None
// where it is no message or has nothing attached.
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

// covered is the content of a layer that may be handed out, or why there is
// none.
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

// signedEndings are those of files around a content.
var signedEndings = []string{".p7m", ".p7s", ".m7m", ".tsd", ".b64", ".pem"}

// contentName is what the content of a signed file is called: as in its
// container, or as the file without the endings of signatures, and with the one
// of its kind where none is left.
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
