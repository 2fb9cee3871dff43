package faults_test

import (
	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
type (
	answer  = sitetest.Answer
	m       = sitetest.M
	program = sitetest.Program
	record  = sitetest.Record
	site    = sitetest.Site
)

var (
	after          = sitetest.After
	allow          = sitetest.Allow
	b64            = sitetest.B64
	becomes        = sitetest.Becomes
	countRows      = sitetest.CountRows
	deref          = sitetest.Deref
	eachEngine     = sitetest.EachEngine
	engines        = sitetest.Engines
	execute        = sitetest.Execute
	get            = sitetest.Get
	holding        = sitetest.Holding
	newEurope      = sitetest.NewEurope
	newProgram     = sitetest.NewProgram
	newProvider    = sitetest.NewProvider
	newSite        = sitetest.NewSite
	optionsOf      = sitetest.OptionsOf
	outcome        = sitetest.Outcome
	sandboxAccount = sitetest.SandboxAccount
	signingWith    = sitetest.SigningWith
	soakRounds     = sitetest.SoakRounds
	soaking        = sitetest.Soaking
	standing       = sitetest.Standing
	start          = sitetest.Start
	testDefaults   = sitetest.TestDefaults
	work           = sitetest.Work
)
