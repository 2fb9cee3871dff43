package pdf

import "testing"

// TestWinAnsi: a name in any European script can be read.
func TestWinAnsi(t *testing.T) {
	for name, want := range map[string]string{
		"Jiří Dvořák": `Jir\355 Dvor\341k`, "Łukasz": "Lukasz", "Γιώργος": "Giorgos", "Щерев": "Shterev", "Ünal (x)": `\334nal \(x\)`, "Žižek": `\216i\236ek`, "漢": "?",
	} {
		if got := WinAnsi(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
