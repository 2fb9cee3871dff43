package abuse_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	answer     = sitetest.Answer
	asked      = sitetest.Asked
	bought     = sitetest.Bought
	guest      = sitetest.Guest
	issued     = sitetest.Issued
	m          = sitetest.M
	oauth      = sitetest.OAuth
	pretend    = sitetest.Pretend
	running    = sitetest.Running
	shownToken = sitetest.ShownToken
	site       = sitetest.Site
	twins      = sitetest.Twins
	visitor    = sitetest.Visitor
)

var (
	aBrowser     = sitetest.ABrowser
	allow        = sitetest.Allow
	b64          = sitetest.B64
	codeOf       = sitetest.CodeOf
	countRows    = sitetest.CountRows
	deref        = sitetest.Deref
	digestsOf    = sitetest.DigestsOf
	eachEngine   = sitetest.EachEngine
	element      = sitetest.Element
	enrollAt     = sitetest.EnrollAt
	execute      = sitetest.Execute
	field        = sitetest.Field
	get          = sitetest.Get
	newProgram   = sitetest.NewProgram
	newReceiver  = sitetest.NewReceiver
	newSite      = sitetest.NewSite
	optionsOf    = sitetest.OptionsOf
	pfx          = sitetest.PFX
	rawField     = sitetest.RawField
	selfSigned   = sitetest.SelfSigned
	signersOf    = sitetest.SignersOf
	soaking      = sitetest.Soaking
	start        = sitetest.Start
	testDefaults = sitetest.TestDefaults
	theContract  = sitetest.TheContract
	work         = sitetest.Work
	writeFile    = sitetest.WriteFile
)

const day = sitetest.Day

func TestMain(m *testing.M) { sitetest.Main(m) }
