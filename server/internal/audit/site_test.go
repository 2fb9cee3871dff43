package audit_test

import "rogito.dev/rogito/server/servertest/sitetest"

// What these tests share with those of other packages.
type (
	issued = sitetest.Issued
	m      = sitetest.M
	record = sitetest.Record
	site   = sitetest.Site
)

var (
	after          = sitetest.After
	allow          = sitetest.Allow
	b64            = sitetest.B64
	codeOf         = sitetest.CodeOf
	deref          = sitetest.Deref
	engines        = sitetest.Engines
	flip           = sitetest.Flip
	holding        = sitetest.Holding
	newSite        = sitetest.NewSite
	optionsOf      = sitetest.OptionsOf
	outcome        = sitetest.Outcome
	sandboxAccount = sitetest.SandboxAccount
	signingAt      = sitetest.SigningAt
	soaking        = sitetest.Soaking
	start          = sitetest.Start
)

const day = sitetest.Day
