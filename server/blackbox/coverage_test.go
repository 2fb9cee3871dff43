package blackbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// elsewhere is a test that makes what cannot be made from outside.
type elsewhere struct {
	why  string
	file string // under server
	test string
}

// check makes sure that the test is there.
func (e elsewhere) check(t *testing.T, code int) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", filepath.FromSlash(e.file)), nil, 0)
	if err != nil {
		t.Errorf("%d: %v", code, err)
		return
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == e.test && strings.HasPrefix(e.test, "Test") {
			return
		}
	}
	t.Errorf("%d: there is no %s in %s", code, e.test, e.file)
}

// unreachable are the codes that no client and no operator can bring about.
var unreachable = map[int]elsewhere{
	121: {"it takes a provider of remote keys that refuses", "internal/remote/remote_test.go", "TestRemoteFaults"},
	122: {"it takes a provider of remote keys that does not answer", "internal/remote/remote_test.go", "TestRemoteFaults"},
	132: {"it stands on a page, where codes are given", "internal/people/people_test.go", "TestCodesAreGuessed"},
	312: {"it stands on a page, where the holder is identified", "internal/enroll/enrol_test.go", "TestIdentificationBySignature"},
	313: {"it stands on a page, where a provider's answer arrives", "internal/identify/identify_test.go", "TestRefusedIdentifications"},
	654: {"here the page is open", "internal/pages/check/check_test.go", "TestCheckRefused"},
	285: {"in a sandbox a sample of quotations stands in where nothing is imported", "internal/api/quotations/omi_none_test.go", "TestNoPublicationIsLoaded"},
}

// untried is what the document describes and the suite need not try, with the
// reason.
var untried = []exemption{
	{`fails with (104|105|125|126|127|128|130)$`, "what any operation may answer is tried on some: testAccess, testHarm"},
	{`fails with 101$`, "the size of a body is judged in one place, before the operation is known: testLimits"},
	{`fails with (100|103)$`, "JSON is read in one place: testRequestRefusals tries all the ways it can be wrong"},
	{`^(buy(Automatic|Otp|Eseal)Certificate|addClientCertificate|rotateCallbackSecret|resendCallback) fails with 150$`, "they are too quick to be met while they run; signing is: testSigningOnce"},
	{`^buy\w+Certificate fails with 305$`, "the document has the default provider's paths, which are always there; others are tried: testPurchaseRefusals"},
	{`^buy(Eseal|Otp)Certificate (fails with (151|160|311|611|7\d\d)|with Idempotency-Key)$`, "an order is read in one place for all three: testPurchaseRefusals, testPurchaseOnce"},
	{`^sign(Eseal|Otp) with Accept-Language$`, "it is read in one place for all three: testVisibleLanguage"},
	{`^answered Approval\.error(Number|Message)$`, "what waits for an approval has no error; the members are those of every list of records"},
	{`^answered (ChangeCertificatePassword|DeleteSignature|RemoveClientCertificate)Answer\.data`, "their data is always null"},
	{`^answered (Attributes\.(email|mobile)|ReviewWire\.problem)$`, "a video proves no address and no number, and what it cannot prove is left out"},
	{`^answered Signer\.trustServiceProvider$`, "the sandbox's authority is on no trusted list: TestRemoteQualified"},
	{`^answered (AuditEntry\.detail|DeliveryDetail\.data) as (array|boolean|number|string)$`, "they are always objects, of a shape that is not described"},
	{`^(askAES|addTemplate) fails with (140|150|151|160|610|611|615|625|685|7\d\d)$`, "a request that people sign is read in one place: testPeople tries all of it with EU-SES"},
	{`^askAES with Idempotency-Key$`, "it is read in one place for both: testPeople"},
	{`^askSES fails with 150$`, "it is too quick to be met while it runs; signing is: testSigningOnce"},
	{`^answered SignerRecord\.emailValidation`, "it is always null: addresses are not looked up"},
	{`^(answered SignerRecord|sent SignerRequest|sent TemplatePlace)\.identification`, "this deployment offers none that a page can lead to; people.TestPeopleAreIdentified goes through one"},
	{`^answered TemplateWire\.(options|signers) as (array|boolean|number|string)$`, "they are objects, as they were given"},
	{`^answered DeleteTemplateAnswer\.data`, "its data is always null"},
	{`^answered CallbackShown\.custom as (array|boolean|number|string)$`, "the same value is tried in all its shapes at DeliveryDetail.custom"},
}

type exemption struct{ what, why string }

// testCoverage fails for whatever the served document says of sections 4 and 5
// and the suite never asked for or never saw: operations, parameters, members,
// words, forms and error codes.
func testCoverage(t *testing.T, w *world) {
	tags := []string{"Signatures", "Certificates", "Client certificates", "Callbacks"}
	seen := 0
	missing := w.watch.coverage.Missing(func(op *openapi3.Operation) bool {
		wanted := slices.ContainsFunc(op.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
		if wanted {
			seen++
		}
		return wanted
	})
	if seen < 25 {
		t.Errorf("only %d operations are about sections 4 and 5", seen)
	}
	used := map[exemption]bool{}
	for _, what := range missing {
		i := slices.IndexFunc(untried, func(e exemption) bool { return regexp.MustCompile(e.what).MatchString(what) })
		if i < 0 {
			t.Errorf("never: %s", what)
			continue
		}
		used[untried[i]] = true
	}
	for _, e := range untried {
		if !used[e] {
			t.Errorf("there is no need to exempt %s", e.what)
		}
	}
}
