package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
)

var peopleNow = time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)

func peopleParse(t testing.TB, kind, body string) (*PeopleRequest, error) {
	t.Helper()
	guard, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	spool := upload.New(t.TempDir(), upload.Limits{})
	defer spool.Close()
	v, err := spool.ReadJSON(strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	members, err := upload.Members(v)
	if err != nil {
		return nil, err
	}
	rules := PeopleRules{
		Now: func() time.Time { return peopleNow }, Expires: 30 * 24 * time.Hour, Identifications: []string{"spid"}, Offers: func(c string) bool { return c == "email" || c == "sms" },
	}
	return Parser{Limits: Limits{}.WithDefaults(), Guard: guard}.ParsePeople(kind, members, nil, spool, rules)
}

const somebody = `{"name":"Ada","surname":"Rossi","email":"ada@example.org","authentication":["email"],"signatures":[]}`

func peopleBody(signer, options string) string {
	return `{"inputDocuments":"JVBERi0xLjQK","signers":[` + signer + `],"options":` + options + `}`
}

func TestPeopleRequest(t *testing.T) {
	req, err := peopleParse(t, SES, peopleBody(`{"name":" Ada ","surname":"Rossi","email":"ada@example.org","authentication":["email"],"signatures":[{"page":2,"x":"10.5","y":20}]}`, `{}`))
	if err != nil {
		t.Fatal(err)
	}
	s := req.Signers[0]
	if s.Name != "Ada" || s.Role != "signer" || s.Language != "browser" || s.Signatures[0] != (Spot{Page: 2, X: 10.5, Y: 20, Width: 164, Height: 45}) {
		t.Errorf("%+v", s)
	}
	o := req.Options
	if p := o.People; !slices.Equal(p.Modes, []string{"typed"}) || !p.Decline || !p.Editable.Email || !p.ExpiresAt.Equal(peopleNow.Add(30*24*time.Hour)) || p.Signers != 1 || o.Level != "B" || !o.AsyncValidation {
		t.Errorf("%+v", o)
	}
}

func TestPeopleRefusals(t *testing.T) {
	with := func(more string) string { return strings.TrimSuffix(somebody, "}") + "," + more + "}" }
	without := func(name string) string {
		var all map[string]jsontext.Value
		if err := json.Unmarshal([]byte(somebody), &all); err != nil {
			t.Fatal(err)
		}
		delete(all, name)
		b, _ := json.Marshal(all)
		return string(b)
	}
	for _, c := range []struct {
		code fault.Code
		kind string
		body string
		word string
	}{
		{685, SES, `{}`, "signers"},
		{685, SES, `{"signers":null}`, "signers"},
		{610, SES, `{"signers":{}}`, "list"},
		{610, SES, `{"signers":[]}`, "empty"},
		{610, SES, peopleBody(strings.TrimSuffix(strings.Repeat(somebody+",", 51), ","), `{}`), "50"},
		{610, SES, peopleBody(`1`, `{}`), "signers[0]"},
		{610, SES, peopleBody(somebody+","+without("name"), `{}`), "signers[1].name"},
		{610, SES, peopleBody(without("surname"), `{}`), "surname"},
		{610, SES, peopleBody(without("authentication"), `{}`), "authentication"},
		{610, SES, peopleBody(without("email"), `{}`), "email"},
		{610, SES, peopleBody(strings.Replace(somebody, `"Ada"`, `"A\u0001"`, 1), `{}`), "name"},
		{610, SES, peopleBody(strings.Replace(somebody, `"email"]`, `"post"]`, 1), `{}`), "authentication"},
		{610, SES, peopleBody(strings.Replace(somebody, `"email"]`, `"sms"]`, 1), `{}`), "mobile"},
		{610, SES, peopleBody(strings.Replace(somebody, "ada@example.org", "ada", 1), `{}`), "email"},
		{610, SES, peopleBody(with(`"mobile":"333"`), `{}`), "mobile"},
		{610, SES, peopleBody(with(`"language":"es"`), `{}`), "language"},
		{610, SES, peopleBody(with(`"order":"x"`), `{}`), "order"},
		{610, SES, peopleBody(with(`"role":"viewer"`), `{}`), "role signer"},
		{610, SES, peopleBody(with(`"identification":["video"]`), `{}`), "video"},
		{610, SES, peopleBody(with(`"identification":["signature"]`), `{}`), "signature"},
		{610, AES, peopleBody(somebody, `{}`), "identification"},
		{610, SES, peopleBody(strings.Replace(somebody, `[]`, `[{"page":0,"x":1,"y":1}]`, 1), `{}`), "page"},
		{610, SES, peopleBody(strings.Replace(somebody, `[]`, `[{"page":1.5,"x":1,"y":1}]`, 1), `{}`), "page"},
		{610, SES, peopleBody(strings.Replace(somebody, `[]`, `[{"page":1,"x":"a","y":1}]`, 1), `{}`), ".x"},
		{610, SES, peopleBody(strings.Replace(somebody, `[]`, `[{"page":1,"x":"NaN","y":1}]`, 1), `{}`), ".x"},
		{610, SES, peopleBody(strings.Replace(somebody, `[]`, `[{"page":1,"x":1}]`, 1), `{}`), ".y"},
		{610, SES, peopleBody(strings.Replace(with(`"mobile":"+393331234567","message":"`+strings.Repeat("x", 154)+`"`), `["email"]`, `["sms"]`, 1), `{}`), "message"},
		{615, SES, `{"signers":[` + somebody + `]}`, "inputDocuments"},
		{625, SES, peopleBody(somebody, `[]`), "options"},
		{625, SES, peopleBody(somebody, `{"foo":1}`), "foo"},
		{625, SES, peopleBody(somebody, `{"level":"LTV"}`), "level"},
		{625, SES, peopleBody(somebody, `{"ui":{"headerTitleColor":"#12345"}}`), "headerTitleColor"},
		{625, SES, peopleBody(somebody, `{"ui":{"other":"#12345"}}`), "other"},
		{625, SES, peopleBody(somebody, `{"ui":{"completeUrl":"javascript:alert(1)"}}`), "completeUrl"},
		{625, SES, peopleBody(somebody, `{"ui":{"cancelUrl":"/x"}}`), "cancelUrl"},
		{625, SES, peopleBody(somebody, `{"ui":{"iframeAncestors":["*"]}}`), "iframeAncestors"},
		{625, SES, peopleBody(somebody, `{"ui":{"iframeAncestors":["https://a.example; script-src *"]}}`), "iframeAncestors"},
		{625, SES, peopleBody(somebody, `{"timezone":"Mars/One"}`), "timezone"},
		{625, SES, peopleBody(somebody, `{"expiresAt":"2026-11-17 23:59:59.000+00:00"}`), "past"},
		{625, SES, peopleBody(somebody, `{"expiresAt":"tomorrow"}`), "expiresAt"},
		{625, SES, peopleBody(somebody, `{"signatureMode":"typed"}`), "signatureMode"},
		{625, SES, peopleBody(somebody, `{"signatureMode":["sung"]}`), "signatureMode"},
		{625, SES, peopleBody(somebody, `{"reminders":{"every":0}}`), "reminders"},
		{625, SES, peopleBody(somebody, `{"userEditableData":{"name":"yes"}}`), "name"},
		{704, SES, strings.TrimSuffix(peopleBody(somebody, `{}`), "}") + `,"callback":{}}`, "callback.url"},
	} {
		_, err := peopleParse(t, c.kind, c.body)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || !strings.Contains(f.Text, c.word) {
			t.Errorf("%.200s: %v, want %d with %q", c.body, err, c.code, c.word)
		}
	}
}

func TestWithCode(t *testing.T) {
	for in, want := range map[string]string{"": "123456", "Code {OTP}!": "Code 123456!", "Code": "Code 123456"} {
		if got := WithCode(in, "123456"); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func FuzzPeopleRequest(f *testing.F) {
	f.Add(peopleBody(somebody, `{"level":"LTA","ui":{"headerTitleColor":"#123456"}}`))
	f.Add(`{"signers":[{}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		req, err := peopleParse(t, SES, body)
		if err != nil {
			return
		}
		for i, s := range req.Signers {
			if s.Name == "" || s.Surname == "" || len(s.Authentication)+len(s.Identification) == 0 && s.Role != "viewer" && s.Username == "" {
				t.Error(fmt.Sprint(i), s)
			}
		}
	})
}
