package callback_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	delivered = sitetest.Delivered
	m         = sitetest.M
	record    = sitetest.Record
	site      = sitetest.Site
)

var (
	aBrowser    = sitetest.ABrowser
	allow       = sitetest.Allow
	b64         = sitetest.B64
	countRows   = sitetest.CountRows
	deref       = sitetest.Deref
	eachEngine  = sitetest.EachEngine
	execute     = sitetest.Execute
	field       = sitetest.Field
	newReceiver = sitetest.NewReceiver
	newSite     = sitetest.NewSite
)

func TestMain(m *testing.M) { sitetest.Main(m) }
