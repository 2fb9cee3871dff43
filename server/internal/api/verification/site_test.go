package verification_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	m = sitetest.M
)

var (
	b64     = sitetest.B64
	newSite = sitetest.NewSite
)

func TestMain(m *testing.M) { sitetest.Main(m) }
