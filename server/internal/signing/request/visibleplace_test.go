package request

import "testing"

// A place is read as it is written, and what is none is refused.
func TestParsePlace(t *testing.T) {
	for text, want := range map[string]Spot{
		"1,20,30": {Page: 1, X: 20, Y: 30}, " -1 , 0.5, -3 ": {Page: -1, X: 0.5, Y: -3}, "2,1,2,164,45": {Page: 2, X: 1, Y: 2, Width: 164, Height: 45},
	} {
		if got, ok := ParsePlace(text); !ok || got != want {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "1", "1,2", "1,2,3,4", "0,1,1", "-2,1,1", "1.5,1,1", "1,NaN,1", "1,Inf,1", "1,1e9,1", "1,1,1,0,9", "1,1,1,9,5001", "1,1,1,9,9,9"} {
		if got, ok := ParsePlace(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
