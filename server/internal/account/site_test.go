package account_test

import "rogito.dev/rogito/server/servertest/sitetest"

// What these tests share with those of other packages.
type (
	answer     = sitetest.Answer
	m          = sitetest.M
	operation  = sitetest.Operation
	record     = sitetest.Record
	shownToken = sitetest.ShownToken
	site       = sitetest.Site
)

var (
	b64        = sitetest.B64
	codeOf     = sitetest.CodeOf
	deref      = sitetest.Deref
	eachEngine = sitetest.EachEngine
	element    = sitetest.Element
	execute    = sitetest.Execute
	field      = sitetest.Field
	newSite    = sitetest.NewSite
	optionsOf  = sitetest.OptionsOf
	outcome    = sitetest.Outcome
	selfSigned = sitetest.SelfSigned
	soaking    = sitetest.Soaking
	work       = sitetest.Work
)
