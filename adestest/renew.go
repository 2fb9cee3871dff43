package adestest

// RenewUnit replaces the time-stamping unit by a new one, valid from now on,
// as an authority does every few years. The old one stays what it was.
func (p *PKI) RenewUnit() error { return p.unit() }
