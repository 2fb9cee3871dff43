package tsp

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Request is a TimeStampReq.
type Request struct {
	Hash         crypto.Hash // 0 if the algorithm is unknown
	Digest       []byte
	Policy       string   // dotted; empty for any
	Nonce        *big.Int // nil for none
	Certificates bool     // certReq: include the unit's certificate

	algorithm []byte // original AlgorithmIdentifier
	critical  bool   // it has unknown extensions
}

// Encode writes the request.
func (r *Request) Encode() ([]byte, error) {
	if r.algorithm == nil {
		if err := oid.CheckHash(r.Hash); err != nil {
			return nil, fmt.Errorf("tsp: %w", err)
		}
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		b.AddBytes(imprint(r.algorithmIdentifier(), r.Digest))
		if r.Policy != "" {
			oid.Add(b, r.Policy)
		}
		if r.Nonce != nil {
			b.AddASN1BigInt(r.Nonce)
		}
		if r.Certificates {
			b.AddASN1Boolean(true)
		}
	})
	return b.Bytes()
}

func (r *Request) algorithmIdentifier() []byte {
	if r.algorithm != nil {
		return r.algorithm
	}
	return cms.DigestAlgorithm(r.Hash)
}

func imprint(algorithm, digest []byte) []byte {
	return cms.TLV(cms.TagSequence, algorithm, cms.TLV(cms.TagOctetString, digest))
}

// ParseRequest reads a TimeStampReq.
func ParseRequest(der []byte) (*Request, error) {
	r, err := parseRequest(der)
	if err != nil {
		return nil, &ades.MalformedError{Format: "TimeStampReq", Err: err}
	}
	return r, nil
}

func parseRequest(der []byte) (*Request, error) {
	e, rest, err := cms.ReadElement(der)
	if err != nil {
		return nil, err
	}
	if e.Tag != cms.TagSequence || len(rest) > 0 {
		return nil, errors.New("not a TimeStampReq")
	}
	f, err := e.Children()
	if err != nil {
		return nil, err
	}
	if len(f) < 2 || f[0].Tag != cms.TagInteger || !bytes.Equal(f[0].Body, []byte{1}) || f[1].Tag != cms.TagSequence {
		return nil, errInfo
	}
	r := &Request{}
	alg, digest, err := parseImprint(f[1])
	if err != nil {
		return nil, err
	}
	parts, _ := f[1].Children()
	r.Hash, _ = oid.Hash(alg)
	r.Digest, r.algorithm = digest, parts[0].Raw
	return r, r.parseOptional(f[2:])
}

func (r *Request) parseOptional(fields []cms.Element) (err error) {
	for _, f := range fields {
		switch f.Tag {
		case cms.TagOID:
			if r.Policy, err = oid.Parse(f.Body); err != nil {
				return err
			}
		case cms.TagInteger:
			r.Nonce = pkix.Integer(f.Body)
		case 0x01:
			r.Certificates = len(f.Body) == 1 && f.Body[0] != 0
		case 0xa0:
			r.critical = true
		default:
			return errInfo
		}
	}
	return nil
}

// StatusError is an authority's refusal.
type StatusError struct {
	Status  int    // PKIStatus: 2 rejection, 3 waiting, …
	Failure int    // bit of PKIFailureInfo; -1 when not given
	Text    string // the authority's text; not to be trusted
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("refused with status %d, failure %d: %q", e.Status, e.Failure, e.Text)
}

// ParseResponse returns the token in a TimeStampResp, or the refusal as a *StatusError.
func ParseResponse(der []byte) (token []byte, err error) {
	e, _, err := cms.ReadElement(der)
	if err != nil {
		return nil, &ades.MalformedError{Format: "TimeStampResp", Err: err}
	}
	parts, err := e.Children()
	if err != nil || len(parts) == 0 || parts[0].Tag != cms.TagSequence {
		return nil, ades.Malformed("TimeStampResp", "", "no status")
	}
	status, err := parts[0].Children()
	if err != nil || len(status) == 0 || status[0].Tag != cms.TagInteger {
		return nil, ades.Malformed("TimeStampResp", "status", "no status")
	}
	code := pkix.Integer(status[0].Body)
	if code.IsInt64() && code.Int64() <= 1 && code.Sign() >= 0 && len(parts) == 2 {
		return parts[1].Raw, nil
	}
	return nil, refusal(code, status[1:])
}

func refusal(code *big.Int, more []cms.Element) error {
	e := &StatusError{Status: int(code.Int64()), Failure: -1}
	for _, m := range more {
		switch m.Tag {
		case cms.TagSequence:
			texts, _ := m.Children()
			for _, t := range texts {
				e.Text += string(t.Body[:min(len(t.Body), 200)])
			}
		case cms.TagBitString:
			e.Failure = firstBit(m.Body)
		}
	}
	return e
}

func firstBit(b []byte) int {
	for i := 8; i < 8*len(b); i++ {
		if b[i/8]&(0x80>>(i%8)) != 0 {
			return i - 8
		}
	}
	return -1
}
