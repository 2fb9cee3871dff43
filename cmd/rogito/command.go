package main

import (
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
