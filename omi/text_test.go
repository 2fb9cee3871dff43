package omi

import (
	"testing"
	"time"
)

func TestMilli(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int32
		ok   bool
	}{
		{"810", 810_000, true},
		{"5,1", 5100, true},
		{",8", 800, true},
		{"12,75", 12_750, true},
		{"0", 0, true},
		{"", 0, true},
		{" ", 0, true},
		{",", 0, false},
		{"-5", 0, false},
		{"1.000", 0, false},
		{"1,2,3", 0, false},
		{"12345678", 0, false},
		{"abc", 0, false},
	} {
		got, ok := milli([]byte(c.in))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("milli(%q) = %d, %v; want %d, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestISTATCode(t *testing.T) {
	for _, c := range []struct{ region, field, want, why string }{
		{"LOMBARDIA", "3015146", "015146", "one digit of region"},
		{"LAZIO", "12058091", "058091", "two digits of region"},
		{"PIEMONTE", "196085", "096085", "a zero was lost"},
		{"PIEMONTE", "10103078", "103078", "a zero was added"},
		{"PUGLIA", "", "", "there is none"},
		{"PIEMONTE", "0", "", "suppressed"},
		{"UMBRIA", "10055032", "055032", "region 10"},
		{"NUOVA", "21012345", "012345", "a region of two digits we do not know"},
		{"LOMBARDIA", "x", "", "not a number"},
	} {
		if got := istat(c.region, c.field); got != c.want {
			t.Errorf("%s: istat(%q, %q) = %q, want %q", c.why, c.region, c.field, got, c.want)
		}
	}
}

func TestTextDecodesEachFieldOnItsOwn(t *testing.T) {
	for in, want := range map[string]string{
		"S\xC3\x88N JAN":  "SÈN JAN",
		"LOCALIT\xC0":     "LOCALITÀ",
		"Alcal\xE0":       "Alcalà",
		"L\xBFAQUILA":     "L¿AQUILA",
		"\x80 \x92":       "€ ’",
		"plain ASCII; 'x": "plain ASCII; 'x",
	} {
		if got := text([]byte(in)); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSemester(t *testing.T) {
	for _, bad := range []string{"", "2018", "2018/3", "18/2", "2018-2", " 2018/2", "2018/22"} {
		if _, err := ParseSemester(bad); err == nil {
			t.Errorf("ParseSemester(%q) took it", bad)
		}
	}
	a, _ := ParseSemester("2018/2")
	b, _ := ParseSemester("2019/1")
	if a.Compare(b) >= 0 || a.String() != "2018/2" {
		t.Errorf("%s and %s: compare %d", a, b, a.Compare(b))
	}
}

func TestDayOfTitle(t *testing.T) {
	got := dayOf([]byte("… elaborazione del 04-GEN-26"))
	if want := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("day %v, want %v", got, want)
	}
	if !dayOf([]byte("elaborazione del 04-JAN-26")).IsZero() {
		t.Error("an English month was taken")
	}
}
