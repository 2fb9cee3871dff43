package server_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	answer      = sitetest.Answer
	asked       = sitetest.Asked
	farProvider = sitetest.FarProvider
	m           = sitetest.M
	running     = sitetest.Running
	site        = sitetest.Site
)

var (
	after        = sitetest.After
	b64          = sitetest.B64
	eachEngine   = sitetest.EachEngine
	engines      = sitetest.Engines
	get          = sitetest.Get
	newProvider  = sitetest.NewProvider
	newSite      = sitetest.NewSite
	optionsOf    = sitetest.OptionsOf
	quiet        = sitetest.Quiet
	selfSigned   = sitetest.SelfSigned
	start        = sitetest.Start
	testDefaults = sitetest.TestDefaults
	work         = sitetest.Work
)

func TestMain(m *testing.M) { sitetest.Main(m) }
