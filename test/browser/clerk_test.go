package browser

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
)

// clerk are ten files of the given corpus, with what the first screen is to say.
var clerk = []struct {
	id, about  string
	date       string
	recursive  bool
	indication string
	word       string
	signers    string // how many are named
	then       string // in what is to be done
}{
	{"dss-cades-68234ba4", "valid", "", false, "TOTAL-PASSED", "Valida", "1", "Conserva il file"},
	{"dss-asic-e-xades-9290d916", "valid for a part, as at a day", "2024-01-01", false, "INDETERMINATE", "Valida solo in parte", "1", "Fidati solo di quanto è firmato"},
	{"dss-asic-e-xades-2ee6a0a9", "changed after signing", "", false, "TOTAL-FAILED", "Non valida", "1", "Chiedi a chi lo ha inviato l'originale"},
	{"siva-asic-e-xades-00d6dd8d", "two signatures, changed", "", false, "TOTAL-FAILED", "Non valida", "2", "Chiedi a chi lo ha inviato l'originale"},
	{"siva-pades-1d7aa7f1", "nobody known vouches for the signer", "", false, "INDETERMINATE", "Non determinabile", "1", "elenchi di fiducia europei"},
	{"siva-asic-e-xades-844076a4", "three signatures, likewise", "", false, "INDETERMINATE", "Non determinabile", "3", "elenchi di fiducia europei"},
	{"syn-cades-9f4121ee", "p7m in p7m", "", true, "INDETERMINATE", "Non determinabile", "2", "elenchi di fiducia europei"},
	{"syn-cades-3b90dfeb", "p7m in p7m, the inner one changed", "", true, "TOTAL-FAILED", "Non valida", "2", "Chiedi a chi lo ha inviato l'originale"},
	{"dss-asic-e-none-47ecc21c", "time-stamp only", "", false, "INDETERMINATE", "Non determinabile", "1", "elenchi di fiducia europei"},
	{"dd4j-asic-e-xades-a1ed04af", "the signed file is missing", "", false, "INDETERMINATE", "Non determinabile", "1", "Chiedi il file completo"},
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
		if k.recursive {
			b.click("#recursive")
		}
		b.check(path)
		b.shot("clerk-" + k.id)
		if got := b.attr("#verdict", "data-indication"); got != k.indication {
			t.Errorf("%s: %s, not %s", k.id, got, k.indication)
		}
		if got := b.text("#verdict h1"); got != k.word {
			t.Errorf("%s: %q, not %q", k.id, got, k.word)
		}
		if got := b.count("#verdict .name"); got != k.signers {
			t.Errorf("%s: %s signers are named, not %s", k.id, got, k.signers)
		}
		if got := b.text("#verdict .then"); !strings.Contains(got, k.then) {
			t.Errorf("%s: what to do is %q", k.id, got)
		}
		if low := b.eval("document.querySelector('#verdict').getBoundingClientRect().bottom <= innerHeight"); low != "true" {
			t.Errorf("%s: the answers do not fit the first screen", k.id)
		}
		t.Logf("%s (%s)\n%s", k.id, k.about, b.eval(`(() => {
			const names = [...document.querySelectorAll("#verdict .name")].map(e => e.textContent);
			let text = document.querySelector("#verdict").innerText;
			for (const e of document.querySelectorAll("#verdict .number")) text = text.replaceAll(e.textContent, "[…]");
			for (const n of names) text = text.replaceAll(n, "[NOME]");
			return text.replace(/\n+/g, "\n") })()`))
	}
}
