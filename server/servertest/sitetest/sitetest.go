// Package sitetest has what tests of the whole server share: a server in the test's
// own process with its sandbox (Site), the real binary (Program), and people, cards,
// providers and receivers that it meets. A package of the server tests itself with it
// from outside, as an external test.
package sitetest

import (
	"testing"

	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// Main runs the tests of a package that makes many servers: passwords cost little there.
func Main(m *testing.M) {
	keys.DefaultCost = keys.Cost{Time: 1, Memory: 64}
	storetest.Main(m, clean)
}
