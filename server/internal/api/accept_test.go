package api

import (
	"slices"
	"testing"
)

func TestAccepted(t *testing.T) {
	for header, want := range map[string][]string{
		"":                 {},
		"application/json": {"application/json"},
		"application/xml;q=0.5, application/json":                          {"application/json", "application/xml"},
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8":  {"text/html", "application/xhtml+xml", "application/xml", "*/*"},
		"application/pdf;q=0, TEXT/HTML; charset=utf-8":                    {"text/html"},
		"application/pdf;q=much, ;;, application/xml; q=0.1, text/plain;q": {"application/xml"},
	} {
		if got := Accepted([]string{header}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
