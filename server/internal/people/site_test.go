package people_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	asked   = sitetest.Asked
	bought  = sitetest.Bought
	guest   = sitetest.Guest
	m       = sitetest.M
	oauth   = sitetest.OAuth
	program = sitetest.Program
	site    = sitetest.Site
)

var (
	aBrowser   = sitetest.ABrowser
	b64        = sitetest.B64
	covered    = sitetest.Covered
	deref      = sitetest.Deref
	eachEngine = sitetest.EachEngine
	element    = sitetest.Element
	engines    = sitetest.Engines
	execute    = sitetest.Execute
	field      = sitetest.Field
	newProgram = sitetest.NewProgram
	newSite    = sitetest.NewSite
	otherQuery = sitetest.OtherQuery
	rawField   = sitetest.RawField
	signersOf  = sitetest.SignersOf
	soakRounds = sitetest.SoakRounds
	submit     = sitetest.Submit
	turnOf     = sitetest.TurnOf
	unzip      = sitetest.Unzip
)

const oidSHA256 = sitetest.OIDSHA256

func TestMain(m *testing.M) { sitetest.Main(m) }
