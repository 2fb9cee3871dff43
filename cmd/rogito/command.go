package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// Groups of commands, in the order of the help.
const (
	groupServe  = "The server"
	groupFiles  = "Files"
	groupOMI    = "Quotations"
	groupPeople = "Accounts and certificates"
	groupCare   = "Care"
)

// command is one word after rogito.
type command struct {
	name, summary, group string
	build                func() any // a fresh struct: flags, arguments, a Run(*session) error
}

var commands []command

// outcome is embedded by commands that do something and report the result.
type outcome struct {
	JSON bool `help:"print JSON"`
}

// report says what was done: as an object for programs, else in words.
func (o outcome) report(s *session, object any, format string, args ...any) error {
	if o.JSON {
		return json.NewEncoder(s.stdout).Encode(object)
	}
	s.printf(format+"\n", args...)
	return nil
}

// add makes a command known; files call it from init. The struct that build
// returns may have a method Help() string with the prose of its help page.
func add(group, name, summary string, build func() any) {
	commands = append(commands, command{name: name, summary: summary, group: group, build: build})
}

func sorted(list []command) []command {
	order := []string{groupServe, groupFiles, groupOMI, groupPeople, groupCare}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b command) int {
		if d := slices.Index(order, a.group) - slices.Index(order, b.group); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}
