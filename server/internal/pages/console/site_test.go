package console_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	m         = sitetest.M
	shownPage = sitetest.ShownPage
	site      = sitetest.Site
	somebody  = sitetest.Somebody
	visitor   = sitetest.Visitor
)

var (
	alertOf    = sitetest.AlertOf
	b64        = sitetest.B64
	eachEngine = sitetest.EachEngine
	element    = sitetest.Element
	newSite    = sitetest.NewSite
	start      = sitetest.Start
	unzip      = sitetest.Unzip
)

func TestMain(m *testing.M) { sitetest.Main(m) }
