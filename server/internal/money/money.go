// Package money has amounts in euro, exact.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Micro is an amount of money in millionths of a euro.
type Micro int64

// Euro is one euro.
const Euro Micro = 1_000_000

// ParseEuro reads an amount such as 0.013 exactly.
func ParseEuro(s string) (Micro, error) {
	bad := fmt.Errorf("money: %q is not an amount in EUR with at most 6 decimals", s)
	digits, negative := strings.CutPrefix(strings.TrimSpace(s), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" || len(fraction) > 6 || strings.ContainsFunc(whole+fraction, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	if err != nil || n > math.MaxInt64/4 {
		return 0, bad
	}
	if negative {
		n = -n
	}
	return Micro(n), nil
}

// String is the amount in EUR, with as many decimals as it needs and at least
// two.
func (m Micro) String() string {
	n, sign := int64(m), ""
	if n < 0 {
		n, sign = -n, "-"
	}
	fraction := strings.TrimRight(fmt.Sprintf("%04d", n%10_000), "0")
	return fmt.Sprintf("%s%d.%02d%s", sign, n/1_000_000, n/10_000%100, fraction)
}

// MarshalJSON writes a number, exact.
func (m Micro) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a number of euro.
func (m *Micro) UnmarshalJSON(b []byte) (err error) {
	*m, err = ParseEuro(string(b))
	if err != nil {
		return errors.New("must be an amount in EUR with at most 6 decimals")
	}
	return nil
}
