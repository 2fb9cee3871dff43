package signing_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	answer   = sitetest.Answer
	m        = sitetest.M
	receiver = sitetest.Receiver
	record   = sitetest.Record
	site     = sitetest.Site
)

var (
	after          = sitetest.After
	allow          = sitetest.Allow
	b64            = sitetest.B64
	codeOf         = sitetest.CodeOf
	countRows      = sitetest.CountRows
	deref          = sitetest.Deref
	eachEngine     = sitetest.EachEngine
	element        = sitetest.Element
	engines        = sitetest.Engines
	enrollAt       = sitetest.EnrollAt
	field          = sitetest.Field
	newProgram     = sitetest.NewProgram
	newReceiver    = sitetest.NewReceiver
	newSite        = sitetest.NewSite
	optionsOf      = sitetest.OptionsOf
	otherQuery     = sitetest.OtherQuery
	pfx            = sitetest.PFX
	sandboxAccount = sitetest.SandboxAccount
	signingAt      = sitetest.SigningAt
	signingWith    = sitetest.SigningWith
	soaking        = sitetest.Soaking
	standing       = sitetest.Standing
	start          = sitetest.Start
	theContract    = sitetest.TheContract
	unzip          = sitetest.Unzip
	work           = sitetest.Work
	writeFile      = sitetest.WriteFile
)

const day = sitetest.Day

func TestMain(m *testing.M) { sitetest.Main(m) }
