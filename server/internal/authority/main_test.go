package authority_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestMain(m *testing.M) { sitetest.Main(m) }
