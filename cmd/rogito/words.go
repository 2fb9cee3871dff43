package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report/paper"
)

// reasons are the errors of the operating system for files, in words.
var reasons = []struct {
	is   error
	text string
}{
	{fs.ErrNotExist, "there is no such file"},
	{fs.ErrPermission, "permission denied"},
	{syscall.EISDIR, "it is a folder"},
	{syscall.ENOTDIR, "a part of the path is no folder"},
	{syscall.ENOSPC, "the disk is full"},
	{syscall.EROFS, "the disk takes no changes (read-only)"},
	{syscall.EADDRINUSE, "another program listens there already"},
}

func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.is) {
			return r.text
		}
	}
	return err.Error()
}

// plain is an error for people: without the names of system calls, and without the
// name of the file where that was told already.
func plain(err error, told string) string { return reworded(err, err.Error(), told) }

// reworded puts what a system says in a text of an error into words.
func reworded(err error, text, told string) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		words := reason(path.Err)
		if path.Path != told {
			words = path.Path + ": " + words
		}
		return strings.Replace(text, path.Error(), words, 1)
	}
	var listen *net.OpError
	if errors.As(err, &listen) && listen.Op == "listen" && listen.Addr != nil {
		return strings.Replace(text, listen.Error(), listen.Addr.String()+": "+reason(listen.Err)+"; --listen ADDRESS chooses another place", 1)
	}
	if errors.Is(err, context.Canceled) {
		return strings.Replace(text, context.Canceled.Error(), "interrupted", 1)
	}
	return text
}

// locked names the flag that opens an encrypted PDF.
func locked(err error, password string) error {
	switch {
	case !errors.Is(err, ades.ErrPassword):
		return err
	case password == "":
		return errors.New("the PDF is encrypted: --pdf-password-file FILE has its password")
	}
	return errors.New("the PDF is encrypted, and the password given does not open it (--pdf-password-file)")
}

// folderOf makes sure that a file can be made where it is to be.
func folderOf(path, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no folder %s", path, dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s: %s is no folder", path, dir)
	}
	return err
}

// webAddress makes sure that a flag has the address of a service.
func webAddress(flag, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s %s: want an address such as https://tsa.example/tsr", flag, text)
	}
	return nil
}

// language is that of texts for people: the flag's, or else that of the locale.
func (s *session) language(flag string) paper.Lang {
	if flag != "auto" {
		return paper.Lang(flag)
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} { // POSIX, 8.2
		if v, _ := s.getenv(name); v != "" {
			if strings.HasPrefix(v, "it") {
				return "it"
			}
			break
		}
	}
	return "en"
}

// zoneOf is the time zone of a flag, or else that of the machine (TZ).
func zoneOf(flag string) (*time.Location, error) {
	if flag == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(flag)
	if err != nil {
		return nil, fmt.Errorf("--timezone %s: there is no such zone; they are written like Europe/Rome or UTC", flag)
	}
	return zone, nil
}

// usage puts the parser's error about the arguments into a sentence.
func usage(err error) error {
	text := err.Error()
	if flags, ok := strings.CutPrefix(text, "missing flags: "); ok {
		text = strings.ReplaceAll(flags, "=", " ") + " is missing"
		if strings.HasPrefix(flags, "--key=") {
			text += ", such as: rogito sign --key me.p12 --password-file password.txt contract.pdf"
		}
		return errors.New(text)
	}
	for _, secret := range []string{"--password", "--pin"} {
		if text == "unknown flag "+secret || strings.HasPrefix(text, "unknown flag "+secret+",") {
			return fmt.Errorf("%s is not taken: others on this machine see arguments; --password-file FILE names a file with it", secret)
		}
	}
	return err
}

// helpOf is the command that the arguments led to, for who needs help.
func helpOf(err error) (names string) {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) {
		for _, p := range wrong.Context.Path {
			if p.Command != nil {
				names += " " + p.Command.Name
			}
		}
	}
	return names
}
