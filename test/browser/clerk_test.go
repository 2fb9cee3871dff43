package browser

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
)

// clerk are ten files of the given corpus, and how many signers the first screen
// names. What it answers stands in docs/pages.md, and is held against that.
var clerk = []struct {
	id      string
	date    string
	signers string
	word    string // data-indication
}{
	{"dss-cades-68234ba4", "", "1", "TOTAL-PASSED"},
	{"dss-asic-e-xades-9290d916", "2024-01-01", "1", "INDETERMINATE"},
	{"dss-asic-e-xades-2ee6a0a9", "", "1", "TOTAL-FAILED"},
	{"siva-asic-e-xades-00d6dd8d", "", "2", "TOTAL-FAILED"},
	{"siva-pades-1d7aa7f1", "", "1", "INDETERMINATE"},
	{"siva-asic-e-xades-844076a4", "", "3", "INDETERMINATE"},
	{"syn-cades-9f4121ee", "", "2", "INDETERMINATE"},
	{"syn-cades-3b90dfeb", "", "2", "TOTAL-FAILED"},
	{"dss-asic-e-none-47ecc21c", "", "1", "INDETERMINATE"},
	{"dd4j-asic-e-xades-a1ed04af", "", "1", "INDETERMINATE"},
}

// written are the rows of the table in docs/pages.md, by the file.
func written(t *testing.T) map[string][]string {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(string(read(t, filepath.Join("..", "..", "docs", "pages.md")))) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) == 5 {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

// A clerk reads the first screen and nothing else: may I rely on it, who signed,
// when, and if not, what now. The texts are printed, without the names of people.
func TestClerk(t *testing.T) {
	cases := map[string]corpus.Case{}
	for _, c := range corpus.Manifest(t) {
		cases[c.ID] = c
	}
	var anchors []string
	for _, name := range []string{"a8ebddea9ba7f78d", "a641fda726c77176"} {
		der := corpus.Read(t, "certs", name+".der")
		if _, err := x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		anchors = append(anchors, keep(t, name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	s := startServer(t, "ROGITO_CONSOLE_CHECK_PER_MINUTE=0", "ROGITO_NETWORK_OFFLINE=true", "ROGITO_TRUST_ANCHORS="+strings.Join(anchors, ","), "ROGITO_TIMEZONE=Europe/Rome")
	b := open(t, s, how{Lang: "it"})
	rows := written(t)
	for _, k := range clerk {
		c, ok := cases[k.id]
		if !ok {
			t.Errorf("%s is not in the corpus", k.id)
			continue
		}
		path := filepath.Join(t.TempDir(), k.id+filepath.Ext(c.File))
		if err := os.WriteFile(path, c.Bytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
		b.goTo("/check")
		b.eval("document.querySelector('#check details').open = true; ''")
		if k.date != "" {
			b.set("#verifyOnDate", k.date)
		}
		b.check(path)
		b.shot("clerk-" + k.id)
		if got := b.attr("#verdict", "data-indication"); got != k.word {
			t.Errorf("%s: %s, not %s", k.id, got, k.word)
		}
		if got := b.count("#verdict .name"); got != k.signers {
			t.Errorf("%s: %s signers are named, not %s", k.id, got, k.signers)
		}
		answers := []string{b.text("#verdict h1"), b.text("#verdict .rely"), strings.TrimPrefix(strings.ReplaceAll(b.text("#verdict .then"), "\n", " "), "Che cosa fare. ")}
		if row := rows[k.id]; len(row) != 4 || !slices.Equal(row[1:], answers) {
			t.Errorf("%s: docs/pages.md has %q, the first screen says:\n| %s | | %s |", k.id, row, k.id, strings.Join(answers, " | "))
		}
		if low := b.eval("document.querySelector('#verdict').getBoundingClientRect().bottom <= innerHeight"); low != "true" {
			t.Errorf("%s: the answers do not fit the first screen", k.id)
		}
		t.Logf("%s\n%s", k.id, b.eval(`(() => {
			const names = [...document.querySelectorAll("#verdict .name")].map(e => e.textContent);
			let text = document.querySelector("#verdict").innerText;
			for (const e of document.querySelectorAll("#verdict .number")) text = text.replaceAll(e.textContent, "[…]");
			for (const n of names) text = text.replaceAll(n, "[NOME]");
			return text.replace(/\n+/g, "\n") })()`))
	}
}
