package console

import "testing"

// Every page that needs a log-in names the roles that may open it, and no other page does.
func TestEveryPageHasItsRoles(t *testing.T) {
	mounted := new(Pages).mounted()
	if len(mounted) < 40 {
		t.Fatalf("only %d pages were found", len(mounted))
	}
	for pattern, e := range mounted {
		switch {
		case len(e.roles) == 0:
			t.Errorf("%s: nobody says who may open it", pattern)
		case e.roles[0] != everybody[0]:
			t.Errorf("%s: owners may do everything", pattern)
		}
	}
}
