// Command rogito signs documents, verifies signatures, looks up real-estate
// quotations, and serves all of it over HTTP.
//
// Each command lives in a file of its own, which hands it to add in its init
// function. What was asked for goes to standard output; everything else goes
// to standard error with "rogito:" before it, without a capital and without a
// period.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"rogito.dev/rogito/internal/redact"
	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/internal/visible"
)

// Exit codes. Verification gives 0, 1 and 2 a meaning of its own.
const (
	exitOK    = 0
	exitError = 3
)

// Colours of a terminal (ECMA-48 8.3.117).
const red, green, yellow = 31, 32, 33

// session is what a command may use of the world.
type session struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    []string

	terminal bool      // a person reads standard output
	screen   io.Writer // that terminal, as it is; else nil
	coloured bool      // verdicts are
	close    func()    // of the installation that the command has open; else nil

	read    sync.Once // standard input, by who takes it for a file
	piped   []byte
	pipeErr error
}

// printf writes what was asked for.
func (s *session) printf(format string, args ...any) { fmt.Fprintf(s.text(), format, args...) }

// text writes text for people. Names and titles come from untrusted documents and must not control
// the terminal.
func (s *session) text() io.Writer { return visible.Writer(s.stdout) }

// colour prints a verdict, on a terminal in the colour of its exit code. Colours
// go by the filter of hidden characters; the text does not.
func (s *session) colour(code int, text string) {
	if !s.coloured {
		s.printf("%s", text)
		return
	}
	ink := map[int]int{exitOK: green, exitUndetermined: yellow, stampedOnly: yellow, exitInvalid: red, exitError: red}[code]
	fmt.Fprintf(s.screen, "\x1b[1;%dm", ink)
	s.printf("%s", text)
	fmt.Fprint(s.screen, "\x1b[0m")
}

// bytesOut is standard output for content, which passes as it is where that is
// not a terminal, or was insisted on.
func (s *session) bytesOut(insisted bool) io.Writer {
	if insisted && s.screen != nil {
		return s.screen
	}
	return s.stdout
}

// printJSON writes a value for programs.
func printJSON(s *session, v any) error {
	enc := json.NewEncoder(s.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// notef writes what is good to know beside it.
func (s *session) notef(format string, args ...any) {
	fmt.Fprintf(visible.Writer(s.stderr), "rogito: "+format+"\n", args...)
}

func (s *session) getenv(name string) (value string, set bool) {
	for _, e := range s.env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// exit is an error that only chooses the exit code; its text is printed if it
// has any.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := &session{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Environ()}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		s.stdout, s.terminal, s.screen = s.text(), true, os.Stdout              // JSON as well: it leaves some of them as they are
		s.coloured = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" // no-color.org
	}
	code := run(s, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the whole program but for the process around it.
func run(s *session, args []string) int {
	switch {
	case len(args) == 0:
		args = []string{"help"}
	case len(args) == 1 && args[0] == "--version":
		s.printf("rogito %s\n", version.Number)
		return exitOK
	}
	exited := -1
	parser, err := newParser(s, func(code int) { exited = code; panic(parserExit{}) })
	if err != nil {
		return s.fail(err)
	}
	command, err := parse(parser, args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		return s.fail(fmt.Errorf("%w\nsee: rogito help%s%s", usage(err), helpOf(err), elsewhere))
	}
	err = command.Run(s)
	if s.close != nil {
		s.close()
	}
	return s.fail(err)
}

// parserExit unwinds the parser where it would end the process (--help).
type parserExit struct{}

func parse(parser *kong.Kong, args []string) (c *kong.Context, err error) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(parserExit); !ok {
				panic(v)
			}
		}
	}()
	return parser.Parse(negative(args))
}

// asItIs takes an argument byte by byte: the parser would take it through JSON, and
// the file with a name that is no UTF-8 would not be found.
func asItIs(ctx *kong.DecodeContext, target reflect.Value) error {
	t, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(t.String())
	return nil
}

func newParser(s *session, quit func(int)) (*kong.Kong, error) {
	opts := []kong.Option{
		kong.Name("rogito"),
		kong.Description(intro),
		kong.Writers(s.stdout, s.stderr),
		kong.Exit(quit),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 90}),
		kong.Bind(s),
		kong.KindMapper(reflect.String, kong.MapperFunc(asItIs)),
	}
	for _, c := range sorted(commands) {
		opts = append(opts, kong.DynamicCommand(c.name, c.summary, c.group, c.build()))
	}
	return kong.New(&struct{}{}, opts...)
}

// elsewhere says, in a build for files only, where the other commands are.
var elsewhere = " (this build works on files only; the whole program: go build ./cmd/rogito)"

// explain is the text of an error, without credentials.
var explain = func(err error) string { return redact.Text(err.Error()) }

// fail prints an error and says what to exit with.
func (s *session) fail(err error) int {
	if err == nil {
		return exitOK
	}
	var e exit
	if errors.As(err, &e) {
		if e.err != nil {
			s.notef("%s", reworded(e.err, explain(e.err), ""))
		}
		return e.code
	}
	s.notef("%s", reworded(err, explain(err), ""))
	return exitError
}
