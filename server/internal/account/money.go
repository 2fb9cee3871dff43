package account

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
	bad := fmt.Errorf("account: %q is not an amount in EUR with at most 6 decimals", s)
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
func (m Micro) String() string { return string(m.AppendJSON(nil)) }

// AppendJSON appends it as a number, exact.
func (m Micro) AppendJSON(b []byte) []byte {
	n := int64(m)
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/1_000_000, 10)
	point := len(b)
	b = strconv.AppendInt(b, n%1_000_000+1_000_000, 10) // all six digits
	b[point] = '.'
	for b[len(b)-1] == '0' && len(b) > point+3 {
		b = b[:len(b)-1]
	}
	return b
}

// MarshalJSON writes a number, exact.
func (m Micro) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

// UnmarshalJSON reads a number of euro.
func (m *Micro) UnmarshalJSON(b []byte) (err error) {
	*m, err = ParseEuro(string(b))
	if err != nil {
		return errors.New("must be an amount in EUR with at most 6 decimals")
	}
	return nil
}

// Product is something that is paid for.
type Product struct {
	Name         string
	Price        Micro // from the wallet
	Subscription Micro // in a subscription, for showing
	FreePerDay   int64 // -1: all are free
}

// The products, by name.
const (
	ProductSignature   = "signature"
	ProductCertificate = "certificate"
	ProductLookup      = "lookup"
)

// Prices is the price list: net of value added tax.
type Prices struct {
	Signature             Micro
	SignatureSubscription Micro
	Certificate           Micro
	Lookup                Micro
	LookupSubscription    Micro
	FreeLookups           int64 // a day; -1: all are free
	VAT                   int   // percent, named on transactions
}

// Bounds of money, far from what 64 bits hold: no sum of amounts within them
// overflows.
const (
	maxCredit = 1_000_000_000 * Euro // in a wallet
	maxPrice  = 1_000_000 * Euro     // of one thing
)

// Check refuses prices that cannot be.
func (p Prices) Check() error {
	for _, one := range []struct {
		name  string
		price Micro
	}{
		{"signature", p.Signature},
		{"signature_subscription", p.SignatureSubscription},
		{"certificate", p.Certificate},
		{"lookup", p.Lookup},
		{"lookup_subscription", p.LookupSubscription},
	} {
		if one.price < 0 || one.price > maxPrice {
			return fmt.Errorf("money.%s: a price is between 0 and %s EUR", one.name, maxPrice)
		}
	}
	if p.VAT < 0 || p.VAT > 100 {
		return errors.New("money.vat: a percentage is between 0 and 100")
	}
	if p.FreeLookups < -1 || p.FreeLookups > 1<<40 {
		return errors.New("omi.free_per_day is neither a number of quotations nor -1")
	}
	return nil
}

// DefaultPrices is the price list where none is configured.
func DefaultPrices() Prices {
	return Prices{
		Signature: 50_000, SignatureSubscription: 13_000, Certificate: 137 * Euro,
		Lookup: 20_000, LookupSubscription: 3_000, FreeLookups: 1440, VAT: 22,
	}
}

// product is what a call costs; false for a call that is free.
func (p Prices) product(e Endpoint) (Product, bool) {
	switch {
	case e.Method == "POST" && strings.HasPrefix(e.Segment, "EU-QES_"):
		return Product{Name: ProductSignature, Price: p.Signature, Subscription: p.SignatureSubscription}, true
	case e.Method == "POST" && e.Segment == "certificates":
		return Product{Name: ProductCertificate, Price: p.Certificate, Subscription: p.Certificate}, true
	case (e.Method == "GET" || e.Method == "POST") && e.Segment == "IT-omi":
		return Product{Name: ProductLookup, Price: p.Lookup, Subscription: p.LookupSubscription, FreePerDay: p.FreeLookups}, true
	}
	return Product{}, false
}
