package server_test

import "rogito.dev/rogito/server/servertest/sitetest"

// What these tests share with those of other packages.
type (
	answer      = sitetest.Answer
	asked       = sitetest.Asked
	bought      = sitetest.Bought
	farProvider = sitetest.FarProvider
	guest       = sitetest.Guest
	issued      = sitetest.Issued
	m           = sitetest.M
	oauth       = sitetest.OAuth
	pretend     = sitetest.Pretend
	program     = sitetest.Program
	record      = sitetest.Record
	running     = sitetest.Running
	shownToken  = sitetest.ShownToken
	site        = sitetest.Site
	twins       = sitetest.Twins
	visitor     = sitetest.Visitor
)

var (
	aBrowser       = sitetest.ABrowser
	after          = sitetest.After
	allow          = sitetest.Allow
	b64            = sitetest.B64
	becomes        = sitetest.Becomes
	codeOf         = sitetest.CodeOf
	countRows      = sitetest.CountRows
	deref          = sitetest.Deref
	digestsOf      = sitetest.DigestsOf
	eachEngine     = sitetest.EachEngine
	element        = sitetest.Element
	engines        = sitetest.Engines
	enrollAt       = sitetest.EnrollAt
	execute        = sitetest.Execute
	field          = sitetest.Field
	get            = sitetest.Get
	holding        = sitetest.Holding
	newEurope      = sitetest.NewEurope
	newProgram     = sitetest.NewProgram
	newProvider    = sitetest.NewProvider
	newReceiver    = sitetest.NewReceiver
	newSite        = sitetest.NewSite
	optionsOf      = sitetest.OptionsOf
	outcome        = sitetest.Outcome
	pfx            = sitetest.PFX
	quiet          = sitetest.Quiet
	rawField       = sitetest.RawField
	sandboxAccount = sitetest.SandboxAccount
	selfSigned     = sitetest.SelfSigned
	signersOf      = sitetest.SignersOf
	signingWith    = sitetest.SigningWith
	soakRounds     = sitetest.SoakRounds
	soaking        = sitetest.Soaking
	standing       = sitetest.Standing
	start          = sitetest.Start
	testDefaults   = sitetest.TestDefaults
	theContract    = sitetest.TheContract
	work           = sitetest.Work
	writeFile      = sitetest.WriteFile
)

const day = sitetest.Day
