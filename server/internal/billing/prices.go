package billing

import (
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/money"
)

// Product is something that is paid for.
type Product struct {
	Name         string
	Price        money.Micro // from the wallet
	Subscription money.Micro // in a subscription, for showing
	FreePerDay   int64       // -1: all are free
}

// The products, by name.
const (
	ProductSignature   = "signature"
	ProductCertificate = "certificate"
	ProductLookup      = "lookup"
	ProductSES         = "ses"
)

// Prices is the price list: net of value added tax.
type Prices struct {
	Signature             money.Micro
	SignatureSubscription money.Micro
	Certificate           money.Micro
	SES                   money.Micro // people are asked to sign
	Lookup                money.Micro
	LookupSubscription    money.Micro
	FreeLookups           int64 // a day; -1: all are free
	VAT                   int   // percent, named on transactions
}

// Bounds of money, far from what 64 bits hold: no sum of amounts within them
// overflows.
const (
	maxCredit = 1_000_000_000 * money.Euro // in a wallet
	maxPrice  = 1_000_000 * money.Euro     // of one thing
)

// Check refuses prices that cannot be.
func (p Prices) Check() error {
	for _, one := range []struct {
		name  string
		price money.Micro
	}{
		{"signature", p.Signature},
		{"signature_subscription", p.SignatureSubscription},
		{"certificate", p.Certificate},
		{"lookup", p.Lookup},
		{"lookup_subscription", p.LookupSubscription},
		{"ses", p.SES},
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
		Signature: 50_000, SignatureSubscription: 13_000, Certificate: 137 * money.Euro, SES: 90_000,
		Lookup: 20_000, LookupSubscription: 3_000, FreeLookups: 1440, VAT: 22,
	}
}

// Prices are those of this server.
func (s *Service) Prices() Prices { return s.prices }

// product is what a call costs; false for a call that is free.
func (p Prices) product(e account.Endpoint) (Product, bool) {
	switch {
	case e.Method == "POST" && strings.HasPrefix(e.Segment, "EU-QES_"):
		return Product{Name: ProductSignature, Price: p.Signature, Subscription: p.SignatureSubscription}, true
	case e.Method == "POST" && (e.Segment == "EU-SES" || e.Segment == "EU-AES"):
		return Product{Name: ProductSES, Price: p.SES, Subscription: p.SES}, true
	case e.Method == "POST" && e.Segment == "certificates":
		return Product{Name: ProductCertificate, Price: p.Certificate, Subscription: p.Certificate}, true
	case (e.Method == "GET" || e.Method == "POST") && e.Segment == "IT-omi":
		return Product{Name: ProductLookup, Price: p.Lookup, Subscription: p.LookupSubscription, FreePerDay: p.FreeLookups}, true
	}
	return Product{}, false
}
