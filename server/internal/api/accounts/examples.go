package accounts

import "rogito.dev/rogito/server/internal/api"

// Bodies that the sandbox takes.
var (
	tokenExamples = []api.Example{{
		Name: "read", Summary: "A token that reads signatures for an hour, a thousand times",
		Value: map[string]any{"scopes": []string{"GET:*/signatures"}, "name": "reader", "ttl": 3600, "limits": map[string]any{"totalRequests": 1000}},
	}}
	renameExamples = []api.Example{{Name: "rename", Summary: "Another name", Value: map[string]any{"name": "reader of the archive"}}}
	firstExamples  = []api.Example{{
		Name: "sign", Summary: "A token that signs automatically for an hour",
		Value: map[string]any{"scopes": []string{"POST:*/EU-QES_automatic", "GET:*/signatures"}, "ttl": 3600},
	}}
)
