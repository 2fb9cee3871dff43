// Package hint finds what a client may have meant by a word that the service
// does not know: a member, a parameter, a part of a form, an option, a word of
// an enumeration, a route.
package hint

import (
	"fmt"
	"strings"
)

// mostListed is how many words are worth listing where none is near.
const mostListed = 12

// OneOf says that a value is none of the words it may be, and which was meant.
func OneOf(name, value string, words []string) string {
	text := name + " must be one of " + strings.Join(words, ", ")
	if near := Near(value, words); near != "" {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return text
}

// Unknown says that a word is none of those known in its place, and which was
// meant or, where none is near, which are known.
func Unknown(word string, known []string) string {
	text := Clip(word) + " is unknown"
	near := Near(word, known)
	switch {
	case near != "":
		return text + ": did you mean " + near + "?"
	case len(known) == 0 || len(known) > mostListed:
		return text
	}
	return text + ": known are " + strings.Join(known, ", ")
}

// Near is the word that was most likely meant; empty where none is likely. The
// last part of a dotted word counts: options.level is near level.
func Near(word string, among []string) string {
	best, least := "", len(plain(word))/3+1
	for _, w := range among {
		if d := distance(plain(word), plain(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

// plain is a word without what people leave out or put in: the case, dashes and
// underscores, and what it is a part of.
func plain(s string) string {
	s = s[strings.LastIndexByte(s, '.')+1:]
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// longest is how much of a word is compared: no name of ours is longer.
const longest = 64

// distance is how many letters must be changed, left out, put in or swapped with
// their neighbour; one word within the other is near.
func distance(a, b string) int {
	if a == b {
		return 0
	}
	if short, long := min(len(a), len(b)), max(len(a), len(b)); short >= 4 && long <= 3*short && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Clip shortens what a client wrote to what an answer may repeat of it.
func Clip(s string) string {
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
