package rogito

import (
	"context"
	"path"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// detachedExtensions are what a detached signature or time-stamp appends to the name of its file.
var detachedExtensions = []string{".p7s", ".p7m", ".p7", ".sig", ".tst", ".tsr", ".xml", ".xades", ".xsig", ".json", ".jws"}

// ContentName is the name of the file that a detached signature or time-stamp of this name belongs
// to: plan.dwg for plan.dwg.p7s; "" if the name has no such extension. Only [IsDetached] says
// whether it is one.
func ContentName(name string) string {
	ext := path.Ext(name)
	if !slices.Contains(detachedExtensions, strings.ToLower(ext)) {
		return ""
	}
	if base := strings.TrimSuffix(name, ext); base != "" && !strings.HasSuffix(base, "/") {
		return base
	}
	return ""
}

// IsDetached reports whether a file is a signature or time-stamp over content
// that it does not carry. One that takes more than a [Verifier] allows is not.
func IsDetached(ctx context.Context, src ades.Source) bool {
	detached := false
	err := limits.Bounded(ctx, DefaultMemory, func(ctx context.Context) error {
		ctx, done := limits.WithTime(ctx, readTime)
		defer done()
		doc, err := Read(ctx, limits.Paying(src, limits.BudgetOf(ctx)), ades.ReadOptions{})
		detached = err == nil && isDetached(doc)
		return err
	})
	return detached && err == nil
}

func isDetached(doc *ades.Document) bool {
	if len(doc.Signatures)+len(doc.Timestamps) == 0 || len(doc.Content) > 0 {
		return false
	}
	for _, s := range doc.Signatures {
		if slices.ContainsFunc(s.References, func(r ades.Reference) bool { return r.Found && r.Kind == "message-digest" }) {
			return false
		}
		if !slices.ContainsFunc(s.References, func(r ades.Reference) bool { return !r.Found }) {
			return false
		}
	}
	return true
}

// Paired returns the files of a folder or archive that have a detached signature or time-stamp
// beside them, by the name of the signature, and the set of those files' names. They get no verdict
// of their own.
func Paired(ctx context.Context, files []ades.File) (content map[string]ades.File, covered map[string]bool) {
	byName := map[string]ades.File{}
	for _, f := range files {
		byName[f.Name] = f
	}
	content, covered = map[string]ades.File{}, map[string]bool{}
	for _, f := range files {
		if c, ok := byName[ContentName(f.Name)]; ok && IsDetached(ctx, f.Source) {
			content[f.Name], covered[c.Name] = c, true
		}
	}
	return content, covered
}
