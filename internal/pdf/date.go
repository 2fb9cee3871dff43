package pdf

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Date formats a time in PDF syntax: D:20260301120000+01'00'.
func Date(t time.Time) String {
	_, off := t.Zone()
	sign := '+'
	if off < 0 {
		sign, off = '-', -off
	}
	s := fmt.Sprintf("D:%s%c%02d'%02d'", t.Format("20060102150405"), sign, off/3600, off%3600/60)
	if off == 0 {
		s = "D:" + t.Format("20060102150405") + "Z"
	}
	return String{Bytes: []byte(s)}
}

// ParseDate parses a date; parts may be missing from the right.
func ParseDate(s string) (time.Time, bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "D:")
	if len(s) < 4 {
		return time.Time{}, false
	}
	digits := 0
	for digits < len(s) && digits < 14 && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	full := "00000101000000"
	if digits < 4 || digits%2 != 0 {
		return time.Time{}, false
	}
	t, err := time.Parse("20060102150405", s[:digits]+full[digits:])
	if err != nil {
		return time.Time{}, false
	}
	off, ok := parseZone(s[digits:])
	if !ok {
		return time.Time{}, false
	}
	if off != 0 {
		t = t.Add(-time.Duration(off) * time.Second).In(time.FixedZone("", off))
	}
	return t, true
}

// parseZone reads Z, +01'00', -0330 and the like as seconds.
func parseZone(s string) (int, bool) {
	s = strings.ReplaceAll(s, "'", "")
	if s == "" || s[0] == 'Z' || s[0] == 'z' {
		return 0, true
	}
	sign := 1
	switch s[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, false
	}
	s = s[1:]
	if len(s) < 2 {
		return 0, false
	}
	h, err := strconv.Atoi(s[:2])
	if err != nil || h > 23 {
		return 0, false
	}
	m := 0
	if len(s) >= 4 {
		if m, err = strconv.Atoi(s[2:4]); err != nil || m > 59 {
			return 0, false
		}
	}
	return sign * (h*3600 + m*60), true
}
