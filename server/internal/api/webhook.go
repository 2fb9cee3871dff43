package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// webhookTag is of webhooks alone: generators make a file of each tag, and some
// write that of the operations over with that of the webhooks.
const webhookTag = "Webhooks"

// Webhook describes a call that the service makes: to the callback of a
// record, with data of type D. Standard Webhooks signs it.
func Webhook[D any](a *API, name string, op Op) {
	reg := a.doc.Components.Schemas
	data := reg.Schema(reflect.TypeFor[D](), true, name+"Data")
	data.Description = "the record as it is now"
	body := &huma.Schema{
		Type:        huma.TypeObject,
		Description: "What a callback of the method JSON carries; one of the method POST has the same members as fields of a form.",
		Required:    []string{"data", "custom"},
		Properties:  map[string]*huma.Schema{"data": data, "custom": {Description: "what the request gave as `callback.custom`, else null"}},
	}
	if a.doc.Webhooks == nil {
		a.doc.Webhooks = map[string]*huma.PathItem{}
		a.Tag(webhookTag, "Calls that the service makes: to the callback of a request.")
	}
	header := func(name, text string) *huma.Param {
		return &huma.Param{Name: name, In: "header", Required: true, Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	a.doc.Webhooks[name] = &huma.PathItem{Post: &huma.Operation{
		Method: http.MethodPost, OperationID: op.ID, Tags: []string{webhookTag}, Summary: op.Summary, Description: op.Text,
		Security: []map[string][]string{},
		Parameters: []*huma.Param{
			header("webhook-id", "the same for every attempt at one delivery"),
			header("webhook-timestamp", "unix seconds of the attempt"),
			header("webhook-signature", "`v1,` and base64 of HMAC-SHA-256 over `id.timestamp.body`, one for each secret that is good, separated by spaces"),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": {Schema: body}, // not by name: generators leave out what only a webhook names
		}},
		Responses: map[string]*huma.Response{
			"200": {Description: "Taken. Any 2xx will do."},
			"410": {Description: "Nobody is interested any more: it is not repeated."},
		},
	}}
}
