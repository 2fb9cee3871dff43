// Package remote is what the providers of remote keys have in common, whatever
// they speak: a provider keeps private keys, gets digests, and answers with
// signature values.
//
// Everything before the one call that signs can fail without harm. That call is
// different: when its answer does not come, the provider may have signed. So
// errors are of a few kinds, and a caller need not know anything else.
package remote

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/internal/fetch"
	own "rogito.dev/rogito/internal/pkix"
)

// Kind of an error.
type Kind int

// The kinds.
const (
	Refused     Kind = iota // the provider said no, or what it said is of no use
	Unreached               // nothing was sent to it, or no answer came and nothing was to be signed
	Unusable                // certificate or key are expired, suspended or revoked there
	Unknown                 // the provider may have signed; nothing is sent again
	Credentials             // it does not know the name or the password
	Code                    // it does not take the one-time password
	Locked                  // the key, or who uses it, is locked there
)

// Error is what came of a call. Its text may be shown: it is ours, with what
// the provider said.
type Error struct {
	Kind Kind
	Text string
	Err  error // for the log
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind.
func Errorf(kind Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), Err: err}
}

// Silent is the error for an answer that did not come after digests were sent.
func Silent(err error, why string) *Error {
	return Errorf(Unknown, err, "outcome unknown at the remote key's provider (%s): it may have signed, nothing is repeated", why)
}

// NoAnswer is the error for a call that signs nothing and was not answered.
func NoAnswer(err error, call string) *Error {
	return Errorf(Unreached, err, "the provider cannot be reached, or does not answer (%s)", call)
}

// Provider keeps keys.
type Provider interface {
	Name() string // in the configuration
	// Open asks the provider about a key, and readies it for the work on one record.
	Open(ctx context.Context, l Login) (Signer, error)
}

// Accounts is a provider where a name and a password are what a key is used with.
type Accounts interface {
	Provider
	// Passes says that callers bring the provider's own names and passwords, and
	// that none are kept here.
	Passes() bool
	// SendCode has a one-time password sent to the holder.
	SendCode(ctx context.Context, l Login) error
	// Hello asks whether the service is there, and for its description of itself.
	Hello(ctx context.Context) (string, error)
}

// Login is what a key is used with. It is secret.
type Login struct {
	ID       string // of the key: a credential's id, a username
	Password string // or PIN
	// Delegate is who uses the holder's key, where that is not the holder.
	Delegate, DelegatePassword string
	// Coded says that the key is used with one-time passwords; OTP is the one at hand,
	// empty where nothing is to be signed, and Device says which device it is from,
	// zero or less where there is only one.
	Coded  bool
	OTP    string
	Device int
	// Session is open at the provider, for the work on one record.
	Session string
	// Tokens keeps the holder's tokens, where there are any.
	Tokens Tokens
}

// Secrets are the values that only the provider may read.
func (l Login) Secrets() []string { return []string{l.Password, l.DelegatePassword, l.OTP, l.Session} }

// Tokens keeps what a holder's login at a provider gave.
type Tokens interface {
	// Turn waits until no one else renews them.
	Turn(ctx context.Context) (leave func(), err error)
	// Read reads them into a value; version names what was read.
	Read(ctx context.Context, tokens any) (version []byte, err error)
	// Replace puts new ones in the place of a version.
	Replace(ctx context.Context, version []byte, tokens any) error
}

// Signer has digests signed with one key, for the work on one record. It is not
// safe for several at once.
type Signer interface {
	// Certificate as the provider has it now, and others that came along.
	Certificate() (*own.Certificate, [][]byte)
	Most() int      // digests that a request may have
	NeedsPSS() bool // the key signs RSASSA-PSS and nothing else
	// Sign has digests signed. An error is about all of them; a Value may have one
	// of its own. Nothing is sent again after an error of the kind Unknown.
	Sign(ctx context.Context, r Request) ([]Value, error)
	// Close ends what is open at the provider.
	Close(ctx context.Context)
}

// Request asks for signature values over digests, at most as many as the signer
// takes at once.
type Request struct {
	Hash    crypto.Hash
	PSS     bool
	Digests [][]byte
	// Expect is how many signatures one one-time password is to pay for, these
	// and those asked for later; More says that there may be even more.
	Expect int
	More   bool
	// Before is called right before digests are sent for signing, each time: those
	// that were sent before came to nothing.
	Before func(context.Context) error
}

// Value is what came of one digest.
type Value struct {
	Value []byte // of ECDSA: DER
	Made  bool   // one came, whatever it is worth
	Err   error
}

// CheckKey refuses keys that no signature should be made with today.
func CheckKey(pub crypto.PublicKey) error {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return Errorf(Refused, nil, "the provider's key is RSA with %d bits: fewer than 2048 are not used", k.N.BitLen())
		}
		return nil
	case *ecdsa.PublicKey:
		if k.Curve.Params().BitSize >= 256 {
			return nil
		}
	}
	return Errorf(Refused, nil, "the provider's key is of a kind that is not used here")
}

// Certificate reads one that a provider gave: DER, or the same as PEM.
func Certificate(b []byte) (*own.Certificate, error) {
	if block, _ := pem.Decode(b); block != nil {
		b = block.Bytes
	}
	c, err := own.ParseCertificate(b)
	if err != nil {
		return nil, Errorf(Refused, err, "a certificate of the provider cannot be read")
	}
	return c, nil
}

// Base64 reads base64 however it is broken into lines, padded or not.
func Base64(s string) ([]byte, error) {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	return base64.RawStdEncoding.DecodeString(s)
}

// maxWords of a provider are repeated.
const maxWords = 300

// Clean keeps of a provider's words what can be shown.
func Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxWords {
		s = string(r[:maxWords]) + "…"
	}
	return strings.TrimSpace(s)
}

// Hide takes secrets out of a provider's words: those are shown to the caller,
// and stored with the record.
func Hide(words string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) >= 4 { // less would take letters out of words
			words = strings.NewReplacer(secret, "…", url.QueryEscape(secret), "…").Replace(words)
		}
	}
	return words
}

// DefaultTimeout of a call.
const DefaultTimeout = 30 * time.Second

// Endpoint is where a provider is, and how it is reached.
type Endpoint struct {
	URL string
	CA  []byte // PEM; empty: those of the system
	// Certificate and Key, PEM, are shown in TLS; empty: none is.
	Certificate, Key []byte
	Timeout          time.Duration // of a call
	AllowPrivate     []string      // beside the provider's own host
}

// Client reaches the host of the URL wherever that is, since the operator chose
// it, and others under the guard's rules. Redirects are not followed.
func (e *Endpoint) Client() (*http.Client, error) {
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("url: %q is not the http(s) address of an API", e.URL)
	}
	if e.Timeout <= 0 {
		e.Timeout = DefaultTimeout
	}
	guard, err := fetch.New(fetch.Config{AllowPrivate: append([]string{u.Hostname()}, e.AllowPrivate...)})
	if err != nil {
		return nil, err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(e.CA) > 0 {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(e.CA) {
			return nil, errors.New("ca: no certificate (PEM) in the file")
		}
	}
	if len(e.Certificate) > 0 {
		pair, err := tls.X509KeyPair(e.Certificate, e.Key)
		if err != nil {
			return nil, fmt.Errorf("client_certificate, client_key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return guard.ClientTLS(e.Timeout, conf), nil
}

// Observe is called for every call to a provider: the operation, what came of it (ok,
// refused, silent, unsent) and how long it took.
type Observe func(operation, outcome string, took time.Duration)
