package pec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/message"
)

// The messages of biagioT/java-pec-parser and danzipie/go-pec are real ones whose
// signatures, and some ids and subjects, were taken out by those who published
// them: their facts are read, and say the type that the header says. ROGITO_PEC
// names a folder with them.
func TestRealMessages(t *testing.T) {
	dir := os.Getenv("ROGITO_PEC")
	if dir == "" {
		t.Skip("SKIPPED: set ROGITO_PEC to a folder with real messages (.eml)")
	}
	read := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(strings.ToLower(path), ".eml") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		raw, _ = message.Begin(raw)
		m, err := message.Parse(raw)
		if err != nil {
			t.Logf("%s: %v", d.Name(), err) // one was published without its end
			return nil
		}
		kind := m.Field("X-Ricevuta") + m.Field("X-Trasporto")
		if kind == "" {
			return nil
		}
		p, err := Read(m.Parts[0].Raw)
		if errors.Is(err, ErrNone) {
			t.Logf("%s: its inner part has no end either", d.Name())
			return nil
		}
		if err != nil || p.Type != kind || p.Sender == "" || len(p.Recipients) == 0 || p.Date.IsZero() || p.Provider == "" {
			t.Errorf("%s: %+v, %v", d.Name(), p, err)
			return nil
		}
		t.Logf("%s: %s, header: %v", d.Name(), p.Type, Differs(m.Entity, p))
		read++
		return nil
	})
	if err != nil || read == 0 {
		t.Errorf("%d messages were read: %v", read, err)
	}
}
