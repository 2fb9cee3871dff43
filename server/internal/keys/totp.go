package keys

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// One-time passwords are TOTP (RFC 6238): SHA-1, 30 seconds, six digits, one
// step either way.
const totpPeriod = 30

// NewTOTPSecret makes a secret of 160 bits, in base32.
func NewTOTPSecret() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)
}

// TOTPKey is the secret as enrolment apps read it.
func TOTPKey(issuer, username, secret string) (*otp.Key, error) {
	return otp.NewKeyFromURL(fmt.Sprintf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=6&period=%d",
		issuer, username, secret, issuer, totpPeriod))
}

// Code is the one-time password at a time.
func Code(secret string, at time.Time) (string, error) {
	return codeAt(secret, uint64(at.Unix()/totpPeriod))
}

func codeAt(secret string, step uint64) (string, error) {
	return hotp.GenerateCodeCustom(secret, step, hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
}

// Step finds the step whose code was given, around a time; 0 when none fits.
func Step(secret, code string, at time.Time) (int64, error) { return stepOf(secret, code, at) }

// stepOf finds the step whose code was given, around a time; 0 when none fits.
// It always compares all three, in constant time.
func stepOf(secret, code string, at time.Time) (int64, error) {
	code = strings.ReplaceAll(strings.TrimSpace(code), " ", "")
	now, found := at.Unix()/totpPeriod, int64(0)
	for _, step := range []int64{now - 1, now, now + 1} {
		want, err := codeAt(secret, uint64(step))
		if err != nil {
			return 0, fmt.Errorf("keys: one-time password: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = step
		}
	}
	return found, nil
}

// Fits says whether a code is one of a secret at a time. It counts nothing: it is for
// who has just been shown the secret.
func Fits(secret, code string, at time.Time) bool {
	step, err := stepOf(secret, code, at)
	return err == nil && step != 0
}
