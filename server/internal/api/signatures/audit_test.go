package signatures

import (
	stdjson "encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The text says what the JSON says, in its order: the record, then what
// happened to it.
func TestTrailText(t *testing.T) {
	title := "true\n\"and\" \x7f 🖋 \u0085"
	trail := &auditTrail{AuditData: []auditEntry{{ID: "0123", Log: "12", Kind: "no", Detail: anyJSON(`{"z":[1,2.5,-3e7,"0x10",null,[],{}],"a":"~"}`)}}}
	trail.SignatureData.Document.Title = &title
	text, err := trailYAML(trail)
	if err != nil {
		t.Fatal(err)
	}
	before := -1
	for _, key := range []string{"SignatureAuditReport:", "SignatureData:", "certificateType:", "document:", "AuditData:", "createdAt:", "log:", "z:", "a:"} {
		at := before + 1 + strings.Index(string(text[before+1:]), key)
		if at <= before {
			t.Fatalf("%s is missing or out of order:\n%s", key, text)
		}
		before = at
	}
	var got struct{ SignatureAuditReport any }
	var want any
	j, err := stdjson.Marshal(trail)
	if err != nil {
		t.Fatal(err)
	}
	if err := stdjson.Unmarshal(j, &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text[strings.Index(string(text), "\n")+1:], &got.SignatureAuditReport); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	again, err := stdjson.Marshal(got.SignatureAuditReport)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := stdjson.Unmarshal(again, &plain); err != nil || !reflect.DeepEqual(plain, want) {
		t.Errorf("%v: %s\nis not %s", err, again, j)
	}
}
