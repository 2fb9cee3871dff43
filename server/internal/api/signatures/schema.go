package signatures

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
)

// anyJSON is a value whose shape is its maker's, null too.
type anyJSON []byte

// MarshalJSONTo writes it as it is.
func (v anyJSON) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(v) == 0 {
		return enc.WriteToken(jsontext.Null)
	}
	return enc.WriteValue(jsontext.Value(v))
}

// MarshalJSON is the same for encoding/json.
func (v anyJSON) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return []byte("null"), nil
	}
	return v, nil
}

// Schema says that it may be anything.
func (anyJSON) Schema(huma.Registry) *huma.Schema { return anything() }

func anything() *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: "object", AdditionalProperties: true, Nullable: true}, {Type: "array", Items: &huma.Schema{}}, {Type: "string"}, {Type: "number"}, {Type: "boolean"},
	}}
}
