package verification

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// Page writes the verdicts on the documents of one form.
type Page interface {
	// Begin gets their number.
	Begin(n int)
	// More is asked before each but the first; a refusal is the verdict on it and
	// on all behind it.
	More() error
	// Add is a verdict, or why there is none. The report is good until it returns.
	Add(ctx context.Context, name string, verdict *report.Report, refused *fault.Error) error
	End()
	// Refuse answers in the place of all verdicts.
	Refuse(error)
}

// Form verifies what a form of a page brought: documents, folders, archives. A
// client that asks for JSON, XML or PDF gets the answer that POST /verify has, on
// one document; all others get a page. Nothing is kept.
func (v *Verify) Form(a *api.API, lang func(*http.Request) paper.Lang, open func(http.ResponseWriter, *http.Request) Page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page := open(w, r)
		in, free, err := api.ReadForm[verifyInput](a, r)
		defer free()
		if err != nil {
			page.Refuse(err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.Timeout())
		defer cancel()
		if wantsPage(in.Accept) {
			if err := v.pages(ctx, in, lang(r), page); err != nil {
				page.Refuse(err)
				return
			}
			page.End()
			return
		}
		q, err := v.parse(in)
		if err != nil {
			page.Refuse(err)
			return
		}
		q.lang, q.o.Recursive = lang(r), true
		verdict, err := v.judge(ctx, q)
		if err != nil {
			page.Refuse(err)
			return
		}
		reply, err := v.answer(ctx, q, verdict, in.Accept)
		api.Write(a, w, r, reply, err)
	}
}

// maxDocuments bounds what one form has judged, and maxZips how deep archives
// inside each other are opened.
const (
	maxDocuments = 1000
	maxZips      = 4
)

// found is a document of a form, in the order in which they are judged.
type found struct {
	ades.File
	beside []ades.File // what a detached signature or time-stamp is over
	packed bool        // it is in an archive
}

// pages judges every document of a form for a page.
func (v *Verify) pages(ctx context.Context, in *verifyInput, lang paper.Lang, page Page) error {
	q := &verification{lang: lang}
	files, err := v.chosen(append(in.Body.Form("inputDocument"), in.Body.Form("inputFolder")...))
	if err == nil && len(files) == 0 {
		err = fault.New(fault.BadVerifyDocument, "inputDocument is required: choose a file")
	}
	if err == nil {
		err = v.around(q, &in.Body)
	}
	if err != nil {
		return err
	}
	q.lang, q.o.Recursive, q.o.Contents = lang, true, true
	docs := gather(ctx, nil, "", files, 0)
	page.Begin(len(docs))
	given := q.o.Detached
	var refused *fault.Error
	for i, d := range docs {
		one := *q
		one.name, one.o.Name = d.Name, d.Name
		if one.o.Detached = d.beside; len(given) > 0 && (len(docs) == 1 || rogito.IsDetached(ctx, d.Source)) {
			one.o.Detached = given
		}
		if i > 0 && refused == nil {
			refused = v.mayGo(ctx, i, page)
		}
		var verdict *report.Report
		why := refused
		if why == nil {
			if verdict, err = v.read(ctx, &one, d); err != nil && (!errors.As(err, &why) || len(docs) == 1) {
				return err
			}
		}
		if err := page.Add(ctx, d.Name, verdict, why); err != nil {
			return err
		}
	}
	return nil
}

// mayGo says why document i and those behind it are not judged any more.
func (v *Verify) mayGo(ctx context.Context, i int, page Page) *fault.Error {
	err := page.More()
	switch {
	case i >= maxDocuments:
		return fault.New(fault.LimitReached, "more than %d documents are not judged at once", maxDocuments)
	case ctx.Err() != nil:
		return fault.New(fault.LimitReached, "the time for one request was over")
	}
	var f *fault.Error
	errors.As(err, &f)
	return f
}

// smallEntry is up to what size a file of an archive is unpacked at once. Larger
// ones are inflated again from the start each time a reader goes back.
const smallEntry = 8 << 20

// read judges one document.
func (v *Verify) read(ctx context.Context, q *verification, d found) (*report.Report, error) {
	src := d.Source
	if v.MaxDocument > 0 && src.Size() > v.MaxDocument {
		return nil, fault.New(fault.TooLarge, "%s is larger than %d bytes", q.name, v.MaxDocument)
	}
	if d.packed && src.Size() <= smallEntry {
		b, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
		if err != nil {
			return nil, fault.New(fault.BadVerifyDocument, "%s cannot be unpacked", q.name)
		}
		src = bytes.NewReader(b)
	}
	q.src = src
	return v.judge(ctx, q)
}

// gather opens plain archives, and puts detached signatures together with the
// files beside them.
func gather(ctx context.Context, to []found, below string, files []ades.File, depth int) []found {
	beside, covered := map[string]ades.File{}, map[string]bool{}
	if len(files) > 1 {
		beside, covered = rogito.Paired(ctx, files)
	}
	for _, f := range files {
		content, signs := beside[f.Name]
		hidden := strings.HasPrefix(path.Base(f.Name), ".") && len(files) > 1 // of programs, in a folder
		if covered[f.Name] && !signs || hidden || ctx.Err() != nil || len(to) > maxDocuments {
			continue
		}
		one := found{File: ades.File{Name: below + f.Name, Source: f.Source}, packed: depth > 0}
		if signs {
			one.beside = []ades.File{{Name: path.Base(content.Name), Source: content.Source}}
		} else if depth < maxZips && rogito.Detect(f.Source) == rogito.KindZIP {
			inside, problems, err := rogito.Archived(ctx, f.Source)
			if err == nil && !ades.Fatal(problems) && len(inside) > 0 {
				to = gather(ctx, to, below+f.Name+"/", inside, depth+1)
				continue
			}
		}
		to = append(to, one)
	}
	return to
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
