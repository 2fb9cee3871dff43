package api_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// What these tests share with those of other packages.
var (
	b64   = sitetest.B64
	get   = sitetest.Get
	start = sitetest.Start
)

func TestMain(m *testing.M) { sitetest.Main(m) }
