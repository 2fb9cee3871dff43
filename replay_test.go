package rogito_test

import (
	"encoding/json"
	"testing"

	"rogito.dev/rogito/report"
)

// reread writes facts and reads them back, as a dispute would.
func reread(t *testing.T, f *report.Facts) *report.Facts {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	out := new(report.Facts)
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}
