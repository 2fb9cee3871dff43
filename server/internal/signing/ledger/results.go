package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/fault"
)

// DocumentResult is what became of one document of a batch: an element of the record, and of
// report.json in its zip.
type DocumentResult struct {
	Index        int         `json:"index" doc:"of the document in inputDocuments, from 0"`
	Name         string      `json:"name" doc:"as it was sent; empty where it had none"`
	File         *string     `json:"file" doc:"name of the signed document in the zip; null where it was not signed"`
	State        State       `json:"state" enum:"DONE,ERROR" doc:"whether it was signed"`
	ErrorNumber  *fault.Code `json:"errorNumber" doc:"why not; else null"`
	ErrorMessage *string     `json:"errorMessage" doc:"the same in words"`
	SHA256       *string     `json:"sha256" doc:"of the signed document, hexadecimal; null where it was not signed"`
	// Findings are what there is to know of what was signed, as in the record of one
	// document.
	Findings []DocumentNote `json:"findings,omitzero" doc:"what there is to know of what was signed, as document.findings has it of one document; absent where there is nothing"`
}

// DocumentNote is a finding about what was signed.
type DocumentNote struct {
	Code     string `json:"code" doc:"as in docs/findings.md"`
	Severity string `json:"severity" enum:"warning" doc:"how grave it is; a document with an error is not signed"`
	Text     string `json:"text" doc:"the same in words"`
}

// PasswordNeeded is what is said of a PDF that the password given does not open.
const PasswordNeeded = "is protected by a password"

// NeedsPassword says that a document was not signed for want of its password.
func (r *DocumentResult) NeedsPassword() bool {
	return r.ErrorMessage != nil && strings.Contains(*r.ErrorMessage, PasswordNeeded)
}

// Tally says how many documents of a batch were signed.
type Tally struct{ Signed, Of int }

// Partly says that some were, and some were not.
func (t Tally) Partly() bool { return t.Signed > 0 && t.Signed < t.Of }

func (t Tally) String() string { return fmt.Sprintf("%d of %d signed", t.Signed, t.Of) }

// TallyOf counts results.
func TallyOf(all []DocumentResult) (t Tally) {
	for _, r := range all {
		if t.Of++; r.State == Done {
			t.Signed++
		}
	}
	return t
}

// tallyLength is how much of a row's results a list reads: their tally comes first.
const tallyLength = 12

// storedResults are results as a row has them.
func storedResults(all []DocumentResult) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	text, err := json.Marshal(all)
	t := TallyOf(all)
	return fmt.Sprintf("%05d %05d\n%s", t.Signed, t.Of, text), err
}

var errTally = errors.New("they are not as many as their tally says")

// readResults reads what storedResults wrote, or its beginning.
func readResults(text string) (all []DocumentResult, t Tally, err error) {
	if text == "" {
		return nil, t, nil
	}
	head, rest, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscanf(head, "%05d %05d", &t.Signed, &t.Of); err != nil || len(head) != tallyLength-1 {
		return nil, t, errTally
	}
	if rest == "" {
		return nil, t, nil
	}
	if err := json.Unmarshal([]byte(rest), &all); err != nil {
		return nil, t, err
	}
	if t != TallyOf(all) {
		return nil, t, errTally
	}
	return all, t, nil
}
