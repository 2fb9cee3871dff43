package completion

import (
	"embed"
	"html/template"
	"sync"

	"rogito.dev/rogito/report/paper"
)

//go:embed page
var files embed.FS

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files, "page/*.html"))
})

// Style is that of the pages and reports, and what only this page has.
func (v *view) Style() template.CSS {
	own, err := files.ReadFile("page/completion.css")
	if err != nil {
		panic(err) // embedded
	}
	return template.CSS(paper.Style + string(own)) //nolint:gosec // our own
}

// Producer is the program and its version.
func (v *view) Producer() string { return v.producer }
