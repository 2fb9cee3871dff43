package omi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/geo"
)

// What is written by words is what fmt writes.
func TestMicro(t *testing.T) {
	t.Parallel()
	values := []int32{0, 1, -1, 999_999, 1_000_000, 9_999_999, 10_000_000, 45_464_200, 99_999_999, 100_000_000, -180_000_000, 179_999_999, 999_999_999, -999_999_999}
	for v := int32(-200_000_000); v < 200_000_000; v += 99_991 {
		values = append(values, v)
	}
	plain := func(v int32) string {
		sign := ""
		if v < 0 {
			sign = "-"
		}
		u := int64(math.Abs(float64(v)))
		return fmt.Sprintf("%s%d.%06d", sign, u/geo.Micro, u%geo.Micro)
	}
	for i, v := range values {
		if got := string(appendMicro([]byte("x"), v)); got != "x"+plain(v) {
			t.Fatalf("%d: %s", v, got)
		}
		ring := []geo.Point{{X: v, Y: values[len(values)-1-i]}, {X: values[(i*7)%len(values)], Y: v}, {X: v, Y: v}}[:i%4]
		var want []string
		for _, p := range ring {
			want = append(want, `{"lat":`+plain(p.Y)+`,"lng":`+plain(p.X)+`}`)
		}
		if len(ring) == 0 {
			continue // no ring is empty
		}
		if got := string(appendLatLng([]byte("["), ring)); got != "[["+strings.Join(want, ",")+"]" {
			t.Fatalf("%v: %s", ring, got)
		}
	}
}
