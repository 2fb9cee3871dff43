package pdf

import (
	"fmt"
	"strings"
	"testing"
)

func TestOperators(t *testing.T) {
	for code, want := range map[string]string{
		"":                                     "",
		"q 1 0 0 1 2.5 -3 cm Q":                "q[] cm[1 0 0 1 2.5 -3] Q[]",
		"/Tx BMC(a\\051b)Tj[(1)-20<30>]TJ EMC": "BMC[Tx] Tj[a)b] TJ[[{[49] false false} -20 {[48] true false}]] EMC[]",
		"true null /A<</B 1/C[2]>>BDC":         "BDC[true <nil> A dict] ",
		"%1 g\n0 g":                            "g[0]",
		"1 0 R":                                "!",
		"f 1":                                  "f[] !",
		"(open":                                "!",
		"<< /A [1":                             "!",
		"1e3 w":                                "! ",
		"] q":                                  "q[] !",
		"BI /W 1 ID x EI f":                    "f[] !",
	} {
		var out []string
		whole := Operators([]byte(code), func(op string, args []Object) bool {
			for i, o := range args {
				switch v := o.(type) {
				case *Dict:
					args[i] = Name("dict")
				case String:
					args[i] = Name(v.Bytes)
				}
			}
			out = append(out, op+fmt.Sprint(args))
			return true
		})
		got := strings.Join(out, " ")
		if !whole {
			got += " !"
		}
		if !strings.HasPrefix(strings.TrimSpace(want), "!") && strings.TrimSpace(got) != strings.TrimSpace(want) || strings.Contains(want, "!") == whole {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
	// What is never closed is looked for once.
	for _, open := range []string{"(", "<", "[", "<<", "<</A"} {
		if Operators([]byte(strings.Repeat(open, 1<<17)), func(string, []Object) bool { return true }) {
			t.Errorf("%s without an end is understood", open)
		}
	}
}

func FuzzOperators(f *testing.F) {
	f.Add([]byte("/Tx BMC q BT /F 10 Tf 0 g 2 4 Td [(1)-20<30>] TJ ET Q EMC << /A [1 2] >> BDC"))
	f.Fuzz(func(_ *testing.T, b []byte) { Operators(b, func(string, []Object) bool { return true }) })
}
