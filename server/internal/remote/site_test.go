package remote_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	bought      = sitetest.Bought
	farKey      = sitetest.FarKey
	farProvider = sitetest.FarProvider
	m           = sitetest.M
	program     = sitetest.Program
	record      = sitetest.Record
	site        = sitetest.Site
)

var (
	b64           = sitetest.B64
	deref         = sitetest.Deref
	element       = sitetest.Element
	get           = sitetest.Get
	newEurope     = sitetest.NewEurope
	newProgram    = sitetest.NewProgram
	newProvider   = sitetest.NewProvider
	newProviderOf = sitetest.NewProviderOf
	newSite       = sitetest.NewSite
	no            = sitetest.No
	testDefaults  = sitetest.TestDefaults
	unzip         = sitetest.Unzip
)

func TestMain(m *testing.M) { sitetest.Main(m) }
