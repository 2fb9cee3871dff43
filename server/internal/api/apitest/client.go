package apitest

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the contract has it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Answer is what a server answered.
type Answer struct {
	Request *http.Request `json:"-"`
	Status  int           `json:"-"`
	Header  http.Header   `json:"-"`
	Body    []byte        `json:"-"`

	// The members of the envelope, once Open has read it.
	Data    json.RawMessage `json:"data"`
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Error   *int            `json:"error"`
}

// Send sends a request and reads the whole answer. A body that is neither text
// nor bytes is sent as JSON; header are names and values, where an empty value
// takes one away.
func Send(ctx context.Context, client *http.Client, method, url string, body any, header ...string) (*Answer, error) {
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(b)
	case []byte:
		rd = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return nil, err
		}
		rd = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, rd)
	if err != nil {
		return nil, err
	}
	if rd != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &Answer{Request: req, Status: resp.StatusCode, Header: resp.Header}
	a.Body, err = io.ReadAll(resp.Body)
	return a, err
}

// Open reads the envelope.
func (a *Answer) Open() error {
	if err := json.Unmarshal(a.Body, a); err != nil {
		return fmt.Errorf("%d %.300q: %w", a.Status, a.Body, err)
	}
	return nil
}

// Code is the number of the error; 0 where there is none.
func (a *Answer) Code() int {
	if a.Error == nil {
		return 0
	}
	return *a.Error
}

// Record is a signature as a client reads it.
type Record struct {
	ID              string         `json:"id"`
	CreatedAt       string         `json:"createdAt"`
	UpdatedAt       string         `json:"updatedAt"`
	CertificateType string         `json:"certificateType"`
	State           string         `json:"state"`
	SignatureType   *string        `json:"signatureType"`
	Options         map[string]any `json:"options"`
	ErrorNumber     *int           `json:"errorNumber"`
	ErrorMessage    *string        `json:"errorMessage"`
	DocumentTitle   string         `json:"documentTitle"` // of a list's element
	Document        struct {
		Title             *string `json:"title"`
		Description       *string `json:"description"`
		InputDocuments    []File  `json:"inputDocuments"`
		ValidatedDocument *File   `json:"validatedDocument"`
		SignedDocument    *File   `json:"signedDocument"`
		Findings          []struct{ Code, Severity, Text string }
		Results           []Result `json:"results"`
	} `json:"document"`
}

// Result is what became of one document of a batch.
type Result struct {
	Index              int
	Name, State        string
	File, ErrorMessage *string
	ErrorNumber        *int
	SHA256             *string
	Findings           []struct{ Code, Severity, Text string }
}

// File is a document of a record.
type File struct {
	SourceType, CreatedAt, Mimetype, Extension, ID, MD5, SHA256, Name string
	Size                                                              int64
}

// Of says whether the record's word about a file is true of these bytes.
func (f *File) Of(b []byte) bool {
	sum, old := sha256.Sum256(b), md5.Sum(b) //nolint:gosec // the contract has both
	return f != nil && f.Size == int64(len(b)) && f.SHA256 == hex.EncodeToString(sum[:]) && f.MD5 == hex.EncodeToString(old[:])
}
