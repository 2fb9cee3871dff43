package request

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
)

// TemplateRequest is a call to keep a document with its places.
type TemplateRequest struct {
	Name   string
	Places []string // in their order
	Stored
}

// templateMembers are what a place of a template keeps of a signer.
var templateMembers = []string{"signatures", "order", "role", "identification"}

// ParseTemplate reads the members of a call to keep a template. What is wrong has the
// code that it would have when people are asked.
func (r Parser) ParseTemplate(members map[string]jsontext.Value, spool *upload.Spool, rules PeopleRules) (*TemplateRequest, error) {
	p := peopleParser{parser: parser{Parser: r, spool: spool}, rules: rules}
	out := &TemplateRequest{Stored: Stored{Signers: map[string]map[string]jsontext.Value{}}}
	if v := members["name"]; absent(v) || p.spool.Unmarshal(v, &out.Name) != nil || out.Name == "" || len(out.Name) > 255 {
		return nil, fault.New(fault.BadField, "name is required, and has at most 255 bytes")
	}
	var list []jsontext.Value
	switch v := members["signers"]; {
	case absent(v):
		return nil, fault.New(fault.NoSigners, "signers is required")
	case v.Kind() != '[' || p.spool.Unmarshal(v, &list) != nil || len(list) == 0 || len(list) > mostSigners:
		return nil, fault.New(fault.BadSigners, "signers must be a list of 1 to %d places", mostSigners)
	}
	for i, v := range list {
		place, kept, err := p.templatePlace(v)
		if err == nil && out.Signers[place] != nil {
			err = errors.New(".place is there twice")
		}
		if err != nil {
			return nil, fault.New(fault.BadSigners, "signers[%d]%v", i, err)
		}
		out.Signers[place], out.Places = kept, append(out.Places, place)
	}
	var err error
	if out.Inputs, err = p.documents(members); err != nil {
		return nil, err
	}
	if len(out.Inputs) != 1 || out.Inputs[0].From == FromRemote {
		return nil, fault.New(fault.BadDocuments, "inputDocuments of a template is one PDF, in base64")
	}
	read, err := p.options(members["options"], nil)
	if err != nil {
		return nil, err
	}
	if v := members["options"]; !absent(v) {
		err = p.spool.Unmarshal(v, &out.Options)
	}
	for name, v := range out.Options {
		out.Options[name] = slices.Clone(v)
	}
	if !absent(out.Options["ui"]) { // long texts lie in the spool, and go with it
		out.Options["ui"], err = json.Marshal(&read.People.UI)
	}
	return out, err
}

// templatePlace reads one: a signer who has no name yet.
func (p *peopleParser) templatePlace(v jsontext.Value) (string, map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return "", nil, errors.New(" must be an object")
	}
	var place string
	if v := members["place"]; absent(v) || p.spool.Unmarshal(v, &place) != nil || place == "" || len(place) > 64 {
		return "", nil, errors.New(".place is required: a word")
	}
	kept := map[string]jsontext.Value{}
	whole := `{"name":"x","surname":"x","email":"x@example.org","certificateUsername":"x"`
	for _, name := range templateMembers {
		if v := members[name]; !absent(v) {
			kept[name] = slices.Clone(v)
			whole += `,"` + name + `":` + string(v)
		}
	}
	var s Signer
	return place, kept, p.signer(jsontext.Value(whole+"}"), nil, nil, &s)
}
