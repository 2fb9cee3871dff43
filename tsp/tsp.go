// Package tsp implements the Time-Stamp Protocol of RFC 3161 (with RFC 5816 and EN 319 422) on both
// sides: [Client] obtains tokens from authorities and checks them before they are used, [Responder]
// is an authority. [Read] returns the facts of a token in a document, and [ReadData] those of
// time-stamped files (RFC 5544 .tsd, MIME .m7m).
package tsp

import (
	"crypto"
	"errors"
	"math/big"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Token is a time-stamp token, parsed.
type Token struct {
	Raw       []byte // ContentInfo
	Policy    string // dotted
	Algorithm string // of the imprint, dotted
	Imprint   []byte
	Serial    *big.Int
	Time      time.Time
	Accuracy  time.Duration // 0 if not stated
	Ordering  bool
	Nonce     *big.Int // nil if absent

	given []byte // the input of Parse, including what follows the ContentInfo
	data  *cms.SignedData
}

// Parse parses a token. It is malformed unless it is a SignedData with one signer over a TSTInfo.
func Parse(raw []byte) (*Token, error) {
	if len(raw) > limits.Token {
		return nil, ades.Malformed("TST", "", "token of %d bytes is too large", len(raw))
	}
	sd, err := cms.ParseBytes(raw)
	if err != nil {
		return nil, err
	}
	if sd.ContentType != oid.TSTInfo || sd.Content == nil {
		return nil, ades.Malformed("TST", "SignedData/encapContentInfo", "not a TSTInfo")
	}
	info := make([]byte, sd.Content.Size())
	if _, err := sd.Content.ReadAt(info, 0); err != nil && len(info) > 0 {
		return nil, ades.Malformed("TST", "TSTInfo", "%v", err)
	}
	t := &Token{Raw: raw[:sd.Length], given: raw, data: sd}
	if err := t.parseInfo(info); err != nil {
		return nil, &ades.MalformedError{Format: "TST", Where: "TSTInfo", Err: err}
	}
	if len(sd.SignerInfos) != 1 {
		return nil, ades.Malformed("TST", "SignedData/signerInfos", "%d signers in place of one", len(sd.SignerInfos))
	}
	return t, nil
}

var errInfo = errors.New("fields missing or out of place")

func (t *Token) parseInfo(raw []byte) error {
	e, _, err := cms.ReadElement(raw)
	if err != nil {
		return err
	}
	if e.Tag != cms.TagSequence {
		return errInfo
	}
	f, err := e.Children()
	if err != nil {
		return err
	}
	if len(f) < 5 || f[0].Tag != cms.TagInteger || f[1].Tag != cms.TagOID || f[2].Tag != cms.TagSequence || f[3].Tag != cms.TagInteger {
		return errInfo
	}
	if t.Policy, err = oid.Parse(f[1].Body); err != nil {
		return err
	}
	if t.Algorithm, t.Imprint, err = parseImprint(f[2]); err != nil {
		return err
	}
	t.Serial = pkix.Integer(f[3].Body)
	if t.Time, err = cms.ParseTime(f[4].Raw); err != nil {
		return err
	}
	return t.parseOptional(f[5:])
}

func (t *Token) parseOptional(fields []cms.Element) error {
	for _, f := range fields {
		switch f.Tag {
		case cms.TagSequence:
			t.Accuracy = parseAccuracy(f)
		case 0x01:
			t.Ordering = len(f.Body) == 1 && f.Body[0] != 0
		case cms.TagInteger:
			t.Nonce = pkix.Integer(f.Body)
		case 0xa0, 0xa1: // tsa, extensions
		default:
			return errInfo
		}
	}
	return nil
}

func parseImprint(e cms.Element) (alg string, digest []byte, err error) {
	parts, err := e.Children()
	if err != nil || len(parts) != 2 || parts[1].Tag != cms.TagOctetString {
		return "", nil, errors.New("bad messageImprint")
	}
	a, err := cms.ParseAlgorithm(parts[0].Raw)
	return a.OID, parts[1].Body, err
}

func parseAccuracy(e cms.Element) time.Duration {
	parts, err := e.Children()
	if err != nil {
		return 0
	}
	unit := map[byte]time.Duration{cms.TagInteger: time.Second, 0x80: time.Millisecond, 0x81: time.Microsecond}
	var sum time.Duration
	for _, p := range parts {
		if v := pkix.Integer(p.Body); v.IsInt64() && v.Int64() >= 0 && v.Int64() < 1<<31 {
			sum += time.Duration(v.Int64()) * unit[p.Tag]
		}
	}
	return sum
}

// Hash is the hash function of the imprint; false if it is unknown.
func (t *Token) Hash() (crypto.Hash, bool) { return oid.Hash(t.Algorithm) }
