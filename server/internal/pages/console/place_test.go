package console

import (
	"errors"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
)

// What is no number for a request is refused with a sentence, never an accident.
func TestPlaced(t *testing.T) {
	for _, text := range []string{"NaN", "nan", "Inf", "-Infinity", "1e300", "left", "20001"} {
		var no *fault.Error
		if err := placed(values{"x": text}, map[string]any{}); !errors.As(err, &no) || no.Code != fault.BadOption {
			t.Errorf("x %q: %v", text, err)
		}
		if p := placeOf(nil, values{"x": text}); p.X != boxMargin {
			t.Errorf("x %q is shown at %v", text, p.X)
		}
	}
	options := map[string]any{}
	if err := placed(values{"x": "10,5", "y": "", "page": " -1 "}, options); err != nil || options["x"] != 10.5 || options["page"] != -1 || len(options) != 2 {
		t.Error(options, err)
	}
}
