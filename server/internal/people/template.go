package people

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Template is a document with places that is kept to be asked for again.
type Template struct {
	ID        string                               `json:"id"`
	Account   string                               `json:"account"`
	Name      string                               `json:"name"`
	File      string                               `json:"file"` // name of its document
	SHA256    string                               `json:"sha256"`
	Size      int64                                `json:"size"`
	Blob      string                               `json:"blob"`
	Places    []string                             `json:"places"` // in their order
	Signers   map[string]map[string]jsontext.Value `json:"signers"`
	Options   map[string]jsontext.Value            `json:"options,omitempty"`
	CreatedAt time.Time                            `json:"createdAt"`
}

const templatePurpose = "template"

func (t *Template) owner() string { return "template " + t.Account + " " + t.ID }

// Templates are rows that grant something, which the audit log keeps track of.
var Templates = &audit.Register{
	Kind: "template", Table: "templates", Key: "id", Name: "template",
	Select: `select id, account_id, sealed, blob, created_at from templates`,
	Scan: func(row store.Row) (*audit.Registered, error) {
		r, sealed, blob, created := &audit.Registered{}, []byte(nil), "", int64(0)
		err := row.Scan(&r.ID, &r.Account, &sealed, &blob, &created)
		r.Traits = []any{sealed, blob, created}
		return r, err
	},
}

// AddTemplate keeps one.
func (s *Service) AddTemplate(ctx context.Context, account string, t *Template, document ades.Source) error {
	t.ID, t.Account, t.CreatedAt = store.NewID(), account, s.config.Now().UTC().Truncate(time.Millisecond)
	b, err := s.Blobs.For(t.owner()).Put(ctx, io.NewSectionReader(document, 0, document.Size()))
	if err != nil {
		return fmt.Errorf("people: store template: %w", err)
	}
	t.Blob, t.Size, t.SHA256 = b.ID, b.Size, fmt.Sprintf("%x", b.SHA256)
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	sealed, err := s.Master.SealFor(templatePurpose, t.owner(), text)
	if err != nil {
		return err
	}
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `insert into templates (id, account_id, sealed, blob, created_at) values ($1, $2, $3, $4, $5)`, t.ID, account, sealed, t.Blob, store.Millis(t.CreatedAt)); err != nil {
			return fmt.Errorf("people: store template: %w", err)
		}
		if err := Templates.Write(ctx, tx, s.Audit, t.ID); err != nil {
			return err
		}
		return idempotency.ClaimFrom(ctx).Record(ctx, tx, t.ID, 0)
	})
	if err != nil && !errors.Is(err, fault.Unavailable) {
		_ = s.Blobs.Delete(context.WithoutCancel(ctx), t.Blob) // the sweep of blobs would find it later
	}
	return err
}

func (s *Service) scanTemplate(row store.Row) (*Template, error) {
	t, sealed, blob, created := &Template{}, []byte(nil), "", int64(0)
	if err := row.Scan(&t.ID, &t.Account, &sealed, &blob, &created); err != nil {
		return nil, err
	}
	text, err := s.Master.UnsealFor(templatePurpose, t.owner(), sealed)
	if err != nil {
		return nil, fmt.Errorf("people: template %s: %w", t.ID, err)
	}
	id, account := t.ID, t.Account
	if err := json.Unmarshal(text, t); err != nil || t.ID != id || t.Account != account || t.Blob != blob || store.Millis(t.CreatedAt) != created {
		return nil, fmt.Errorf("people: template %s was changed", id)
	}
	return t, nil
}

const selectTemplates = `select id, account_id, sealed, blob, created_at from templates `

// FindTemplate is one of an account; fault 140 for none.
func (s *Service) FindTemplate(ctx context.Context, account, id string) (*Template, error) {
	t, err := s.scanTemplate(s.DB.Read().QueryRow(ctx, selectTemplates+`where id = $1 and account_id = $2`, id, account))
	if errors.Is(err, store.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no such template")
	}
	return t, err
}

// ListTemplates are those of an account, the newest first.
func (s *Service) ListTemplates(ctx context.Context, account, after string, skip, limit int) ([]*Template, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account)
	rows, err := s.DB.Read().Query(ctx, selectTemplates+`where account_id = $1`+tail, args...)
	return store.All("people: templates", rows, err, s.scanTemplate)
}

// DropTemplate deletes one; requests that were made from it go on.
func (s *Service) DropTemplate(ctx context.Context, account, id string) error {
	t, err := s.FindTemplate(ctx, account, id)
	if err != nil {
		return err
	}
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `delete from templates where id = $1 and account_id = $2`, id, account); err != nil {
			return err
		}
		return Templates.Remove(ctx, tx, s.Audit, account, id)
	})
	if err == nil {
		_ = s.Blobs.Delete(context.WithoutCancel(ctx), t.Blob) // the sweep of blobs would find it later
	}
	return err
}

// Stored is a template as a request takes from it.
func (s *Service) Stored(ctx context.Context, t *Template) (*request.Stored, error) {
	b, err := s.Blobs.For(t.owner()).Open(ctx, t.Blob)
	if err != nil {
		return nil, fmt.Errorf("people: open template: %w", err)
	}
	defer b.Close()
	var document bytes.Buffer
	if _, err := io.Copy(&document, b); err != nil {
		return nil, fmt.Errorf("people: read template: %w", err)
	}
	in := request.DocumentInput(bytes.NewReader(document.Bytes()))
	in.Name = t.File
	return &request.Stored{ID: t.ID, Inputs: []request.Input{in}, Signers: t.Signers, Options: t.Options}, nil
}

// HoldsBlobs returns those of some blobs that are documents of templates; it is a
// blob.Holder.
func (s *Service) HoldsBlobs(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.DB.Read().Query(ctx, `select substr(blob, 1, 24) from templates where substr(blob, 1, 24)`+store.In(len(ids)), store.Args(ids)...)
	return store.All("people: look for templates", rows, err, store.Column[string])
}
