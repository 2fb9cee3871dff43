package completion_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	m      = sitetest.M
	record = sitetest.Record
	site   = sitetest.Site
)

var (
	b64       = sitetest.B64
	newSite   = sitetest.NewSite
	optionsOf = sitetest.OptionsOf
)

func TestMain(m *testing.M) { sitetest.Main(m) }
