package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestCompletion asks the shells themselves what they would complete.
func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"my file.pdf", "my folder/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for shell, ask := range map[string]func(t *testing.T, script, line string) string{
		"bash": func(t *testing.T, script, line string) string {
			words := strings.ReplaceAll(line, "=", " = ")
			n := len(strings.Fields(words)) - 1
			if strings.HasSuffix(line, " ") {
				words, n = words+"''", n+1
			}
			return shellSays(t, dir, "bash", "--norc", "-c", `. "$0"; COMP_WORDS=(`+words+`); COMP_CWORD=$1; _rogito; printf '%s\n' "${COMPREPLY[@]}"`, script, itoa(n))
		},
		"fish": func(t *testing.T, script, line string) string {
			return shellSays(t, dir, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2] | string replace -r '\t.*' ''; true`, script, line)
		},
		"zsh": zshSays(dir),
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("%s is not here: its script was not tried", shell)
			}
			script := filepath.Join(t.TempDir(), "_rogito")
			var out, errs strings.Builder
			if code := run(&session{ctx: t.Context(), stdout: &out, stderr: &errs}, []string{"completion", shell}); code != exitOK {
				t.Fatal(errs.String())
			}
			if err := os.WriteFile(script, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, row := range []struct{ line, want, not string }{
				{"rogito ver", "verify", "sign"},
				{"rogito omi ", "import", "verify"},
				{"rogito csc client ", "add", "import"},
				{"rogito verify --sum", "--summary", "--level"},
				{"rogito sign --lev", "--level", "--summary"},
				{"rogito sign --level ", "LTA", "cades"},
				{"rogito verify my", "my file.pdf", "verify"},
				{"rogito sign --key my", "my file.pdf", "--key"},
				{"rogito identify test ", "spid", "my file.pdf"},
				{"rogito completion ", "zsh", "my file.pdf"},
			} {
				got := strings.Split(strings.ReplaceAll(ask(t, script, row.line), `\ `, " "), "\n")
				if !slices.Contains(got, row.want) || slices.Contains(got, row.not) {
					t.Errorf("%q: %q, want %q and not %q", row.line, got, row.want, row.not)
				}
			}
		})
	}
}

func itoa(n int) string { return string(rune('0' + n)) }

func shellSays(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return string(out)
}

// zshSays types a line and a tab into a zsh, in which compadd tells what it would
// offer.
func zshSays(dir string) func(t *testing.T, script, line string) string {
	const driver = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=(${1:h} \$fpath); autoload -Uz compinit; compinit -u -d ${1:h}/dump"
zpty -w z '
compadd() {
	if [[ ${(M)@:#-[AOD]} ]]; then builtin compadd "$@"; return; fi
	local -a hits; builtin compadd -A hits "$@"; print -rl -- "" $hits
}
tell() { print BEGIN; _main_complete; print FINI""SHED; exit }
zle -C tell complete-word tell; bindkey "^I" tell; print REA""DY'
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\t'
zpty -r z out '*FINISHED*'
print -r -- "${out#*BEGIN}"
`
	return func(t *testing.T, script, line string) string {
		return strings.ReplaceAll(shellSays(t, dir, "zsh", "-f", "-c", driver, "zsh", script, line), "\r", "")
	}
}

// TestManPages has every page read by a formatter that says what it dislikes.
func TestManPages(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("mandoc is not here: the manual pages were not tried")
	}
	dir := t.TempDir()
	parser, err := newParser(&session{ctx: t.Context()}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	eachCommand(parser.Model.Node, nil, func(_ *kong.Node, path []string) {
		var out, errs strings.Builder
		if code := run(&session{ctx: t.Context(), stdout: &out, stderr: &errs}, append([]string{"man"}, path...)); code != exitOK {
			t.Fatalf("%q: %s", path, errs.String())
		}
		page := filepath.Join(dir, strings.Join(append([]string{"rogito"}, path...), "-")+".1")
		if err := os.WriteFile(page, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	})
	if out, err := exec.CommandContext(t.Context(), "mandoc", append([]string{"-T", "lint", "-W", "style"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if len(pages) < 40 {
		t.Errorf("only %d pages", len(pages))
	}
}
