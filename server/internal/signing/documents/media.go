package documents

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/signing/request"
)

// Media is what a document looks like.
type Media struct {
	MIME, Ext string
}

var (
	mediaPDF = Media{"application/pdf", "pdf"}
	Zip      = Media{"application/zip", "zip"}
	mediaBin = Media{"application/octet-stream", "bin"}
)

// exact are the extensions that the content alone decides; of all other
// documents the caller's name knows better.
var exact = []string{"pdf", "xml", "html", "p7m"}

// mediaOf looks at the content of a document, and at the caller's name for it.
func mediaOf(src ades.Source, name string) Media {
	mime, ext := rogito.MediaType(src)
	if e := extensionOf(name); e != "" && !slices.Contains(exact, ext) {
		ext = e
	}
	return Media{mime, ext}
}

var goodExtension = regexp.MustCompile(`^[a-z0-9]{1,10}$`)

func extensionOf(name string) string {
	e := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if goodExtension.MatchString(e) {
		return e
	}
	return ""
}

// formatFor is the wire's name of the format in which the library signs a
// document by itself.
func formatFor(src ades.Source) request.SignatureType {
	return request.TypeOf(rogito.Options{}.Form(rogito.File("", src)).Format)
}
