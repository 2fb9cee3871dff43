package enroll_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	answer  = sitetest.Answer
	bought  = sitetest.Bought
	issued  = sitetest.Issued
	m       = sitetest.M
	pretend = sitetest.Pretend
	record  = sitetest.Record
	site    = sitetest.Site
)

var (
	aBrowser    = sitetest.ABrowser
	after       = sitetest.After
	allow       = sitetest.Allow
	b64         = sitetest.B64
	cardSite    = sitetest.CardSite
	codeOf      = sitetest.CodeOf
	confirming  = sitetest.Confirming
	countRows   = sitetest.CountRows
	covered     = sitetest.Covered
	deref       = sitetest.Deref
	eachEngine  = sitetest.EachEngine
	element     = sitetest.Element
	engines     = sitetest.Engines
	enrollAt    = sitetest.EnrollAt
	execute     = sitetest.Execute
	newReceiver = sitetest.NewReceiver
	newSite     = sitetest.NewSite
	newTwins    = sitetest.NewTwins
	optionsOf   = sitetest.OptionsOf
	quiet       = sitetest.Quiet
	reader      = sitetest.Reader
	selfSigned  = sitetest.SelfSigned
	standing    = sitetest.Standing
	url_        = sitetest.Address
	work        = sitetest.Work
)

const day = sitetest.Day

func TestMain(m *testing.M) { sitetest.Main(m) }
