package money

import "testing"

func TestEuro(t *testing.T) {
	for text, want := range map[string]Micro{"0.013": 13_000, "137": 137_000_000, "0.000001": 1, "1000000.00": 1e12, "-2.5": -2_500_000, "0": 0} {
		if got, err := ParseEuro(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "-", ".", ".5", "1,5", "1e3", "0.0000001", "99999999999999999999", "NaN", "1.2.3", "0x1"} {
		if got, err := ParseEuro(bad); err == nil {
			t.Errorf("%q passes for %v", bad, got)
		}
	}
	for m, want := range map[Micro]string{13_000: "0.013", 137_000_000: "137.00", 1: "0.000001", -2_500_000: "-2.50", 0: "0.00"} {
		if m.String() != want {
			t.Errorf("%d is %s, want %s", m, m, want)
		}
	}
}
