package server_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	farProvider = sitetest.FarProvider
	m           = sitetest.M
	site        = sitetest.Site
)

var (
	b64          = sitetest.B64
	eachEngine   = sitetest.EachEngine
	get          = sitetest.Get
	newProvider  = sitetest.NewProvider
	newSite      = sitetest.NewSite
	optionsOf    = sitetest.OptionsOf
	quiet        = sitetest.Quiet
	selfSigned   = sitetest.SelfSigned
	start        = sitetest.Start
	testDefaults = sitetest.TestDefaults
)

func TestMain(m *testing.M) { sitetest.Main(m) }
