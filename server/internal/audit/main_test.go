package audit_test

import (
	"testing"

	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
