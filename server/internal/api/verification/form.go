package verification

import (
	"context"
	"net/http"
	"strings"

	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/api"
)

// Form verifies what a form of a page brought. A client that asks for JSON, XML
// or PDF gets the answer that POST /verify has; all others get a page, which show
// writes, and a refusal, which refuse writes. Nothing is kept.
func (v *Verify) Form(a *api.API, lang func(*http.Request) paper.Lang, show func(w http.ResponseWriter, r *http.Request, name string, verdict *report.Report), refuse func(http.ResponseWriter, *http.Request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, free, err := api.ReadForm[verifyInput](a, r)
		defer free()
		if err != nil {
			refuse(w, r, err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.Timeout())
		defer cancel()
		q, err := v.parse(in)
		if err != nil {
			refuse(w, r, err)
			return
		}
		q.lang = lang(r)
		q.o.Recursive, q.o.Contents = true, wantsPage(in.Accept)
		verdict, err := v.judge(ctx, q)
		switch {
		case err != nil:
			refuse(w, r, err)
		case wantsPage(in.Accept):
			show(w, r, q.name, verdict)
		default:
			reply, err := v.answer(ctx, q, verdict, in.Accept)
			api.Write(a, w, r, reply, err)
		}
	}
}

// wantsPage: a page is what a client gets that does not ask for another form.
func wantsPage(accept []string) bool {
	for _, mt := range api.Accepted(accept) {
		switch {
		case mt == "text/html" || mt == "*/*":
			return true
		case strings.HasSuffix(mt, "json") || strings.HasSuffix(mt, "/xml") || mt == "application/pdf":
			return false
		}
	}
	return true
}
