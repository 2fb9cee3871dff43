package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"rogito.dev/rogito/internal/version"
)

func init() {
	add(groupCare, "man", "the manual page of the program, or of a command", func() any { return &manCommand{} })
}

type manCommand struct {
	Command []string `arg:"" optional:"" help:"the command; absent: the program"`
}

// Help says how to read a page.
func (manCommand) Help() string {
	return example(`Prints a manual page in the macros of man(7).`,
		"rogito man verify | man -l -",
		"rogito man > /usr/local/share/man/man1/rogito.1")
}

func (c *manCommand) Run(s *session) error {
	parser, err := newParser(s, func(int) {})
	if err != nil {
		return err
	}
	n := parser.Model.Node
	for _, word := range c.Command {
		i := slices.IndexFunc(n.Children, func(child *kong.Node) bool { return child.Name == word })
		if i < 0 {
			return fmt.Errorf("there is no command %s; see: rogito help", strings.Join(c.Command, " "))
		}
		n = n.Children[i]
	}
	p := &manPage{}
	p.write(n, append([]string{"rogito"}, c.Command...))
	s.printf("%s", p.b.String())
	return nil
}

// manDate is when the manual was last gone through.
const manDate = "2026-11-16"

// manPage is a page in the macros of man(7).
type manPage struct{ b strings.Builder }

func (p *manPage) write(n *kong.Node, path []string) {
	title := strings.Join(path, "-")
	p.line(".TH %s 1 %s %q Rogito", strings.ToUpper(title), manDate, "Rogito "+version.Number)
	p.line(".SH NAME")
	summary := n.Help
	if len(path) == 1 {
		summary = "sign documents, verify signatures, look up Italian real-estate quotations"
	}
	p.line("%s \\- %s", roff(title), roff(summary))
	p.line(".SH SYNOPSIS")
	if len(n.Children) == 0 {
		p.synopsis(n, path)
	}
	for _, child := range n.Children {
		if len(path) > 1 && len(child.Children) == 0 {
			p.synopsis(child, append(path, child.Name))
			p.line(".br")
		}
	}
	if len(n.Children) > 0 {
		p.line("\\fB%s\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]", roff(strings.Join(path, " ")))
	}
	p.line(".SH DESCRIPTION")
	switch {
	case len(path) == 1:
		p.prose(intro + "\n" + start + more)
		p.commands(n)
	case n.Detail == "":
		p.prose(strings.ToUpper(n.Help[:1]) + n.Help[1:] + ".")
	default:
		p.prose(n.Detail)
	}
	if len(n.Children) == 0 {
		p.options(n, ".SH")
	}
	if len(path) > 1 {
		for _, leaf := range n.Leaves(true) {
			if leaf == n {
				continue
			}
			p.line(".SH %q", strings.ToUpper("rogito "+leaf.Path()))
			p.synopsis(leaf, append([]string{"rogito"}, strings.Fields(leaf.Path())...))
			p.line(".PP")
			p.prose(strings.ToUpper(leaf.Help[:1]) + leaf.Help[1:] + ".")
			if leaf.Detail != "" {
				p.line(".PP")
				p.prose(leaf.Detail)
			}
			p.options(leaf, ".SS")
		}
	}
	p.ending(path)
}

// commands lists what the program can do, in its groups.
func (p *manPage) commands(root *kong.Node) {
	p.line(".SH COMMANDS")
	group := ""
	for _, n := range root.Children {
		if n.Group != nil && n.Group.Title != group {
			group = n.Group.Title
			p.line(".SS %q", roff(group))
		}
		p.line(".TP\n\\fB%s\\fR\n%s", roff(n.Name), roff(n.Help))
	}
	p.line(".SH OPTIONS\n.TP\n\\fB\\-\\-help\\fR\nwhat the program, or a command, does\n.TP\n\\fB\\-\\-version\\fR\nwhich version this is")
}

func (p *manPage) synopsis(n *kong.Node, path []string) {
	text := "\\fB" + roff(strings.Join(path, " ")) + "\\fR"
	if len(flagsOf(n)) > 0 {
		text += " [\\fIOPTIONS\\fR]"
	}
	for _, v := range n.Positional {
		word := "\\fI" + roff(strings.ToUpper(v.Name)) + "\\fR"
		if v.IsCumulative() {
			word += " ..."
		}
		if !v.Required {
			word = "[" + word + "]"
		}
		text += " " + word
	}
	p.line("%s", text)
}

func (p *manPage) options(n *kong.Node, heading string) {
	if len(n.Positional) > 0 {
		p.line("%s ARGUMENTS", heading)
	}
	for _, v := range n.Positional {
		p.line(".TP\n\\fI%s\\fR\n%s", roff(strings.ToUpper(v.Name)), roff(v.Help))
	}
	flags := flagsOf(n)
	if len(flags) > 0 {
		p.line("%s OPTIONS", heading)
	}
	for _, f := range flags {
		var forms []string
		for _, form := range spelled(f) {
			text := "\\fB" + roff(form) + "\\fR"
			if !f.IsBool() && strings.HasPrefix(form, "--") {
				text += "=\\fI" + roff(strings.Trim(f.FormatPlaceHolder(), `"`)) + "\\fR"
			}
			forms = append(forms, text)
		}
		p.line(".TP\n%s\n%s", strings.Join(forms, ", "), roff(f.Help))
		if len(f.Envs) > 0 {
			p.line("(%s)", roff(strings.Join(f.Envs, ", ")))
		}
	}
}

func (p *manPage) ending(path []string) {
	p.line(".SH EXIT STATUS\n0 if all went well, 3 on an error. \\fBrogito verify\\fR: 0 valid, 1 invalid or not signed, 2 undetermined; of several files the worst.")
	p.line("\\fBrogito omi lookup\\fR: 1 where nothing is found. Commands that check something: 1 if anything is wrong.")
	if len(path) == 1 {
		p.line(".SH ENVIRONMENT\nEvery key of the configuration (\\fBrogito config\\fR) is a variable: dots become underscores, ROGITO_ stands before it.")
		p.line(".TP\n\\fBNO_COLOR\\fR\nif it is set, verdicts have no colour")
	}
	p.line(".SH SEE ALSO\n\\fBrogito help\\fR, \\fBrogito man\\fR \\fICOMMAND\\fR")
}

// prose sets paragraphs; indented lines are kept as they are.
func (p *manPage) prose(text string) {
	literal, gap := false, false
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		indented := strings.HasPrefix(line, "    ")
		switch {
		case strings.TrimSpace(line) == "":
			gap = true
			continue
		case literal && !indented:
			p.line(".fi\n.RE\n.PP")
		case !literal && indented:
			p.line(".PP\n.RS 4\n.nf")
		case gap && !literal:
			p.line(".PP")
		}
		literal, gap = indented, false
		if text := roff(strings.TrimSpace(line)); indented {
			p.b.WriteString(text + "\n")
		} else {
			p.line("%s", text)
		}
	}
	if literal {
		p.line(".fi\n.RE")
	}
}

// line writes a line; text is folded, as the rules of style want it.
func (p *manPage) line(format string, args ...any) {
	for _, line := range strings.Split(fmt.Sprintf(format, args...), "\n") {
		for len(line) > 79 && !strings.HasPrefix(line, ".") {
			at := strings.LastIndex(line[:79], " ")
			if at < 0 {
				break
			}
			p.b.WriteString(line[:at] + "\n")
			line = roffStart(line[at+1:])
		}
		p.b.WriteString(line + "\n")
	}
}

// roff keeps what the formatter would read from a text; what is not ASCII is
// named, since not every formatter knows the encoding.
func roff(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return roffStart(b.String())
}

// roffStart keeps a line of text from being read as a macro.
func roffStart(text string) string {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
