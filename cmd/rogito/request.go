//go:build !files

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupFiles, "request", "have a running server sign documents, and fetch the result", func() any { return &requestCommand{} })
}

type requestCommand struct {
	Files        []string `arg:"" type:"existingfile" help:"documents to sign"`
	Data         string   `placeholder:"DIR" default:"data" help:"data folder of a sandbox on this machine: address, token and certificate are taken from there unless given"`
	URL          string   `placeholder:"URL" env:"ROGITO_URL" help:"address of the server"`
	TokenFile    string   `type:"path" placeholder:"FILE" help:"file with the token (else ROGITO_TOKEN)"`
	Kind         string   `enum:"automatic,otp,eseal" default:"automatic" help:"automatic, otp or eseal"`
	Username     string   `help:"username of the certificate"`
	PasswordFile string   `type:"path" placeholder:"FILE" help:"file with its password (else ROGITO_KEY_PASSWORD, else asked for)"`
	Otp          string   `name:"otp" help:"current one-time password"`
	Type         string   `help:"cades, pades, xades or pkcs1; absent: by content"`
	Level        string   `default:"B" help:"B, T, LT, LTA or LTV"`
	Batch        bool     `help:"sign each document on its own"`
	Signer       []string `sep:"none" placeholder:"NAME,EMAIL[,MOBILE]" help:"ask this person to sign in a browser, with a code by mail and, where there is a number, by SMS; once for each person"`
	InOrder      bool     `help:"the signers sign one after another, in the order given"`
	Wait         bool     `help:"wait until all signers have signed, and fetch the document"`
	Title        string   `help:"title of the request"`
	Options      string   `placeholder:"JSON" help:"further options, as the API has them"`
	Out          string   `type:"path" placeholder:"DIR" default:"." help:"folder for the signed document"`
	JSON         bool     `help:"print the record as JSON"`
}

// Help is the page of the command.
func (requestCommand) Help() string {
	return example(`
Sends documents to a running server, follows the work, and writes the signed
document beside you. On the machine of a sandbox nothing but the files is
needed.

With --signer no certificate signs: each person gets a link by mail, reads the
PDFs, proves the address by a code and signs in a browser. The links are printed,
one a line; in a sandbox nothing is sent, and the messages lie in DATA/outbox.`,
		"rogito request contract.pdf",
		"rogito request --batch --level T *.pdf --out signed",
		"rogito request --signer 'Ada Prova,ada@example.org' --in-order --signer 'Ugo Rossi,ugo@example.org' contract.pdf")
}

// apiClient talks to a running server.
type apiClient struct {
	url, token string
	http       *http.Client
	sent       func(done, total int64) // called with how much of a request was sent; may be nil
}

// Run sends, follows and fetches.
func (c *requestCommand) Run(s *session) error {
	api, body, err := c.prepare(s)
	if err != nil {
		return err
	}
	p := s.newProgress("sending")
	api.sent = p.at
	operation := "/EU-QES_" + c.Kind
	if len(c.Signer) > 0 {
		operation = "/EU-SES"
	}
	var rec requestRecord
	if err := api.call(s.ctx, http.MethodPost, operation, body, &rec); err != nil {
		return err
	}
	if len(c.Signer) > 0 && !c.Wait {
		p.end()
		return c.sent(s, &rec)
	}
	for rec.State != "DONE" && rec.State != "ERROR" {
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(300 * time.Millisecond):
		}
		if err := api.call(s.ctx, http.MethodGet, "/signatures/"+rec.ID, nil, &rec); err != nil {
			return err
		}
	}
	p.end()
	return c.finish(s, api, &rec)
}

// sent says where each person signs.
func (c *requestCommand) sent(s *session, rec *requestRecord) error {
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(rec)
	}
	if rec.State == "ERROR" {
		return fmt.Errorf("record %s ended in error %d: %s", rec.ID, *rec.ErrorNumber, *rec.ErrorMessage)
	}
	s.printf("%s\n", rec.ID)
	for _, one := range rec.Signers {
		s.printf("%s %s  %s\n", one.Name, one.Surname, one.URL)
	}
	return nil
}

type requestSigner struct {
	Name    string `json:"name"`
	Surname string `json:"surname"`
	State   string `json:"state"`
	URL     string `json:"url"`
}

type requestRecord struct {
	ID           string          `json:"id"`
	Signers      []requestSigner `json:"signers,omitempty"`
	State        string          `json:"state"`
	ErrorNumber  *int            `json:"errorNumber"`
	ErrorMessage *string         `json:"errorMessage"`
	Options      json.RawMessage `json:"options"`
	Document     struct {
		Signed *struct {
			Name   string `json:"name"`
			SHA256 string `json:"sha256"`
		} `json:"signedDocument"`
		Results []struct {
			Name         string  `json:"name"`
			State        string  `json:"state"`
			ErrorNumber  *int    `json:"errorNumber"`
			ErrorMessage *string `json:"errorMessage"`
		} `json:"results,omitempty"`
	} `json:"document"`
}

func (c *requestCommand) prepare(s *session) (*apiClient, []byte, error) {
	box := server.ReadSandbox(c.Data)
	api := &apiClient{url: c.URL, http: &http.Client{Timeout: 15 * time.Minute}}
	if api.url == "" && box != nil {
		api.url = box.BaseURL
	}
	if api.url == "" {
		return nil, nil, errors.New("--url is needed: there is no sandbox in " + c.Data)
	}
	if err := c.findToken(s, api, box); err != nil {
		return nil, nil, err
	}
	body := map[string]any{"title": c.Title}
	options := map[string]any{"level": c.Level}
	if len(c.Signer) > 0 {
		signers, err := c.signers()
		if err != nil {
			return nil, nil, err
		}
		body["signers"] = signers
	} else {
		password, err := c.findPassword(s, box)
		if err != nil {
			return nil, nil, err
		}
		body["certificateUsername"], body["certificatePassword"] = c.Username, password
		options["asyncSignature"], options["batch"] = true, c.Batch
	}
	b, err := c.body(body, options)
	return api, b, err
}

// signers are the people of --signer, as the API has them.
func (c *requestCommand) signers() (all []map[string]any, err error) {
	for i, text := range c.Signer {
		parts := strings.Split(text, ",")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("--signer: %q is not NAME,EMAIL or NAME,EMAIL,MOBILE", text)
		}
		words := strings.Fields(parts[0])
		if len(words) < 2 {
			return nil, fmt.Errorf("--signer: %q is not a given name and a surname", parts[0])
		}
		last := len(words) - 1
		one := map[string]any{
			"name": strings.Join(words[:last], " "), "surname": words[last], "email": strings.TrimSpace(parts[1]),
			"authentication": []string{"email"}, "signatures": []any{},
		}
		if len(parts) == 3 {
			one["mobile"], one["authentication"] = strings.TrimSpace(parts[2]), []string{"email", "sms"}
		}
		if c.InOrder {
			one["order"] = i + 1
		}
		all = append(all, one)
	}
	return all, nil
}

func (c *requestCommand) findToken(s *session, api *apiClient, box *server.Sandbox) error {
	switch {
	case c.TokenFile != "":
		b, err := os.ReadFile(c.TokenFile)
		api.token = strings.TrimSpace(string(b))
		return err
	case box != nil:
		api.token = box.Token
	}
	if token, _ := s.getenv("ROGITO_TOKEN"); token != "" {
		api.token = token
	}
	if api.token == "" {
		return errors.New("a token is needed: --token-file, or ROGITO_TOKEN")
	}
	return nil
}

func (c *requestCommand) findPassword(s *session, box *server.Sandbox) (string, error) {
	if c.Username == "" && box != nil {
		cred := box.Certificates[c.Kind]
		c.Username = cred.Username
		return cred.Password, nil
	}
	if c.Username == "" {
		return "", errors.New("--username is needed")
	}
	ask := secret{file: c.PasswordFile, variable: "ROGITO_KEY_PASSWORD", prompt: "password of the certificate"}
	return ask.read(s)
}

func (c *requestCommand) body(body, options map[string]any) ([]byte, error) {
	if c.Options != "" {
		if err := json.Unmarshal([]byte(c.Options), &options); err != nil {
			return nil, fmt.Errorf("--options: %w", err)
		}
	}
	body["options"] = options
	if c.Type != "" {
		body["signatureType"] = c.Type
	}
	if c.Otp != "" {
		body["certificateOtp"] = c.Otp
	}
	var docs []map[string]string
	for _, f := range c.Files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		docs = append(docs, map[string]string{"sourceType": "base64", "payload": base64.StdEncoding.EncodeToString(b), "name": filepath.Base(f)})
	}
	body["inputDocuments"] = docs
	return json.Marshal(body)
}

func (c *apiClient) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.url, "/")+path, c.watched(body))
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(c.watched(body)), nil } // to follow a redirect
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(req)
}

// watched is a body that reports how much of it was sent.
func (c *apiClient) watched(body []byte) io.Reader {
	if body == nil {
		return http.NoBody
	}
	return &sending{body: bytes.NewReader(body), tell: c.sent}
}

// sending is a body that reports how much of it was read.
type sending struct {
	body *bytes.Reader // not embedded: it would be copied past Read
	tell func(done, total int64)
}

func (r *sending) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if r.tell != nil {
		r.tell(r.body.Size()-int64(r.body.Len()), r.body.Size())
	}
	return n, err
}

func (c *apiClient) call(ctx context.Context, method, path string, body []byte, data any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var e struct {
		Data    json.RawMessage `json:"data"`
		Success bool            `json:"success"`
		Message string          `json:"message"`
		Error   *int            `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&e); err != nil {
		return fmt.Errorf("the server answered %d: %w", resp.StatusCode, err)
	}
	if !e.Success {
		code := 0
		if e.Error != nil {
			code = *e.Error
		}
		return fmt.Errorf("the server refused (%d): %s", code, e.Message)
	}
	return json.Unmarshal(e.Data, data)
}

func (c *requestCommand) finish(s *session, api *apiClient, rec *requestRecord) error {
	if c.JSON {
		if err := json.NewEncoder(s.stdout).Encode(rec); err != nil {
			return err
		}
	}
	if rec.State == "ERROR" {
		return fmt.Errorf("record %s ended in error %d: %s", rec.ID, *rec.ErrorNumber, *rec.ErrorMessage)
	}
	resp, err := api.send(s.ctx, http.MethodGet, "/signatures/"+rec.ID+"/signedDocument", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %d to the download", resp.StatusCode)
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return err
	}
	path := filepath.Join(c.Out, c.name(rec))
	if _, err := os.Lstat(path); err == nil { // what is signed and paid is not lost to an older file
		path = filepath.Join(c.Out, rec.fileName())
	}
	if !c.JSON {
		s.printf("%s\n", path)
	}
	if err := saveFile(path, resp.Body); err != nil {
		return err
	}
	return rec.unsigned()
}

// unsigned names the documents of a batch that were not signed.
func (r *requestRecord) unsigned() error {
	var failed []string
	for _, one := range r.Document.Results {
		if one.State == "ERROR" {
			failed = append(failed, fmt.Sprintf("%s was not: %s (%d)", one.Name, *one.ErrorMessage, *one.ErrorNumber))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	all := len(r.Document.Results)
	return fmt.Errorf("%d of %d signed; %s", all-len(failed), all, strings.Join(failed, "; "))
}

// name of the signed document: of one file, its own with the new ending.
func (c *requestCommand) name(rec *requestRecord) string {
	if len(c.Files) != 1 {
		return rec.fileName()
	}
	base := filepath.Base(c.Files[0])
	base = strings.TrimSuffix(base, filepath.Ext(base))
	return base + "-signed." + rec.ending()
}

func (r *requestRecord) ending() string {
	_, ext, _ := strings.Cut(r.Document.Signed.Name, ".")
	return ext
}

// fileName is one that no other record has.
func (r *requestRecord) fileName() string { return "signed-" + r.ID + "." + r.ending() }
