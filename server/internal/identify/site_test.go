package identify_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	bought  = sitetest.Bought
	m       = sitetest.M
	pretend = sitetest.Pretend
	site    = sitetest.Site
)

var (
	aBrowser   = sitetest.ABrowser
	after      = sitetest.After
	allow      = sitetest.Allow
	cardSite   = sitetest.CardSite
	confirming = sitetest.Confirming
	countRows  = sitetest.CountRows
	eachEngine = sitetest.EachEngine
	element    = sitetest.Element
	enrollAt   = sitetest.EnrollAt
	execute    = sitetest.Execute
	newSite    = sitetest.NewSite
	newTwins   = sitetest.NewTwins
	reader     = sitetest.Reader
	submit     = sitetest.Submit
	url_       = sitetest.Address
)

const (
	day      = sitetest.Day
	provider = sitetest.Provider
)

func TestMain(m *testing.M) { sitetest.Main(m) }
