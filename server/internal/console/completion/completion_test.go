package completion

import (
	"fmt"
	"testing"
	"time"
)

// What is handed out again takes a bounded amount of memory, however large.
func TestKept(t *testing.T) {
	now := time.Now()
	c := &Certificates{Now: func() time.Time { return now }}
	for i := range 100 {
		c.keep(fmt.Sprint(i), make([]byte, 3<<20))
		if c.again(fmt.Sprint(i)) == nil {
			t.Fatalf("%d is not kept", i)
		}
	}
	c.keep("huge", make([]byte, mostSealed+1))
	size := 0
	for _, s := range c.kept {
		size += len(s.pdf)
	}
	if size > mostSealed || c.again("huge") != nil {
		t.Errorf("%d bytes are kept", size)
	}
	c.keep("one", []byte("%PDF"))
	now = now.Add(keepSealed)
	if c.again("one") != nil {
		t.Error("what is old is handed out")
	}
}
