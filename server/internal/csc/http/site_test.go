package http_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	cscCaller = sitetest.CSCCaller
	issued    = sitetest.Issued
	m         = sitetest.M
	oauth     = sitetest.OAuth
	program   = sitetest.Program
	site      = sitetest.Site
)

var (
	b64        = sitetest.B64
	codeOf     = sitetest.CodeOf
	digestsOf  = sitetest.DigestsOf
	eachEngine = sitetest.EachEngine
	engines    = sitetest.Engines
	field      = sitetest.Field
	newProgram = sitetest.NewProgram
	newSite    = sitetest.NewSite
)

const oidSHA256 = sitetest.OIDSHA256

func TestMain(m *testing.M) { sitetest.Main(m) }
