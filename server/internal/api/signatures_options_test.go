package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/signing"
)

// Every option that is read is described, and nothing else.
func TestOptionsAreDescribed(t *testing.T) {
	for _, c := range []struct {
		described reflect.Type
		read      []string
	}{
		{reflect.TypeFor[signatureOptions](), signing.OptionNames()},
		{reflect.TypeFor[signerImage](), signing.ImageOptionNames()},
	} {
		var names []string
		for i := range c.described.NumField() {
			name, _, _ := strings.Cut(c.described.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, c.read) {
			t.Errorf("%s describes %v, read are %v", c.described, names, c.read)
		}
	}
}
