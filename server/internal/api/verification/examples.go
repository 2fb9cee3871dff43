package verification

import (
	_ "embed"

	"rogito.dev/rogito/server/internal/api"
)

// example is a text signed as CAdES with the key in sample/.
//
//go:embed example.p7m
var example []byte

// verifyExamples are bodies that the sandbox takes. The signature in them is intact, but no server
// trusts its signer.
var verifyExamples = []api.Example{{
	Name: "cades", Summary: "A signed text (.p7m)",
	Value: map[string]any{"inputDocument": example, "withPlainDocument": true},
}}
