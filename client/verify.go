package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"rogito.dev/rogito/report"
)

// VerifyRequest is a request to verify the signatures of a document.
type VerifyRequest struct {
	Document  Document   // signed; of [File] or [Bytes]
	Detached  []Document // content of a detached signature
	Password  string     // opens an encrypted PDF
	At        time.Time  // the verdict as of the end of that day, UTC; zero: now
	Recursive bool       // open signed documents inside signed documents
	Plain     bool       // include the signed content in the report
	Language  string     // of the message: en or it
}

// Verdict is the report on a document, with a sentence that summarizes it.
type Verdict struct {
	*report.View
	Message string
}

// Verify verifies a document. A broken, expired or untrusted signature is not an error:
// OverallVerified in the verdict says whether to rely on the document.
func (c *Client) Verify(ctx context.Context, r VerifyRequest) (*Verdict, error) {
	if r.Document.open == nil {
		return nil, fmt.Errorf("rogito: %w", errors.New("verify takes a File or Bytes"))
	}
	// The form is the same at each attempt except for its boundary, which the header must name, so
	// it is generated once.
	boundary := newKey("")
	o := &call{
		method: http.MethodPost, path: "/verify", contentType: "multipart/form-data; boundary=" + boundary,
		body: func() (io.Reader, error) {
			rd, w := io.Pipe()
			go func() { w.CloseWithError(r.write(w, boundary)) }()
			return rd, nil
		},
	}
	view, message, err := ask[*report.View](ctx, c, o)
	if err != nil {
		return nil, err
	}
	return &Verdict{view, message}, nil
}

// write writes the form.
func (r *VerifyRequest) write(to io.Writer, boundary string) error {
	w := multipart.NewWriter(to)
	if err := w.SetBoundary(boundary); err != nil {
		return err
	}
	fields := map[string]string{"pdfEncryptionPassword": r.Password, "language": r.Language, "withPlainDocument": fmt.Sprint(r.Plain), "recursive": fmt.Sprint(r.Recursive)}
	if !r.At.IsZero() {
		fields["verifyOnDate"] = r.At.UTC().Format(time.DateOnly)
	}
	for name, value := range fields {
		if value != "" {
			if err := w.WriteField(name, value); err != nil {
				return err
			}
		}
	}
	if err := writeFile(w, "inputDocument", r.Document); err != nil {
		return err
	}
	for _, d := range r.Detached {
		if err := writeFile(w, "detachedContent", d); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeFile(w *multipart.Writer, field string, d Document) error {
	if d.open == nil {
		return errNoDocument
	}
	src, err := d.open()
	if err != nil {
		return err
	}
	defer src.Close()
	part, err := w.CreateFormFile(field, d.name)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, src)
	return err
}
