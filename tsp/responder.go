package tsp

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net/http"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
)

const (
	queryType = "application/timestamp-query"
	replyType = "application/timestamp-reply"
)

// Responder is a time-stamping unit. It is an http.Handler, and an [rogito.dev/rogito/ades.Stamper]
// for use in the same process.
type Responder struct {
	Certificate *x509.Certificate
	Key         crypto.Signer
	// Chain is included beside the unit's certificate on request.
	Chain []*x509.Certificate
	// Policy of the tokens, dotted; required.
	Policy string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Serial returns the serial number of the next token; nil means random ones of 127 bits.
	Serial func() (*big.Int, error)
	// Accuracy stated in tokens; zero means one second.
	Accuracy time.Duration
	// Hash of the token's own signature; zero means SHA-256 (SHA-512 for Ed25519).
	Hash crypto.Hash
}

// Failures of RFC 3161, 2.4.2 (PKIFailureInfo).
const (
	badAlg              = 0
	badDataFormat       = 5
	unacceptedPolicy    = 15
	unacceptedExtension = 16
	systemFailure       = 25
)

// Stamp issues a token in process.
func (r *Responder) Stamp(ctx context.Context, hash crypto.Hash, digest []byte) ([]byte, error) {
	return r.StampNonce(ctx, hash, digest, nil)
}

// StampNonce is Stamp with a nonce to include; nil for none.
func (r *Responder) StampNonce(_ context.Context, hash crypto.Hash, digest []byte, nonce *big.Int) ([]byte, error) {
	token, failure, err := r.issue(&Request{Hash: hash, Digest: digest, Nonce: nonce, Certificates: true})
	if err != nil {
		return nil, fmt.Errorf("tsp: issue token (failure %d): %w", failure, err)
	}
	return token, nil
}

// Respond answers an encoded request with an encoded response. A refusal is an answer too; the
// error is then for the log.
func (r *Responder) Respond(request []byte) ([]byte, error) {
	req, err := ParseRequest(request)
	if err != nil {
		return refuse(badDataFormat), err
	}
	token, failure, err := r.issue(req)
	if err != nil {
		return refuse(failure), err
	}
	return cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, []byte{cms.TagInteger, 1, 0}), token), nil
}

// refuse encodes a rejection with one failure bit.
func refuse(failure int) []byte {
	bits := make([]byte, failure/8+2)
	bits[0] = byte(7 - failure%8)
	bits[1+failure/8] = 0x80 >> (failure % 8)
	status := cms.TLV(cms.TagSequence, []byte{cms.TagInteger, 1, 2}, cms.TLV(cms.TagBitString, bits))
	return cms.TLV(cms.TagSequence, status)
}

// ServeHTTP answers POST requests of RFC 3161, 3.4. A readable request gets a TimeStampResp, even
// if it is refused; another method, another media type or a body that is too large only gets an
// HTTP status.
func (r *Responder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if mt, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); mt != queryType {
		http.Error(w, "send a time-stamp request as "+queryType, http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, limits.TimestampRequest))
	if err != nil {
		refuseUnreadable(w, err)
		return
	}
	answer, _ := r.Respond(body)
	w.Header().Set("Content-Type", replyType)
	_, _ = w.Write(answer)
}

// refuseUnreadable answers a request that could not be read.
func refuseUnreadable(w http.ResponseWriter, err error) {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, fmt.Sprintf("a time-stamp request has at most %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(w, "the request was cut short", http.StatusBadRequest)
}

// issue makes a token, or returns the failure to answer with.
func (r *Responder) issue(req *Request) (token []byte, failure int, err error) {
	switch {
	case oid.CheckHash(req.Hash) != nil || req.Hash.Size() < crypto.SHA256.Size():
		return nil, badAlg, errors.New("hash function not accepted")
	case len(req.Digest) != req.Hash.Size():
		return nil, badDataFormat, errors.New("imprint of the wrong length")
	case req.Policy != "" && req.Policy != r.Policy:
		return nil, unacceptedPolicy, fmt.Errorf("policy %s not offered", req.Policy)
	case req.critical:
		return nil, unacceptedExtension, errors.New("extensions not accepted")
	}
	info, now, err := r.info(req)
	if err != nil {
		return nil, systemFailure, err
	}
	token, err = r.sign(info, now, req.Certificates)
	return token, systemFailure, err
}

func (r *Responder) info(req *Request) ([]byte, time.Time, error) {
	now := time.Now()
	if r.Now != nil {
		now = r.Now()
	}
	now = now.UTC().Truncate(time.Second)
	serial, err := r.serial()
	if err != nil {
		return nil, now, err
	}
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		oid.Add(b, r.Policy)
		b.AddBytes(imprint(req.algorithmIdentifier(), req.Digest))
		b.AddASN1BigInt(serial)
		b.AddASN1GeneralizedTime(now)
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { addAccuracy(b, cmp.Or(r.Accuracy, time.Second)) })
		if req.Nonce != nil {
			b.AddASN1BigInt(req.Nonce)
		}
	})
	info, err := b.Bytes()
	return info, now, err
}

func addAccuracy(b *cryptobyte.Builder, d time.Duration) {
	if s := int64(d / time.Second); s > 0 {
		b.AddASN1Int64(s)
	}
	if ms := int64(d / time.Millisecond % 1000); ms > 0 {
		b.AddASN1Int64WithTag(ms, cbasn1.Tag(0).ContextSpecific())
	}
	if us := int64(d / time.Microsecond % 1000); us > 0 {
		b.AddASN1Int64WithTag(us, cbasn1.Tag(1).ContextSpecific())
	}
}

func (r *Responder) serial() (*big.Int, error) {
	if r.Serial != nil {
		return r.Serial()
	}
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

func (r *Responder) hash() crypto.Hash {
	if _, ok := r.Key.Public().(ed25519.PublicKey); ok {
		return crypto.SHA512
	}
	return cmp.Or(r.Hash, crypto.SHA256)
}

func (r *Responder) sign(info []byte, now time.Time, certs bool) ([]byte, error) {
	hash := r.hash()
	alg, err := cms.SignatureAlgorithm(r.Key.Public(), hash, false)
	if err != nil {
		return nil, err
	}
	attrs, err := r.attributes(info, now)
	if err != nil {
		return nil, err
	}
	value, err := r.value(attrs)
	if err != nil {
		return nil, fmt.Errorf("sign token: %w", err)
	}
	digestAlg := cms.DigestAlgorithm(hash)
	si, err := cms.ParseSignerInfo(cms.NewSigner{
		Issuer: r.Certificate.RawIssuer, Serial: cms.EncodeInteger(r.Certificate.SerialNumber),
		DigestAlgorithm: digestAlg, SignedAttrs: attrs, SignatureAlgorithm: alg, Signature: value,
	}.Encode())
	if err != nil {
		return nil, err
	}
	sd := &cms.SignedData{ContentType: oid.TSTInfo, Content: bytes.NewReader(info), SignerInfos: []*cms.SignerInfo{si}}
	if err := sd.AddDigestAlgorithm(digestAlg); err != nil {
		return nil, err
	}
	if certs {
		sd.AddCertificates(r.Certificate.Raw)
		for _, c := range r.Chain {
			sd.AddCertificates(c.Raw)
		}
	}
	return sd.Bytes()
}

func (r *Responder) attributes(info []byte, now time.Time) ([]byte, error) {
	at, err := cms.EncodeTime(now)
	if err != nil {
		return nil, err
	}
	return cms.SetOf(cms.TagSet, [][]byte{
		cms.NewAttribute(oid.AttrContentType, cms.TLV(cms.TagOID, oid.Content(oid.TSTInfo))),
		cms.NewAttribute(oid.AttrMessageDigest, cms.TLV(cms.TagOctetString, oid.Sum(r.hash(), info))),
		cms.NewAttribute(oid.AttrSigningTime, at),
		cms.NewAttribute(oid.AttrSigningCertificateV2, cms.SigningCertificateV2(r.Certificate, r.hash())),
	}), nil
}

func (r *Responder) value(attrs []byte) ([]byte, error) {
	if _, ok := r.Key.Public().(ed25519.PublicKey); ok {
		return r.Key.Sign(rand.Reader, attrs, crypto.Hash(0))
	}
	return r.Key.Sign(rand.Reader, oid.Sum(r.hash(), attrs), r.hash())
}
