package ca

import (
	"crypto/x509/pkix"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
)

// Statements are the QcStatements of EN 319 412-5. The zero value states only
// that the certificate is qualified.
type Statements struct {
	// Seal makes it a certificate for electronic seals of a legal person; else
	// it is for electronic signatures of a natural person.
	Seal bool
	// Device states that the key lives in a qualified device (QcSSCD).
	Device bool
	// Retention is the number of years that records are kept; 0 leaves it out.
	Retention int
	// Disclosures are the PKI disclosure statements by language ("en", "it").
	Disclosures []Disclosure
	// NotQualified leaves QcCompliance out.
	NotQualified bool
}

// Disclosure is the address of a PKI disclosure statement.
type Disclosure struct{ URL, Language string }

func (q *Statements) extension() pkix.Extension {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		if !q.NotQualified {
			statement(b, oid.QcCompliance, nil)
		}
		if q.Device {
			statement(b, oid.QcSSCD, nil)
		}
		statement(b, oid.QcType, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { oid.Add(b, q.kind(oid.QcTypeESign, oid.QcTypeESeal)) })
		})
		if q.Retention > 0 {
			statement(b, oid.QcRetentionPeriod, func(b *cryptobyte.Builder) { b.AddASN1Int64(int64(q.Retention)) })
		}
		if len(q.Disclosures) > 0 {
			statement(b, oid.QcPDS, q.disclosures)
		}
		statement(b, oid.PKIXQCSyntaxV2, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { oid.Add(b, q.kind(oid.SemanticsNatural, oid.SemanticsLegal)) })
		})
	})
	return extension(oid.ExtQcStatements, false, b.BytesOrPanic())
}

func (q *Statements) kind(natural, legal string) string {
	if q.Seal {
		return legal
	}
	return natural
}

func (q *Statements) disclosures(b *cryptobyte.Builder) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		for _, d := range q.Disclosures {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1(cbasn1.IA5String, func(b *cryptobyte.Builder) { b.AddBytes([]byte(d.URL)) })
				b.AddASN1(cbasn1.PrintableString, func(b *cryptobyte.Builder) { b.AddBytes([]byte(d.Language)) })
			})
		}
	})
}

func statement(b *cryptobyte.Builder, id string, info func(*cryptobyte.Builder)) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, id)
		if info != nil {
			info(b)
		}
	})
}
