package account

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"strings"
)

// Secrets have a prefix that says what they are (and lets scanners find them
// where they should not be), 256 random bits, and a checksum that tells a
// mistyped one from a wrong one without a look at the database.
const (
	tokenPrefix   = "rgt_"
	refreshPrefix = "rgr_"
	keyPrefix     = "rgk_"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// 43 characters of base 62 hold 256 bits; 6 hold the checksum.
const secretLength = 4 + 43 + 6

func newSecret(prefix string) string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	body := prefix + encode62(new(big.Int).SetBytes(b[:]), 43)
	return body + checksum(body)
}

func encode62(n *big.Int, width int) string {
	out := make([]byte, width)
	base, rest := big.NewInt(62), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, rest)
		out[i] = base62[rest.Int64()]
	}
	return string(out)
}

func checksum(body string) string {
	n := uint64(crc32.ChecksumIEEE([]byte(body)))
	var out [6]byte
	for i := 5; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}

// hasForm says whether s looks like a secret with that prefix.
func hasForm(s, prefix string) bool { return len(s) == secretLength && strings.HasPrefix(s, prefix) }

// wellFormed says whether s could be a secret with that prefix.
func wellFormed(s, prefix string) bool {
	return hasForm(s, prefix) && checksum(s[:secretLength-6]) == s[secretLength-6:]
}

// LooksSecret says whether a text holds what looks like a secret of ours.
func LooksSecret(s string) bool {
	for _, p := range []string{tokenPrefix, refreshPrefix, keyPrefix, sessionPrefix, linkPrefix, "whsec_"} {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func lastFour(secret string) string { return secret[len(secret)-4:] }

// hash is what is stored of a secret: useless without the master key.
func (s *Service) hash(secret string) [32]byte { return s.master.MAC("secrets", []byte(secret)) }

// keyHash is what is stored of an account's API key. In the row of another account
// it is good for nothing.
func (s *Service) keyHash(account, key string) [32]byte {
	return s.master.MAC("api key", []byte(account+" "+key))
}
