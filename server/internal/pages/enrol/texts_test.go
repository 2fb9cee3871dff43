package enrol

import (
	"reflect"
	"testing"
)

// Every text of the enrolment pages is there in both languages. Faults say
// themselves in English.
func TestTextsAreComplete(t *testing.T) {
	english, italian := reflect.ValueOf(translations["en"]), reflect.ValueOf(translations["it"])
	for i := range english.NumField() {
		name := english.Type().Field(i).Name
		a, b := english.Field(i), italian.Field(i)
		switch {
		case name == "Faults":
		case a.Kind() == reflect.String && (a.String() == "" || b.String() == "" || a.String() == b.String() && name != "Password" && name != "DevicePassword" && name != "VideoFile"):
			t.Errorf("%s: %q and %q", name, a, b)
		case a.Kind() == reflect.Map:
			if a.Len() == 0 || a.Len() != b.Len() {
				t.Errorf("%s: %d and %d", name, a.Len(), b.Len())
			}
			for _, k := range a.MapKeys() {
				if !b.MapIndex(k).IsValid() || b.MapIndex(k).IsZero() {
					t.Errorf("%s[%s] has no Italian", name, k)
				}
			}
		}
	}
}
