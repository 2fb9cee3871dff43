package doctor_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	m    = sitetest.M
	site = sitetest.Site
)

var (
	b64        = sitetest.B64
	eachEngine = sitetest.EachEngine
	flip       = sitetest.Flip
	holding    = sitetest.Holding
	newSite    = sitetest.NewSite
)

func TestMain(m *testing.M) { sitetest.Main(m) }
