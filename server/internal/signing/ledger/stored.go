package ledger

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/signing/request"
)

// usualOptions are what a request has that names none. Most do: their records
// store nothing, so these may change only with a mark for what was stored before
// (TestUsualOptions).
var usualOptions = request.DefaultOptions()

// storedOptions are the options as a row has them: nothing where they are the
// usual ones, else without what is false, empty or null.
func storedOptions(o *request.Options) (string, error) {
	if reflect.DeepEqual(*o, usualOptions) {
		return "", nil
	}
	text, err := jsonv2.Marshal(o, jsonv2.OmitZeroStructFields(true))
	return string(text), err
}

func readOptions(text string) (o request.Options, err error) {
	if text == "" {
		return usualOptions, nil
	}
	err = json.Unmarshal([]byte(text), &o)
	return o, err
}

// storedSigner is a signer as a row has it: a word for each member, and the
// provider's name on a list behind them, where there is one.
func storedSigner(s *Signer) string {
	if s == nil {
		return ""
	}
	words := []string{s.Provider, s.QC, s.SSCD}
	if s.TrustProvider != nil {
		words = append(words, *s.TrustProvider)
	}
	return strings.Join(words, "\n")
}

var errSigner = errors.New("it has three words or more")

func readSigner(text string) (*Signer, error) {
	if text == "" {
		return nil, nil
	}
	s := &Signer{}
	words := strings.SplitN(text, "\n", 4)
	if len(words) < 3 {
		return nil, errSigner
	}
	s.Provider, s.QC, s.SSCD = words[0], words[1], words[2]
	if len(words) == 4 {
		s.TrustProvider = &words[3]
	}
	return s, nil
}
