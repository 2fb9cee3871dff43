package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

func init() {
	add(groupCare, "completion", "complete commands, flags and files in bash, zsh or fish", func() any { return &completionCommand{} })
}

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}"`
}

// Help says where a script goes.
func (completionCommand) Help() string {
	return example(`Prints a script for a shell. It holds everything that it completes: nothing is run while you type.`,
		"rogito completion bash > /etc/bash_completion.d/rogito",
		`rogito completion zsh > "${fpath[1]}/_rogito"`,
		"rogito completion fish > ~/.config/fish/completions/rogito.fish")
}

func (c *completionCommand) Run(s *session) error {
	parser, err := newParser(s, func(int) {})
	if err != nil {
		return err
	}
	write := map[string]func(io.Writer, *kong.Node){"bash": bashScript, "zsh": zshScript, "fish": fishScript}[c.Shell]
	var b strings.Builder
	write(&b, parser.Model.Node)
	s.printf("%s", b.String())
	return nil
}

// kind of a value, as far as a shell can complete it.
type kind int

const (
	anything kind = iota // cannot be completed
	file
	choice
)

// kindOf finds the kind of a value from its name in the help.
func kindOf(v *kong.Value) kind {
	called := strings.ToUpper(v.Name)
	if v.Flag != nil {
		called = v.Flag.PlaceHolder
	}
	switch {
	case v.Enum != "":
		return choice
	case strings.Contains(v.Tag.Type, "path"), strings.HasPrefix(v.Tag.Type, "existing"):
		return file
	}
	for _, name := range strings.FieldsFunc(called, func(r rune) bool { return r == '|' || r == ']' }) {
		if slices.Contains([]string{"FILE", "PATH", "DIR", "PEM", "OUT"}, name) {
			return file
		}
	}
	return anything
}

// choices are the words that a value may be; an argument may be empty too.
func choices(v *kong.Value) string {
	return strings.TrimSpace(strings.ReplaceAll(v.Enum, ",", " "))
}

// flagsOf are the flags of a command as people write them.
func flagsOf(n *kong.Node) (list []*kong.Flag) {
	for _, f := range n.Flags {
		if !f.Hidden {
			list = append(list, f)
		}
	}
	return list
}

// spelled are all forms of a flag.
func spelled(f *kong.Flag) []string {
	forms := []string{"--" + f.Name}
	if f.Tag.Negatable != "" {
		forms = append(forms, "--no-"+f.Name)
	}
	if f.Short != 0 {
		forms = append(forms, "-"+string(f.Short))
	}
	return forms
}

// eachCommand visits every command from the program down.
func eachCommand(n *kong.Node, path []string, visit func(n *kong.Node, path []string)) {
	visit(n, path)
	for _, child := range n.Children {
		if !child.Hidden {
			eachCommand(child, append(path[:len(path):len(path)], child.Name), visit)
		}
	}
}

func names(of []*kong.Node) string {
	var list []string
	for _, n := range of {
		list = append(list, n.Name)
	}
	return strings.Join(list, " ")
}

func bashScript(w io.Writer, root *kong.Node) {
	var paths []string
	var values, flags, arguments strings.Builder
	eachCommand(root, nil, func(n *kong.Node, path []string) {
		at := strings.Join(path, "/")
		if at != "" {
			paths = append(paths, "/"+at)
			at = "/" + at
		}
		all := "--help"
		if at == "" {
			all += " --version"
		}
		for _, f := range flagsOf(n) {
			all += " " + strings.Join(spelled(f), " ")
			if f.IsBool() {
				continue
			}
			then := map[kind]string{anything: "return", file: "files=yes", choice: "words='" + choices(f.Value) + "'"}[kindOf(f.Value)]
			pattern := at + ":--" + f.Name
			if f.Short != 0 {
				pattern += "|" + at + ":-" + string(f.Short)
			}
			fmt.Fprintf(&values, "\t%s) %s ;;\n", pattern, then)
		}
		fmt.Fprintf(&flags, "\t\t\t'%s') words='%s' ;;\n", at, all)
		switch {
		case len(n.Children) > 0:
			fmt.Fprintf(&arguments, "\t\t\t'%s') words='%s' ;;\n", at, names(n.Children))
		case len(n.Positional) > 0:
			switch v := n.Positional[0]; kindOf(v) {
			case file:
				fmt.Fprintf(&arguments, "\t\t\t'%s') files=yes ;;\n", at)
			case choice:
				fmt.Fprintf(&arguments, "\t\t\t'%s') words='%s' ;;\n", at, choices(v))
			}
		}
	})
	fmt.Fprintf(w, `# bash completion for rogito, written by "rogito completion bash"
_rogito() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= i words= files=
	# --flag=value comes as three words
	if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "$path/${COMP_WORDS[i]}" in
		%s) path=$path/${COMP_WORDS[i]} ;;
		esac
	done
	case "$path:$prev" in
%s	*)
		if [[ $cur == -* ]]; then
			case $path in
%s			esac
		else
			case $path in
%s			esac
		fi ;;
	esac
	if [[ $files ]]; then
		local IFS=$'\n'
		compopt -o filenames 2>/dev/null
		COMPREPLY=($(compgen -f -- "$cur"))
	else
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
	fi
}
complete -F _rogito rogito
`, strings.Join(paths, "|"), values.String(), flags.String(), arguments.String())
}

func zshScript(w io.Writer, root *kong.Node) {
	fmt.Fprintln(w, "#compdef rogito\n# zsh completion for rogito, written by \"rogito completion zsh\"")
	eachCommand(root, nil, func(n *kong.Node, path []string) {
		function := strings.Join(append([]string{"_rogito"}, path...), "_")
		fmt.Fprintf(w, "\n%s() {\n", function)
		specs := []string{"'(- *)--help[what this does]'"}
		if len(path) == 0 {
			specs = append(specs, "'(- *)--version[which version this is]'")
		}
		for _, f := range flagsOf(n) {
			for _, form := range spelled(f) {
				specs = append(specs, zshFlag(f, form))
			}
		}
		if len(n.Children) == 0 {
			for _, v := range n.Positional {
				specs = append(specs, zshArgument(v))
			}
			fmt.Fprintf(w, "  _arguments -S -s \\\n    %s\n}\n", strings.Join(specs, " \\\n    "))
			return
		}
		fmt.Fprintf(w, "  local line state\n  _arguments -C %s '1:command:->command' '*::argument:->argument'\n", strings.Join(specs, " "))
		fmt.Fprint(w, "  case $state in\n  command)\n    local -a commands=(\n")
		for _, child := range n.Children {
			fmt.Fprintf(w, "      %s\n", quoted(strings.ReplaceAll(child.Name, ":", `\:`)+":"+child.Help))
		}
		fmt.Fprintf(w, "    )\n    _describe command commands ;;\n  argument)\n    (( $+functions[%[1]s_$words[1]] )) && %[1]s_$words[1] ;;\n  esac\n}\n", function)
	})
	fmt.Fprint(w, "\nif [[ $funcstack[1] == _rogito ]]; then\n  _rogito \"$@\"\nelse\n  compdef _rogito rogito\nfi\n")
}

// zshFlag describes one form of a flag to _arguments.
func zshFlag(f *kong.Flag, form string) string {
	spec := form
	if f.IsCumulative() {
		spec = "*" + spec
	}
	if !f.IsBool() && strings.HasPrefix(form, "--") {
		spec += "="
	}
	spec += "[" + zshText(f.Help) + "]"
	if !f.IsBool() {
		spec += ":" + zshText(f.FormatPlaceHolder()) + ":" + zshAction(f.Value)
	}
	return quoted(spec)
}

func zshArgument(v *kong.Positional) string {
	place := ""
	if v.IsCumulative() {
		place = "*"
	}
	return quoted(place + ":" + zshText(v.Name) + ":" + zshAction(v))
}

func zshAction(v *kong.Value) string {
	switch kindOf(v) {
	case file:
		return "_files"
	case choice:
		return "(" + choices(v) + ")"
	}
	return " "
}

// zshText keeps what _arguments would read from a text.
func zshText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

// quoted is a text between single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishScript(w io.Writer, root *kong.Node) {
	fmt.Fprint(w, `# fish completion for rogito, written by "rogito completion fish"

# the words before the cursor that are no flags
function __rogito_words
    set -l words (commandline -opc)
    string match -v -- '-*' $words[2..]
end

# just these words: a command comes next
function __rogito_at
    test "$(__rogito_words | string join ' ')" = "$argv"
end

# these words, and maybe more
function __rogito_in
    set -l words (__rogito_words)
    test "$words[1..$(count $argv)]" = "$argv"
end

complete -c rogito -f
complete -c rogito -l help -d 'what this does'
complete -c rogito -n __rogito_at -l version -d 'which version this is'
`)
	eachCommand(root, nil, func(n *kong.Node, path []string) {
		in := quoted(strings.TrimSpace("__rogito_in " + strings.Join(path, " ")))
		for _, child := range n.Children {
			fmt.Fprintf(w, "complete -c rogito -n %s -a %s -d %s\n", quoted(strings.TrimSpace("__rogito_at "+strings.Join(path, " "))), child.Name, fishText(child.Help))
		}
		for _, f := range flagsOf(n) {
			fmt.Fprintf(w, "complete -c rogito -n %s -l %s%s -d %s%s\n", in, f.Name, fishShort(f), fishText(f.Help), fishAction(f.Value, !f.IsBool()))
			if f.Tag.Negatable != "" {
				fmt.Fprintf(w, "complete -c rogito -n %s -l no-%s -d %s\n", in, f.Name, fishText("not: "+f.Help))
			}
		}
		if len(n.Positional) > 0 && len(n.Children) == 0 && kindOf(n.Positional[0]) != anything {
			fmt.Fprintf(w, "complete -c rogito -n %s%s\n", in, fishAction(n.Positional[0], false))
		}
	})
}

func fishShort(f *kong.Flag) string {
	if f.Short == 0 {
		return ""
	}
	return " -s " + string(f.Short)
}

// fishAction says what a value may be; a flag's has to be there.
func fishAction(v *kong.Value, required bool) string {
	switch {
	case v.IsBool():
		return ""
	case kindOf(v) == choice && required:
		return " -x -a " + quoted(choices(v))
	case kindOf(v) == choice:
		return " -a " + quoted(choices(v))
	case kindOf(v) == file && required:
		return " -r -F"
	case kindOf(v) == file:
		return " -F"
	}
	return " -x"
}

// fishText is a description; in fish a backslash counts between quotes too.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
