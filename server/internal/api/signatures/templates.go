package signatures

import (
	"context"
	"encoding/json"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/people"
)

type templateRequest struct {
	Name           string          `json:"name" doc:"of the template"`
	InputDocuments inputDocuments  `json:"inputDocuments" doc:"one PDF, in base64"`
	Signers        []templatePlace `json:"signers" doc:"the places"`
	Options        *peopleOptions  `json:"options,omitempty" doc:"as for EU-SES"`
}

type templatePlace struct {
	Place          string        `json:"place" doc:"a word that names it"`
	Signatures     []signerPlace `json:"signatures,omitempty" doc:"where whoever has the place signs"`
	Order          int           `json:"order,omitempty" doc:"lower ones sign first"`
	Role           string        `json:"role,omitempty" enum:"signer,approver,viewer" doc:"default signer"`
	Identification []string      `json:"identification,omitempty" enum:"spid,cie,cns" doc:"one of these has to be gone through"`
}

type templateWire struct {
	ID        string    `json:"id" doc:"of the template"`
	Name      string    `json:"name" doc:"as it was given"`
	CreatedAt string    `json:"createdAt" doc:"when it was made, UTC"`
	Document  fileWords `json:"document" doc:"the PDF"`
	Signers   []anyJSON `json:"signers" doc:"the places, as they were given"`
	Options   anyJSON   `json:"options" doc:"as they were given; null where there are none"`
}

type fileWords struct {
	Name   string `json:"name" doc:"of the file"`
	Size   int64  `json:"size" doc:"in bytes"`
	SHA256 string `json:"sha256" doc:"hexadecimal"`
}

type templateInput struct {
	Body api.Upload[templateRequest]
}

type templateID struct {
	ID api.ID `path:"id" doc:"of the template"`
}

func wireTemplate(t *people.Template) (templateWire, error) {
	w := templateWire{ID: t.ID, Name: t.Name, CreatedAt: stamp(t.CreatedAt), Document: fileWords{t.File, t.Size, t.SHA256}, Signers: []anyJSON{}}
	for _, place := range t.Places {
		members := map[string]any{"place": place}
		for name, v := range t.Signers[place] {
			members[name] = json.RawMessage(v)
		}
		text, err := json.Marshal(members)
		if err != nil {
			return w, err
		}
		w.Signers = append(w.Signers, text)
	}
	var err error
	if t.Options != nil {
		raw := map[string]json.RawMessage{}
		for name, v := range t.Options {
			raw[name] = json.RawMessage(v)
		}
		var text []byte
		text, err = json.Marshal(raw)
		w.Options = text
	}
	return w, err
}

func (p *People) registerTemplates(a *api.API) {
	document := map[string]any{"sourceType": "base64", "name": "page.pdf", "payload": []byte(examplePDF)}
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/templates", ID: "addTemplate", Tag: signatureTag, Summary: "Keep a document with its places", Idempotent: true,
		Errors: []fault.Code{fault.TooLarge, fault.Unavailable, fault.StillRunning, fault.KeyReused, fault.BadField, fault.BadSigners, fault.BadDocuments, fault.BadOption, fault.NoSigners}, Text: "`template` in a call to `/EU-SES` or `/EU-AES` takes document, places and options from it; the signers name their `place`.",
		Examples: []api.Example{{Name: "lease", Summary: "A page for two", Value: map[string]any{
			"name": "Lease", "inputDocuments": document, "signers": []any{
				map[string]any{"place": "landlord", "order": 1, "signatures": []any{map[string]any{"page": 1, "x": 20, "y": 200}}},
				map[string]any{"place": "tenant", "order": 2, "signatures": []any{map[string]any{"page": 1, "x": 220, "y": 200}}},
			}, "options": map[string]any{"level": "B"},
		}}},
	}, p.addTemplate, func(ctx context.Context, again idempotency.Replay) (api.Reply[templateWire], error) {
		return p.templateReply(p.Service.FindTemplate(ctx, account.CallerFrom(ctx).AccountID, again.RecordID))
	})
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/templates", ID: "listTemplates", Tag: signatureTag, Summary: "Templates, newest first", Errors: []fault.Code{fault.BadQuery},
		Text: "Those of the account that asks.",
	}, func(ctx context.Context, in *pageInput) (api.Reply[[]templateWire], error) {
		all, err := p.Service.ListTemplates(ctx, account.CallerFrom(ctx).AccountID, string(in.After), in.Skip, in.Limit)
		out := make([]templateWire, len(all))
		for i, t := range all {
			if err == nil {
				out[i], err = wireTemplate(t)
			}
		}
		return api.Found(out), err
	})
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/templates/{id}", ID: "getTemplate", Tag: signatureTag, Summary: "One template", Errors: []fault.Code{fault.NotFound, fault.MalformedID}, Text: "With its places and options.",
	}, func(ctx context.Context, in *templateID) (api.Reply[templateWire], error) {
		return p.templateReply(p.Service.FindTemplate(ctx, account.CallerFrom(ctx).AccountID, string(in.ID)))
	})
	api.Register(a, api.Op{
		Method: http.MethodDelete, Path: "/templates/{id}", ID: "deleteTemplate", Tag: signatureTag, Summary: "Delete a template", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
		Text: "Requests that were made from it go on.",
	}, func(ctx context.Context, in *templateID) (api.Reply[*struct{}], error) {
		if err := p.Service.DropTemplate(ctx, account.CallerFrom(ctx).AccountID, string(in.ID)); err != nil {
			return api.Reply[*struct{}]{}, err
		}
		return api.Reply[*struct{}]{Message: "Deleted"}, nil
	})
}

func (p *People) templateReply(t *people.Template, err error) (api.Reply[templateWire], error) {
	if err != nil {
		return api.Reply[templateWire]{}, err
	}
	w, err := wireTemplate(t)
	return api.Found(w), err
}

func (p *People) addTemplate(ctx context.Context, in *templateInput) (none api.Reply[templateWire], err error) {
	members, err := in.Body.Object()
	if err != nil {
		return none, err
	}
	req, err := p.Signatures.Service.Requests.ParseTemplate(members, in.Body.Spool, p.Service.Rules())
	if err != nil {
		return none, err
	}
	t := &people.Template{Name: req.Name, File: req.Inputs[0].Name, Places: req.Places, Signers: req.Signers, Options: req.Options}
	if err := p.Service.AddTemplate(ctx, account.CallerFrom(ctx).AccountID, t, req.Inputs[0].Source); err != nil {
		return none, err
	}
	w, err := wireTemplate(t)
	return api.Created(w), err
}
