package policy_test

import (
	"fmt"

	"rogito.dev/rogito/policy"
)

// A policy of one's own says what is to be otherwise than in the default one.
func ExampleLoad() {
	p, err := policy.Load([]byte("name: archive\nrevocation:\n  freshness: any\n"))
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Name, p.Revocation.Freshness, p.PDF.Changes)
	// Output: archive any fail
}
