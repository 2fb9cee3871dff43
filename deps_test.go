package rogito_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dependencies is a statement of policy: a package may import the packages on
// its line and no others of this module. Imports only descend: command → server
// → package rogito → formats → internal. A new package needs a new line; a new
// import needs a reason. A line that ends in /* allows everything below it.
const dependencies = `
ades
internal/oid
internal/memo
internal/limits
internal/atomicfile
internal/visible
internal/version
internal/redact
internal/fetch
internal/await
internal/draw
internal/film               ades
internal/film/filmtest
internal/corpus             ades
internal/foreign            ades
internal/finding            ades internal/limits internal/visible
internal/geo                internal/limits
internal/pkix               ades internal/limits internal/memo internal/oid
internal/carried            ades internal/pkix
internal/xmldom             ades internal/limits
internal/fattura            internal/xmldom
internal/jsontree           ades internal/limits internal/finding
internal/xmldsig            ades internal/foreign internal/limits internal/oid internal/pkix internal/xmldom
internal/cms                ades internal/foreign internal/limits internal/oid internal/pkix internal/finding
internal/message            internal/foreign internal/finding
internal/pec                ades internal/finding internal/message internal/xmldom
internal/ers                ades tsp internal/cms internal/oid internal/xmldom internal/xmldsig internal/finding
internal/ca                 internal/cms internal/oid internal/pkix
internal/pdf                ades internal/limits internal/finding
internal/pdf/rewrite        ades internal/limits internal/pdf
internal/pdf/content        internal/pdf
internal/typeface           internal/pdf
internal/sheet              internal/pdf internal/typeface
internal/appearance         internal/limits internal/pdf internal/typeface
internal/handoff            ades internal/cms
internal/revision           ades internal/limits internal/pdf internal/pdf/content
internal/hsm                ades internal/oid internal/pkix
internal/hsm/hsmtest        internal/await internal/hsm
internal/draw/drawtest
internal/keyfile            ades internal/cms internal/hsm internal/oid internal/pkix

tsp                         ades internal/cms internal/foreign internal/limits internal/message internal/oid internal/pkix internal/finding
cades                       ades tsp internal/cms internal/ers internal/limits internal/message internal/oid internal/pec internal/pkix internal/finding internal/handoff
pades                       ades cades tsp internal/appearance internal/cms internal/handoff internal/limits internal/oid internal/pdf internal/pdf/content internal/pdf/rewrite internal/pkix internal/revision internal/typeface internal/foreign internal/finding
xades                       ades tsp internal/carried internal/cms internal/foreign internal/limits internal/oid internal/pkix internal/xmldom internal/xmldsig internal/finding internal/handoff
jades                       ades tsp internal/carried internal/foreign internal/jsontree internal/limits internal/oid internal/pkix internal/finding
asic                        ades cades xades tsp internal/cms internal/ers internal/foreign internal/limits internal/oid internal/pkix internal/xmldom internal/xmldsig internal/finding internal/visible internal/handoff
pkcs1                       ades internal/cms internal/oid internal/pkix
report                      ades internal/finding
report/paper                ades report internal/finding internal/sheet internal/visible
policy                      ades report internal/oid internal/pkix internal/finding
tsl                         ades report internal/atomicfile internal/limits internal/oid internal/pkix internal/xmldom internal/xmldsig
trust                       ades report tsl internal/cms internal/limits internal/memo internal/oid internal/pkix internal/finding
.                           ades asic cades jades pades xades pkcs1 policy report trust tsl tsp internal/*
adestest                    ades tsp tsl internal/*
client                      report

internal/yardstick
omi                         internal/atomicfile internal/geo internal/limits

server/internal/fault
server/internal/hint
server/internal/sentence    internal/redact server/internal/fault
server/internal/span
server/internal/upload      ades server/internal/fault
server/internal/disk        server/internal/fault
server/internal/store       server/internal/disk server/internal/fault server/internal/span
server/internal/intent      server/internal/store
server/internal/master      internal/hsm server/internal/disk server/internal/store
server/internal/store/storetest  internal/await server/internal/disk server/internal/master server/internal/store
server/internal/blob        server/internal/disk server/internal/fault server/internal/master server/internal/store server/internal/span
server/internal/idempotency server/internal/disk server/internal/fault server/internal/master server/internal/store
server/internal/backup      server/internal/blob server/internal/disk server/internal/master server/internal/store
server/internal/job         server/internal/disk server/internal/span server/internal/store
server/internal/money
server/internal/account     server/internal/audit server/internal/disk server/internal/fault server/internal/intent server/internal/master server/internal/money server/internal/store
server/internal/billing     server/internal/account server/internal/disk server/internal/fault server/internal/money server/internal/store
server/internal/remote      internal/*
server/internal/soap        internal/* server/internal/remote
server/internal/arss        internal/* server/internal/remote server/internal/soap
server/internal/sws         internal/* server/internal/remote server/internal/soap
server/internal/csc/client         internal/* server/internal/remote
server/internal/audit       ades tsp internal/atomicfile internal/memo server/internal/disk server/internal/fault server/internal/store server/internal/sentence
server/internal/keys        ades internal/* server/internal/audit server/internal/fault server/internal/intent server/internal/remote server/internal/store
server/internal/callback    server/internal/disk server/internal/fault internal/fetch server/internal/hint server/internal/job server/internal/keys server/internal/store server/internal/span server/internal/audit
server/internal/mail        internal/atomicfile server/internal/job
server/internal/geocode     internal/fetch
server/internal/sms         internal/atomicfile internal/fetch
server/internal/mail/mailtest
server/internal/authority   server/internal/audit ades tsp internal/* server/internal/fault server/internal/keys server/internal/store
server/internal/identify    . ades report internal/limits internal/pdf internal/pkix internal/revision server/internal/fault server/internal/sentence
server/internal/identify/identifytest  . ades xades internal/ca
server/internal/identify/cns  ades policy report trust internal/pkix server/internal/identify server/internal/sentence
server/internal/identify/cns/demo
server/internal/identify/spid/saml  internal/pkix internal/xmldom internal/xmldsig
server/internal/identify/spid       internal/pkix internal/xmldom internal/xmldsig server/internal/identify server/internal/identify/spid/saml server/internal/sentence
server/internal/identify/spid/demo  internal/pkix internal/xmldom server/internal/identify/spid server/internal/identify/spid/saml
server/internal/identify/cie  server/internal/fault internal/fetch server/internal/identify server/internal/identify/cie/jwt server/internal/sentence
server/internal/identify/cie/jwt
server/internal/identify/cie/demo  server/internal/identify/cie server/internal/identify/cie/jwt
server/internal/identify/demo  server/internal/identify/cie server/internal/identify/cie/demo server/internal/identify/cns server/internal/identify/cns/demo server/internal/identify/spid server/internal/identify/spid/demo
server/internal/identify/cie/cietest  server/internal/identify/cie server/internal/identify/cie/jwt
server/internal/enroll      . ades internal/* server/internal/account server/internal/audit server/internal/authority server/internal/blob server/internal/callback server/internal/csc/client server/internal/fault server/internal/hint server/internal/idempotency server/internal/identify server/internal/intent server/internal/job server/internal/keys server/internal/master server/internal/remote server/internal/store
server/internal/signing/request    ades internal/* server/internal/callback server/internal/fault server/internal/hint server/internal/keys server/internal/upload
server/internal/signing/ledger     . ades internal/fetch server/internal/audit server/internal/blob server/internal/callback server/internal/disk server/internal/enroll server/internal/fault server/internal/intent server/internal/job server/internal/keys server/internal/signing/request server/internal/store
server/internal/signing/documents  . ades asic cades jades pades xades internal/* server/internal/blob server/internal/fault server/internal/pdfmerge server/internal/signing/ledger server/internal/signing/request server/internal/store server/internal/upload
server/internal/signing     . ades jades pades tsp internal/fetch internal/limits internal/memo server/internal/audit server/internal/blob server/internal/callback server/internal/csc/client server/internal/disk server/internal/enroll server/internal/fault server/internal/idempotency server/internal/intent server/internal/job server/internal/keys server/internal/signing/documents server/internal/signing/ledger server/internal/signing/request server/internal/span server/internal/store internal/finding server/internal/remote
server/internal/member/passkey
server/internal/member  server/internal/account server/internal/audit server/internal/fault server/internal/job server/internal/keys server/internal/mail server/internal/master server/internal/member/passkey server/internal/store
server/internal/people      . ades pades internal/* server/internal/audit server/internal/authority server/internal/billing server/internal/blob server/internal/callback server/internal/enroll server/internal/fault server/internal/idempotency server/internal/identify server/internal/job server/internal/keys server/internal/signing server/internal/signing/documents server/internal/signing/ledger server/internal/signing/request server/internal/store server/internal/upload
server/internal/csc/server     server/internal/account server/internal/audit server/internal/fault server/internal/intent server/internal/keys server/internal/master server/internal/signing server/internal/store server/internal/signing/ledger server/internal/signing/request
server/internal/pdfmerge    ades internal/limits internal/pdf internal/pdf/rewrite
server/internal/publication omi internal/atomicfile server/internal/blob server/internal/fault server/internal/store
server/internal/pages/look  report internal/visible server/internal/fault report/paper
server/internal/pages/consent  server/internal/pages/look server/internal/fault server/internal/csc/server server/internal/api
server/internal/pages/sign  internal/draw internal/fetch internal/memo server/internal/enroll server/internal/fault server/internal/identify server/internal/pages/look server/internal/people server/internal/signing/ledger
server/internal/pages/enrol     ades report internal/film internal/pdf server/internal/pages/look server/internal/enroll server/internal/fault server/internal/identify server/internal/keys server/internal/upload server/internal/remote
server/internal/pages/console  internal/finding server/internal/people report internal/draw internal/visible server/internal/account server/internal/api server/internal/callback server/internal/pages/look server/internal/enroll server/internal/fault server/internal/idempotency server/internal/keys server/internal/signing server/internal/upload report/paper server/internal/signing/ledger server/internal/signing/request server/internal/billing server/internal/money server/internal/member server/internal/member/passkey server/internal/sentence
server/internal/pages/omimap  omi report server/internal/api server/internal/pages/look server/internal/fault report/paper
server/internal/peer
server/internal/logging     internal/redact server/internal/fault server/internal/span
server/internal/api         server/internal/account server/internal/fault server/internal/hint server/internal/idempotency server/internal/logging server/internal/peer server/internal/store server/internal/upload server/internal/span
server/internal/api/accounts    server/internal/account server/internal/api server/internal/fault server/internal/idempotency server/internal/store server/internal/billing server/internal/money
server/internal/csc/http     ades server/internal/account server/internal/api server/internal/csc/server server/internal/enroll server/internal/fault server/internal/keys server/internal/signing server/internal/store server/internal/upload server/internal/signing/ledger server/internal/signing/request
server/internal/api/quotations  ades omi server/internal/account server/internal/api server/internal/fault server/internal/hint server/internal/idempotency server/internal/upload
server/internal/completion  . ades jades pades report internal/pkix internal/sheet server/internal/audit server/internal/pages/look server/internal/enroll server/internal/fault server/internal/signing server/internal/upload report/paper server/internal/signing/ledger server/internal/signing/request
server/internal/api/signatures  server/internal/people report internal/finding internal/visible server/internal/account server/internal/api server/internal/audit server/internal/callback server/internal/enroll server/internal/fault server/internal/hint server/internal/idempotency server/internal/keys server/internal/signing server/internal/completion server/internal/pages/look report/paper server/internal/signing/ledger server/internal/signing/request server/internal/upload
server/internal/api/verification  . ades report internal/visible server/internal/api server/internal/fault server/internal/hint server/internal/upload report/paper
server/internal/pages/check  ades report internal/fattura internal/visible server/internal/api server/internal/api/verification server/internal/pages/look server/internal/fault report/paper
server/internal/api/apitest
server/internal/network     server/internal/peer
server/internal/monitor     report internal/redact server/internal/fault server/internal/logging server/internal/span
server/internal/memory
server/internal/memory/memorytest
server/internal/operator    server/internal/account server/internal/csc/server server/internal/enroll server/internal/keys server/internal/store server/internal/billing server/internal/money server/internal/remote
server/internal/doctor      tsl internal/pkix server/internal/audit server/internal/authority server/internal/blob server/internal/csc/client server/internal/disk server/internal/enroll server/internal/identify server/internal/mail server/internal/publication server/internal/signing server/internal/store server/internal/signing/ledger server/internal/signing/request server/internal/remote server/internal/sentence
server                      internal/draw internal/fetch internal/version . ades omi report trust tsl tsp policy internal/atomicfile internal/limits server/internal/*
server/servertest           internal/await server/internal/disk
server/servertest/sitetest  . ades adestest internal/* server server/internal/* server/servertest test/*

cmd/rogito                  . ades adestest asic cades jades pades xades pkcs1 report trust tsl policy tsp omi server internal/atomicfile internal/hsm internal/keyfile internal/limits internal/message internal/pec internal/visible internal/version internal/redact internal/fetch report/paper
`

// pure are the packages that know neither clock, disk nor network.
var pure = []string{
	"ades", "cades", "pades", "xades", "jades", "asic", "pkcs1", "report", "policy",
	"report/paper", "internal/cms", "internal/pdf", "internal/pdf/content", "internal/pdf/rewrite", "internal/revision", "internal/finding", "internal/xmldsig", "internal/xmldom", "internal/jsontree", "internal/geo", "internal/pkix",
}

var impure = []string{"net", "net/http", "os", "os/exec", "syscall"}

const module = "rogito.dev/rogito"

// imports lists, for every package of the module, what its non-test files
// import and in which file.
func imports(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && skipped(path, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if found[dir] == nil {
			found[dir] = map[string]string{}
		}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			found[dir][p] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func skipped(path, name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" ||
		slices.Contains([]string{"tools", "data", "console", "dist", "build", "bin", "test"}, path)
}

func table() map[string][]string {
	allowed := map[string][]string{}
	for line := range strings.Lines(dependencies) {
		if words := strings.Fields(line); len(words) > 0 {
			allowed[words[0]] = words[1:]
		}
	}
	return allowed
}

func permits(list []string, to string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		below, all := strings.CutSuffix(one, "/*")
		return one == to || all && strings.HasPrefix(to, below+"/")
	})
}

func TestImportsDescend(t *testing.T) {
	allowed := table()
	for pkg, deps := range imports(t) {
		list, known := allowed[pkg]
		if !known {
			t.Errorf("%s has no line in the table of deps_test.go", pkg)
			continue
		}
		for dep, file := range deps {
			to, ours := strings.CutPrefix(dep, module)
			if !ours {
				continue
			}
			if to = strings.TrimPrefix(to, "/"); to == "" {
				to = "."
			}
			if !permits(list, to) {
				t.Errorf("%s: %s may not import %s", file, pkg, to)
			}
		}
	}
}

// docs/design.md says of every package what it holds.
func TestDesignNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range imports(t) {
		named := pkg == "."
		for rest, more := pkg, true; more && !named; _, rest, more = strings.Cut(rest, "/") {
			named = strings.Contains(string(text), "`"+rest+"`")
		}
		if !named {
			t.Errorf("docs/design.md does not name the package %s", pkg)
		}
	}
}

func TestPurePackagesStayPure(t *testing.T) {
	found := imports(t)
	for _, pkg := range pure {
		for _, bad := range impure {
			if file, ok := found[pkg][bad]; ok {
				t.Errorf("%s: %s imports %s", file, pkg, bad)
			}
		}
	}
}

// testPackages serve tests and are linked into nothing else.
var testPackages = []string{"internal/corpus", "internal/draw/drawtest", "internal/film/filmtest", "internal/hsm/hsmtest", "server/internal/store/storetest", "server/internal/api/apitest", "server/internal/mail/mailtest", "server/internal/memory/memorytest", "server/servertest", "server/servertest/sitetest"}

func TestTestPackagesStayInTests(t *testing.T) {
	for pkg, deps := range imports(t) {
		for _, helper := range testPackages {
			if file, ok := deps[module+"/"+helper]; ok && !slices.Contains(testPackages, pkg) {
				t.Errorf("%s: %s imports %s, which is for tests", file, pkg, helper)
			}
		}
	}
}

// A PDF that is opened without a context has a budget of its own that counts towards no request,
// and cannot be stopped.
func TestPDFsAreOpenedInAContext(t *testing.T) {
	open := regexp.MustCompile(`pdf\.Open\([^\n]*`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, call := range open.FindAllString(string(text), -1) {
			if !strings.Contains(call, "Context: ") {
				t.Errorf("%s: %s", path, call)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTableHasNoCycle(t *testing.T) {
	allowed := table()
	state := map[string]int{}
	var visit func(pkg string, path []string)
	visit = func(pkg string, path []string) {
		if state[pkg] == 2 {
			return
		}
		if state[pkg] == 1 {
			t.Fatalf("the table allows a cycle: %s", strings.Join(append(path, pkg), " → "))
		}
		state[pkg] = 1
		for _, dep := range allowed[pkg] {
			if !strings.HasSuffix(dep, "/*") {
				visit(dep, append(path, pkg))
			}
		}
		state[pkg] = 2
	}
	for pkg := range allowed {
		visit(pkg, nil)
	}
}

// TestFilesStaySmall: a file over 600 lines holds two nouns.
func TestFilesStaySmall(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && skipped(path, d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := strings.Count(string(b), "\n"); n > 600 {
			t.Errorf("%s has %d lines", path, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
