package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
)

type object = map[string]any

// Everything in the document is described: operations, parameters, members,
// tags, and every JSON body has an example.
func TestDocumentIsDescribed(t *testing.T) {
	t.Parallel()
	doc := readDocument(t, start(t, nil).URL+"/openapi.json")
	if version := doc["info"].(object)["version"].(string); !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		t.Errorf("info.version is %s", version)
	}
	tags := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(object)["name"].(string)] = tag.(object)["description"] != nil
	}
	operations := 0
	for _, items := range []object{doc["paths"].(object), doc["webhooks"].(object)} {
		for path, item := range items {
			for method, o := range item.(object) {
				operations++
				describedOperation(t, method+" "+path, o.(object), tags)
			}
		}
	}
	if operations < 70 {
		t.Errorf("only %d operations", operations)
	}
	for name, s := range doc["components"].(object)["schemas"].(object) {
		describedMembers(t, name, s)
	}
}

func describedOperation(t *testing.T, name string, o object, tags map[string]bool) {
	t.Helper()
	if o["description"] == nil || o["summary"] == nil {
		t.Errorf("%s is not described", name)
	}
	for _, tag := range o["tags"].([]any) {
		if !tags[tag.(string)] {
			t.Errorf("%s: the tag %v is not described", name, tag)
		}
	}
	list, _ := o["parameters"].([]any)
	for _, p := range list {
		if p.(object)["description"] == nil {
			t.Errorf("%s: %v is not described", name, p.(object)["name"])
		}
	}
	body, _ := o["requestBody"].(object)
	content, _ := body["content"].(object)
	if mt, ok := content["application/json"].(object); ok && o["security"] != nil && len(o["security"].([]any)) > 0 && mt["examples"] == nil {
		t.Errorf("%s has no example", name)
	}
	for status, r := range o["responses"].(object) {
		media := slices.Sorted(maps.Keys(asObject(r.(object)["content"])))
		if slices.ContainsFunc(list, func(p any) bool { return p.(object)["name"] == "format" }) { // the client says which
			media = slices.DeleteFunc(media, func(mt string) bool { return mt == "application/geo+json" })
		}
		binary := slices.Contains(media, "application/octet-stream")
		if len(media) > 1 && !binary || binary && slices.Contains(media, "application/json") {
			t.Errorf("%s: %s is answered as %v: generators make one type of them", name, status, media)
		}
	}
}

// What API testing tools found undocumented is documented: an answer in another form, a key whose
// record is gone, what a path takes, and what is no refusal although a client may think so.
func TestDocumentSaysWhatIsAnswered(t *testing.T) {
	t.Parallel()
	doc := readDocument(t, start(t, nil).URL+"/openapi.json")
	op := func(path, method string) object {
		return asObject(asObject(asObject(doc["paths"])[path])[method])
	}
	for _, path := range []string{"/IT-omi", "/IT-omi/zones/{cadastral_code}/{omi_zone}"} {
		content := asObject(asObject(asObject(op(path, "get")["responses"])["200"])["content"])
		if content["application/geo+json"] == nil || content["application/json"] == nil {
			t.Errorf("%s answers %v", path, content)
		}
	}
	for _, kind := range []string{"automatic", "otp", "eseal"} {
		o := op("/EU-QES_"+kind, "post")
		if text := fmt.Sprint(asObject(asObject(o["responses"])["404"])["description"]); !strings.Contains(text, "140: ") {
			t.Errorf("%s: 404 is %s", kind, text)
		}
		if text := fmt.Sprint(o["description"]); !strings.Contains(text, "HTTP 200") || !strings.Contains(text, "`errorNumber` 110") {
			t.Errorf("%s does not say what wrong credentials are: %s", kind, text)
		}
	}
	pattern := func(path, method, name string) *regexp.Regexp {
		list, _ := op(path, method)["parameters"].([]any)
		for _, p := range list {
			if text, _ := asObject(asObject(p)["schema"])["pattern"].(string); asObject(p)["name"] == name && text != "" {
				return regexp.MustCompile(text)
			}
		}
		t.Fatalf("%s %s: %s has no pattern", method, path, name)
		return nil
	}
	for _, c := range []struct{ path, method, name, good, bad string }{
		{"/counters/day/{date}", "get", "date", "2026-11-30", "2026-13-01"},
		{"/counters/month/{date}", "get", "date", "2026-11", "2026-11-30"},
		{"/counters/year/{date}", "get", "date", "2026", "26"},
		{"/stats", "get", "date", "2026-11", "yesterday"},
		{"/token/{token}", "put", "token", "0123456789abcdef01234567", "x"},
		{"/tokens/{token}", "patch", "token", "rgt_" + strings.Repeat("Az9", 16) + "A", "rgr_x"},
	} {
		if re := pattern(c.path, c.method, c.name); !re.MatchString(c.good) || re.MatchString(c.bad) {
			t.Errorf("%s %s: %s", c.method, c.path, re)
		}
	}
}

func asObject(v any) object {
	o, _ := v.(object)
	return o
}

func describedMembers(t *testing.T, name string, schema any) {
	t.Helper()
	s := asObject(schema)
	for member, p := range asObject(s["properties"]) {
		if text, _ := asObject(p)["description"].(string); text == "" {
			t.Errorf("%s.%s is not described", name, member)
		}
		describedMembers(t, name+"."+member, p)
	}
	if s["items"] != nil {
		describedMembers(t, name, s["items"])
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		list, _ := s[word].([]any)
		for _, one := range list {
			describedMembers(t, name, one)
		}
	}
}

func readDocument(t *testing.T, url string) object {
	t.Helper()
	status, text := get(t, url)
	var doc object
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != 200 {
		t.Fatalf("%s: %d %v", url, status, err)
	}
	return doc
}

// newWords are of 3.1 and mean nothing in 3.0.
var newWords = []string{"webhooks", "const", "contentEncoding", "contentMediaType", "jsonSchemaDialect", "prefixItems", "$defs", "identifier"}

func TestOldDocumentHasNoNewWords(t *testing.T) {
	await.All(t)
	t.Parallel()
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for i, one := range v {
				walk(fmt.Sprint(path, "/", i), one)
			}
		case object:
			if _, list := v["type"].([]any); list || v["type"] == "null" {
				t.Errorf("%s: type is %v", path, v["type"])
			}
			if _, list := v["examples"].([]any); list {
				t.Errorf("%s: examples are a list", path)
			}
			for k, one := range v {
				// Members that a client names may be called anything.
				if named := strings.HasSuffix(path, "/properties") || strings.HasSuffix(path, "/value"); !named && slices.Contains(newWords, k) {
					t.Errorf("%s: %s is a word of 3.1", path, k)
				}
				walk(path+"/"+k, one)
			}
		}
	}
	walk("", readDocument(t, start(t, nil).URL+"/openapi-3.0.json"))
}
