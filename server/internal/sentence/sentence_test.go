package sentence

import (
	"encoding/json"
	"errors"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
)

// A sentence is its English text in JSON, with the causes of errors and without credentials; in
// another language so are the sentences in it.
func TestSentence(t *testing.T) {
	err := fault.New(fault.Unavailable, "no answer").Because(errors.New("dial https://anna:canary@a.example"))
	s := New("%d of <%s>: %v", 2, []Sentence{New("a list"), New("of two")}, err)
	got, _ := json.Marshal(struct {
		Text Sentence `json:"text"`
		None Sentence `json:"none,omitzero"`
	}{Text: s})
	want, _ := json.Marshal(map[string]string{"text": "2 of <a list; of two>: no answer: dial https://[redacted]@a.example"})
	if string(got) != string(want) {
		t.Errorf("%s, not %s", got, want)
	}
	if got := s.In(map[Form]Form{"%d of <%s>: %v": "%d di %s: %v", "a list": "un elenco"}); got != "2 di un elenco; of two: no answer: dial https://[redacted]@a.example" {
		t.Error(got)
	}
}
