package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Every example of the document is sent as it stands, with the sandbox's token,
// and taken; the answers are held to the document. The paths that name a record
// get one that is there.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	base := start(t, func(c *server.Config) { c.Data = data }).URL
	box := server.ReadSandbox(data)
	contract := apitest.Fetch(t, base)
	doc := readDocument(t, base+"/openapi.json")
	token := made(t, base, box, "POST", "/tokens", `{"scopes":["GET:*/credit"],"name":"of the examples"}`, "id")
	ran := 0
	for _, path := range slices.Sorted(maps.Keys(doc["paths"].(object))) {
		for method, o := range doc["paths"].(object)[path].(object) {
			body := asObject(asObject(o.(object)["requestBody"])["content"])
			examples := asObject(asObject(body["application/json"])["examples"])
			for _, name := range slices.Sorted(maps.Keys(examples)) {
				where := path
				switch {
				case strings.HasSuffix(path, "{token}"):
					where = strings.Replace(path, "{token}", token, 1)
				case strings.HasSuffix(path, "/password"):
					where = strings.Replace(path, "{id}", exampleCertificate(t, base, box, "EU-QES_automatic"), 1)
				case strings.HasSuffix(path, "/replace"):
					body := `{"inputDocuments":"` + b64(sitetest.SamplePDF) + `","signers":[{"name":"A","surname":"B","email":"a@example.org","authentication":["email"],"signatures":[]}]}`
					id := made(t, base, box, "POST", "/EU-SES", body, "id")
					where = strings.Replace(strings.Replace(path, "{id}", id, 1), "{signer}", signerOf(t, base, box, id), 1)
				case strings.HasSuffix(path, "/review"):
					where = strings.Replace(path, "{id}", handedIn(t, base, box), 1)
				}
				if strings.Contains(where, "{") {
					t.Fatalf("%s: nobody knows what to put into it", path)
				}
				value, err := json.Marshal(examples[name].(object)["value"])
				if err != nil {
					t.Fatal(err)
				}
				ran++
				a, err := apitest.Send(t.Context(), http.DefaultClient, strings.ToUpper(method), base+where, value, "Authorization", "Bearer "+box.Token)
				if err != nil {
					t.Fatal(err)
				}
				contract.Check(t, a.Request, a.Status, a.Header, a.Body)
				var answer struct {
					Success bool
					Data    struct{ State, ErrorMessage string }
				}
				_ = json.Unmarshal(a.Body, &answer) // lists have no state
				if a.Status != http.StatusOK || !answer.Success || answer.Data.State == "ERROR" || a.Header.Get("X-Ignored") != "" {
					t.Errorf("%s %s, example %s: %d %.500s", method, path, name, a.Status, a.Body)
				}
			}
		}
	}
	if ran < 18 {
		t.Errorf("only %d examples ran", ran)
	}
}

// signerOf is the id of the first signer of a record.
func signerOf(t *testing.T, base string, box *server.Sandbox, id string) string {
	t.Helper()
	a, err := apitest.Send(t.Context(), http.DefaultClient, "GET", base+"/signatures/"+id, nil, "Authorization", "Bearer "+box.Token)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct{ Signers []struct{ ID string } }
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Signers[0].ID
}

// made sends a request that must be taken, and returns a member of its data.
func made(t *testing.T, base string, box *server.Sandbox, method, path, body, member string) string {
	t.Helper()
	a, err := apitest.Send(t.Context(), http.DefaultClient, method, base+path, body, "Authorization", "Bearer "+box.Token)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Data any }
	if err := json.Unmarshal(a.Body, &answer); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	data := answer.Data
	if list, ok := data.([]any); ok && len(list) > 0 {
		data = list[len(list)-1]
	}
	text, _ := asObject(data)[member].(string)
	return text
}

func exampleCertificate(t *testing.T, base string, box *server.Sandbox, kind string) string {
	t.Helper()
	return made(t, base, box, "GET", "/certificates?state=DONE&certificateType="+kind, "", "id")
}

// handedIn is an order whose applicant handed a video in, through the page that
// is for it.
func handedIn(t *testing.T, base string, box *server.Sandbox) string {
	t.Helper()
	a, err := apitest.Send(t.Context(), http.DefaultClient, "POST", base+"/certificates/provider-automatic",
		`{"certificateOwner":"Ada Rossi","identification":"video"}`, "Authorization", "Bearer "+box.Token)
	if err != nil {
		t.Fatal(err)
	}
	var bought struct {
		Data struct{ ID, CertificateLink string }
	}
	if err := json.Unmarshal(a.Body, &bought); err != nil || bought.Data.CertificateLink == "" {
		t.Fatalf("%s", a.Body)
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("action", "video")
	for name, content := range map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()} {
		part, err := w.CreateFormFile(name, name+".bin")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(content)
	}
	_ = w.Close()
	page, err := apitest.Send(t.Context(), http.DefaultClient, "POST", bought.Data.CertificateLink, b.Bytes(), "Content-Type", w.FormDataContentType())
	if err != nil || page.Status != http.StatusOK {
		t.Fatalf("%v %d %.500s", err, page.Status, page.Body)
	}
	return bought.Data.ID
}
