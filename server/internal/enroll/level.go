package enroll

import (
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/keys"
)

// Words that a security level is made of.
const (
	NeedPassword          = "password"
	NeedAddress           = "address"
	NeedClientCertificate = "client-certificate"
	NeedOTP               = "otp"
	NeedApproval          = "approval"
)

// Levels says what each security level asks for before a key is used.
type Levels map[int][]string

// DefaultLevels are those of the contract.
func DefaultLevels() Levels {
	return Levels{
		1: {NeedPassword},
		2: {NeedPassword, NeedAddress},
		3: {NeedPassword, NeedClientCertificate},
		4: {NeedPassword, NeedOTP},
		5: {NeedPassword, NeedOTP, NeedApproval},
	}
}

// Redefine returns the default levels with some replaced; an unknown level or
// word is an error.
func Redefine(changes map[int][]string) (Levels, error) {
	l := DefaultLevels()
	known := []string{NeedPassword, NeedAddress, NeedClientCertificate, NeedOTP, NeedApproval}
	for n, words := range changes {
		if n < 1 || n > 5 {
			return nil, fmt.Errorf("signing.levels: %d is not between 1 and 5", n)
		}
		for _, w := range words {
			if !slices.Contains(known, w) {
				return nil, fmt.Errorf("signing.levels: %q is none of %v", w, known)
			}
		}
		if !slices.Contains(words, NeedPassword) {
			return nil, fmt.Errorf("signing.levels: level %d does not ask for the password", n)
		}
		l[n] = words
	}
	return l, nil
}

// Needs says whether a level asks for something.
func (l Levels) Needs(level int, word string) bool { return slices.Contains(l[level], word) }

// fits says whether a kind can have a level: one-time passwords are for the
// kind otp, and that kind is never without.
func (l Levels) fits(k keys.Kind, level int) bool {
	return l.Needs(level, NeedOTP) == (k == keys.OTP)
}

// defaultLevel of a kind: the lowest usual one that fits.
func (l Levels) defaultLevel(k keys.Kind) int {
	want := 1
	if k == keys.OTP {
		want = 4
	}
	if l.fits(k, want) {
		return want
	}
	for n := 1; n <= 5; n++ {
		if l.fits(k, n) {
			return n
		}
	}
	return want
}
