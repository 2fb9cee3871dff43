package rogito_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What one person has to know of the service is counted: one more needs a reason, and
// is written down here.
const (
	mostTables = 50 // signers: who is asked to sign, and what they did; templates; members: people of an account
	mostCaches = 13
	mostLoops  = 9
	mostKeys   = 130
	mostSleeps = 10
)

// keysSince are keys that came after the number was set, each with its reason.
var keysSince = map[string]string{
	"status_url":             "verifiers fetch lists and answers by http where public_url is https",
	"signing.tsa_per_minute": "/tsa is open to everybody in the sandbox, and to nobody else",
	"database.connections":   "servers share the connections that PostgreSQL allows",
	"master.command":         "the master key comes from a key management system",
	"master.pkcs11.module":   "the master key is in a token",
	"master.pkcs11.token":    "likewise",
	"master.pkcs11.pin_file": "likewise",
	"master.pkcs11.key":      "likewise",
	"prices.ses":             "what asking people to sign costs",
	"ses.certificate":        "the seal that signs for people",
	"ses.password":           "its password",
	"ses.password_file":      "likewise",
	"ses.expires":            "how long people have to sign",
	"sms.url":                "codes and invitations go by SMS",
	"sms.method":             "likewise",
	"sms.headers":            "likewise",
	"sms.body":               "likewise",
	"identify.spid.button":   "the logos of SPID and CIE are others': the operator brings a copy",
	"identify.cie.button":    "likewise",
	"operator.name":          "people who are asked to sign read who asks",
	"operator.logo":          "likewise",
	"operator.privacy_url":   "likewise",
	"operator.terms_url":     "likewise",
	"omi.geocoder":           "the map finds addresses and postal codes by a service of the operator",
}

func TestTablesAreCounted(t *testing.T) {
	create := regexp.MustCompile(`(?m)^create table (\w+)`)
	paths, err := filepath.Glob(filepath.Join("server", "internal", "store", "migrations", "*.sql"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	tables := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tables += len(create.FindAll(b, -1))
	}
	if tables < 20 || tables > mostTables {
		t.Errorf("%d tables, want at most %d", tables, mostTables)
	}
}

// otherCaches are those that cannot be an internal/memo, by file, each with its reason.
var otherCaches = map[string]string{
	"trust/cache.go":                           "answers from the network expire, and are on disk as well",
	"server/internal/keys/vault.go":            "opened keys are shut and overwritten when their minute is over",
	"server/internal/account/account.go":       "callers by token are forgotten when they are revoked",
	"server/internal/store/sqlitestmt.go":      "prepared statements are closed, and are of one connection",
	"server/internal/completion/completion.go": "certificates of completion expire: asking twice must not buy two time-stamps",
	"server/internal/identify/cie/cie.go":      "what a federation says of providers expires, and so does that it cannot be had",
}

// A cache in memory is an internal/memo, or one of otherCaches. The goal was twelve; pages that are
// drawn for people who sign came since.
func TestCachesAreCounted(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^.*\bmemo\.Memo\[.*$`)
	var all []string
	read(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, line := range declared.FindAllString(text, -1) {
			if !strings.HasPrefix(line, "func") && !strings.Contains(line, "return") {
				all = append(all, path+": "+strings.TrimSpace(line))
			}
		}
		if why := otherCaches[filepath.ToSlash(path)]; why != "" {
			all = append(all, path+": "+why)
		}
	}, ".go")
	if n := len(all); n <= len(otherCaches) || n > mostCaches {
		t.Errorf("%d caches, want at most %d:\n%s", n, mostCaches, strings.Join(all, "\n"))
	}
	t.Logf("%d caches:\n%s", len(all), strings.Join(all, "\n"))
}

// docs/settings.md has every key of the configuration; tests of server hold it to the
// program and set each key.
func TestKeysAreCounted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)`").FindAllStringSubmatch(string(page), -1) {
		if keysSince[m[1]] == "" {
			counted++
		}
	}
	if counted < 50 || counted > mostKeys {
		t.Errorf("%d keys of the configuration, want at most %d", counted, mostKeys)
	}
	t.Logf("%d keys, and %d since", counted, len(keysSince))
}

// onceLater are files whose time.AfterFunc is no loop, each with its reason.
var onceLater = map[string]string{
	"internal/limits/time.go":         "the end of the time that one operation may take",
	"omi/index.go":                    "a file is unmapped once, when its last reader is long gone",
	"server/internal/keys/vault.go":   "an opened key is shut once",
	"server/internal/network/conn.go": "who waits for a place looks again, and it is stopped then",
}

// A background loop has a ticker, but for the writer of SQLite, which waits for what comes, and the
// log, whose lines are written a moment after the first that is held.
func TestLoopsAreCounted(t *testing.T) {
	loop := regexp.MustCompile(`time\.(NewTicker|Tick|AfterFunc)\(|\bgo e\.loop\(\)`)
	var all []string
	read(t, func(path, text string) {
		top := strings.Split(filepath.ToSlash(path), "/")[0]
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{"server", "tsl", "trust", "omi", "internal"}, top) {
			return
		}
		for _, found := range loop.FindAllString(text, -1) {
			if strings.Contains(found, "AfterFunc") && onceLater[filepath.ToSlash(path)] != "" {
				continue
			}
			all = append(all, path+": "+found)
		}
	}, ".go")
	if len(all) < 5 || len(all) > mostLoops {
		t.Errorf("%d background loops, want at most %d:\n%s", len(all), mostLoops, strings.Join(all, "\n"))
	}
	t.Logf("%d background loops:\n%s", len(all), strings.Join(all, "\n"))
}

// Tests wait until something is so (internal/await, the only place that pauses between two
// questions), or have a clock of their own (testing/synctest: a function that has a bubble is not
// counted). Every other time.Sleep of a test or a harness is counted, whatever it is for, and so is a
// timer that is waited for by itself. What is left: faults that last, a client who comes back later,
// random moments in work that has no steps to count, and a write that waits where nobody can see it.
func TestSleepsAreCounted(t *testing.T) {
	harness := regexp.MustCompile(`_test\.go$|^(\w+/)*\w*test/`)
	sleep := regexp.MustCompile(`time\.Sleep\(|(?m)^\s*<-time\.(After|NewTimer)\(`)
	files, sleeps := 0, 0
	var all []string
	count := func(path, text string) {
		path = filepath.ToSlash(path)
		if !harness.MatchString(path) {
			return
		}
		files++
		for _, function := range strings.Split(text, "\nfunc ") {
			n := len(sleep.FindAllString(function, -1))
			if n == 0 || strings.Contains(function, "synctest.Test(") {
				continue
			}
			sleeps += n
			name, _, _ := strings.Cut(function, " {")
			all = append(all, fmt.Sprintf("%s: %d in func %s", path, n, name))
		}
	}
	for _, root := range []string{".", "test", "tools"} {
		readBelow(t, root, count, ".go")
	}
	if files < 300 || sleeps > mostSleeps {
		t.Errorf("%d sleeps in %d files of tests, want at most %d:\n%s", sleeps, files, mostSleeps, strings.Join(all, "\n"))
	}
	t.Logf("%d sleeps in %d files of tests:\n%s", sleeps, files, strings.Join(all, "\n"))
}

// read calls f with the text of every file of ours with one of these endings.
func read(t *testing.T, f func(path, text string), endings ...string) {
	t.Helper()
	readBelow(t, ".", f, endings...)
}

func readBelow(t *testing.T, root string, f func(path, text string), endings ...string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && skipped(path, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains(endings, filepath.Ext(path)) {
			return nil
		}
		b, err := os.ReadFile(path)
		f(path, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
