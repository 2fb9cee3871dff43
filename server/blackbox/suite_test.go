package blackbox

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/identify/identifytest"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// world is a deployment under test: its nodes, two accounts, and what is
// around it.
type world struct {
	t      *testing.T
	nodes  []*node
	store  storage
	web    *web
	lines  *lines
	watch  *watch
	client *http.Client
	public string // where all nodes say they are
	turn   atomic.Int64
	me     credentials
	other  credentials

	outside *identifytest.Authority // whom the nodes trust, and who is not there

	certificates map[string]certificate // of the sandbox, by kind

	mu      sync.Mutex
	secrets []string // that passed through, and may be in no log
}

// secret remembers what no log may have.
func (w *world) secret(all ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range all {
		if s != "" {
			w.secrets = append(w.secrets, s)
		}
	}
}

// testQuiet checks that the logs have no secret.
func testQuiet(t *testing.T, w *world) {
	if len(w.secrets) < 20 {
		t.Errorf("only %d secrets to look for", len(w.secrets))
	}
	for _, n := range w.nodes {
		for line := range strings.Lines(n.log.String()) {
			if !strings.HasPrefix(line, "{") { // the first start also prints a welcome
				continue
			}
			if slices.ContainsFunc(w.secrets, func(s string) bool { return strings.Contains(line, s) }) {
				t.Errorf("a secret is in the log: %s", line)
			}
		}
	}
}

// TestSuite is the whole contract over HTTP, against the real binary: the same
// tests on each deployment.
func TestSuite(t *testing.T) {
	t.Run("sqlite and folder", func(t *testing.T) {
		suite(t, storage{Data: t.TempDir()}, 1)
	})
	t.Run("postgres and s3", func(t *testing.T) {
		cfg := storage{Bucket: storetest.S3(t)}
		cfg.Data, cfg.Database = t.TempDir(), storetest.EmptyPostgres(t)
		suite(t, cfg, 1)
	})
	t.Run("two nodes", func(t *testing.T) {
		cfg := storage{Bucket: storetest.S3(t)}
		cfg.Data, cfg.Database = t.TempDir(), storetest.EmptyPostgres(t)
		suite(t, cfg, 2)
	})
}

// nouns are the tests of a fresh deployment. They run side by side, each with
// accounts and certificates of its own.
var nouns = map[string]func(*testing.T, *world){
	"accounts":                    testAccounts,
	"purchase":                    testPurchase,
	"purchase refusals":           testPurchaseRefusals,
	"purchase once":               testPurchaseOnce,
	"certificate list":            testCertificateList,
	"certificate states":          testCertificateStates,
	"enrolment page":              testEnrolmentPage,
	"identification by video":     testIdentificationByVideo,
	"identification by signature": testIdentificationBySignature,
	"password and device":         testPasswordAndDevice,
	"import":                      testImport,
	"security levels":             testSecurityLevels,
	"approvals":                   testApprovals,
	"judgement":                   testJudgement,
	"one-time passwords":          testOneTimePasswords,
	"locks":                       testLocks,
	"inputs":                      testInputs,
	"damaged PDF":                 testDamagedPDF,
	"request refusals":            testRequestRefusals,
	"guarded addresses":           testGuardedAddresses,
	"formats":                     testFormats,
	"claims":                      testClaims,
	"unsignable":                  testUnsignable,
	"batch":                       testBatch,
	"containers":                  testContainers,
	"default options":             testDefaultOptions,
	"option refusals":             testOptionRefusals,
	"levels":                      testLevels,
	"signatures on signatures":    testSignaturesOnSignatures,
	"XML selection":               testXMLSelection,
	"visible signature":           testVisibleSignature,
	"visible language":            testVisibleLanguage,
	"signature fields":            testSignatureFields,
	"encryption":                  testEncryption,
	"documents written anew":      testWrittenAnew,
	"record states":               testRecordStates,
	"record list":                 testRecordList,
	"downloads":                   testDownloads,
	"audit trail":                 testAuditTrail,
	"deletion":                    testDeletion,
	"signing once":                testSigningOnce,
	"signing costs":               testSigningCosts,
	"callbacks":                   testCallbacks,
	"webhook secrets":             testWebhookSecrets,
	"callback outcomes":           testCallbackOutcomes,
	"access":                      testAccess,
	"limits":                      testLimits,
	"other codes":                 testOtherCodes,
	"people":                      testPeople,
	"problems":                    testProblems,
	"sandbox":                     testSandbox,
}

// later are the tests that change the deployment itself, or its database behind the audit log, in their order.
var later = []struct {
	name string
	test func(*testing.T, *world)
}{
	{"working", testWorking},
	{"time passes", testTimePasses},
	{"configured", testConfigured},
	{"harm", testHarm},
	{"every code", testEveryCode},
	{"coverage", testCoverage},
	{"no secret in the logs", testQuiet},
}

func suite(t *testing.T, cfg storage, nodes int) {
	w := newWorld(t, cfg, nodes)
	var all sync.WaitGroup
	for name, test := range nouns {
		all.Go(func() { t.Run(name, func(t *testing.T) { test(t, w) }) })
	}
	all.Wait()
	for _, l := range later {
		t.Run(l.name, func(t *testing.T) { l.test(t, w) })
	}
}

// newWorld starts the nodes of a deployment. They speak TLS, so that clients
// can present certificates.
func newWorld(t *testing.T, cfg storage, nodes int) *world {
	w := &world{t: t, store: cfg, web: newWeb(t), lines: newLines(t), outside: identifytest.New(t)}
	for i := range nodes {
		c := cfg
		if i > 0 {
			c.Data = t.TempDir()
		}
		n := newNode(t, c)
		n.secure = w.lines.transport()
		if i == 0 {
			w.public = n.url()
		}
		n.env = append(n.env, w.lines.env()...)
		n.env = append(n.env, "ROGITO_PUBLIC_URL="+w.public, "ROGITO_NETWORK_ALLOW_PRIVATE="+host(w.web.URL), "ROGITO_TRUST_ANCHORS="+w.outside.File(),
			"ROGITO_SIGNING_PROVIDERS={local: local, acme-trust: local, files: import}",
			"ROGITO_SANDBOX_CERTIFICATES=[{kind: automatic, username: chosen@example.org, password: chosen secret}]")
		w.nodes = append(w.nodes, n)
	}
	w.start()
	data := cfg.Data
	w.watch = newWatch(t, w.lines.transport(), w.nodes[0].url())
	w.client = &http.Client{Transport: w.watch, Timeout: time.Minute}
	w.me, w.other = sandbox(t, data), w.account(t)
	w.secret(w.me.APIKey)
	var box struct {
		Certificates map[string]struct{ Username, Password, TOTPSecret string }
	}
	text, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, &box)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.certificates = map[string]certificate{}
	for kind, c := range box.Certificates {
		w.certificates[kind] = certificate{Kind: kind, Username: c.Username, Password: c.Password, Secret: c.TOTPSecret}
		w.secret(c.Password, c.TOTPSecret)
	}
	return w
}

// start starts all nodes, the first one first: the others share its database,
// and want its key.
func (w *world) start() {
	for i, n := range w.nodes {
		if i > 0 {
			copyFile(w.t, filepath.Join(w.nodes[0].args[1], "master.key"), filepath.Join(n.args[1], "master.key"))
		}
		n.start()
		if _, err := os.Stat(filepath.Join(n.args[1], "sandbox.json")); i > 0 && err == nil {
			w.t.Error("a second node made a sandbox of its own")
		}
	}
}

// account makes one, as the operator does.
func (w *world) account(t testing.TB, flags ...string) (c credentials) {
	t.Helper()
	out := w.nodes[0].run(append([]string{"account", "create", store.NewID() + "@example.org", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	w.secret(c.Token, c.APIKey)
	return c
}

// testAccounts are the tests of section 3, one after the other.
func testAccounts(t *testing.T, w *world) {
	for name, test := range map[string]func(*testing.T, *world){
		"authentication": testAuthentication,
		"tokens":         testTokens,
		"refusals":       testRefusals,
		"idempotency":    testIdempotency,
		"walls":          testWalls,
		"money":          testMoney,
		"quota":          testQuota,
		"revocation":     testRevocation,
		"statistics":     testStatistics,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func bearer(token string) string { return "Bearer " + token }

func basic(c credentials) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Email+":"+c.APIKey))
}

// do sends a request to one node after the other.
func (w *world) do(t *testing.T, auth, method, path string, body any, header ...string) *answer {
	t.Helper()
	n := w.nodes[w.turn.Add(1)%int64(len(w.nodes))]
	a, err := callIn(during(t.Context(), t), w.client, method, n.url()+path, body, append(header, "Authorization", auth)...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func want(t *testing.T, a *answer, status, code int) *answer {
	t.Helper()
	if a.Status != status || a.code() != code {
		t.Errorf("got %d with %d (%s), want %d with %d", a.Status, a.code(), tail(string(a.Body)), status, code)
	}
	if a.Header.Get("X-Request-Id") == "" {
		t.Error("no X-Request-Id")
	}
	return a
}

type tokenData struct {
	ID           string   `json:"id"`
	Token        string   `json:"token"`
	Scopes       []string `json:"scopes"`
	RefreshToken *string  `json:"refreshToken"`
	Expire       int64    `json:"expire"`
}

func testAuthentication(t *testing.T, w *world) {
	want(t, w.do(t, bearer(w.me.Token), "GET", "/credit", nil), 200, 0)
	want(t, w.do(t, basic(w.me), "GET", "/credit", nil), 200, 0)
	want(t, w.do(t, "", "GET", "/credit", nil), 401, 125)
	want(t, w.do(t, bearer(w.me.Token[:20]), "GET", "/credit", nil), 401, 125)
	want(t, w.do(t, basic(credentials{Email: w.me.Email, APIKey: w.other.APIKey}), "GET", "/credit", nil), 401, 128)
	want(t, w.do(t, basic(w.me), "GET", "/IT-omi?latitude=45&longitude=9", nil), 401, 125)
}

func testTokens(t *testing.T, w *world) {
	host := w.nodes[0].addr
	flat := w.do(t, basic(w.me), "POST", "/token", map[string]any{"scopes": []string{"GET:" + host + "/credit"}, "ttl": 3600})
	var v1 tokenData
	if err := json.Unmarshal(flat.Body, &v1); err != nil || !flat.Success || v1.Token == "" || flat.Status != 200 {
		t.Fatalf("POST /token: %s", flat.Body)
	}
	if left := time.Until(time.Unix(v1.Expire, 0)); left < 59*time.Minute || left > time.Hour {
		t.Errorf("expires in %v", left)
	}
	want(t, w.do(t, bearer(v1.Token), "GET", "/credit", nil), 200, 0)
	want(t, w.do(t, bearer(v1.Token), "GET", "/tokens", nil), 403, 126)

	var v2 tokenData
	made := want(t, w.do(t, bearer(w.me.Token), "POST", "/tokens", map[string]any{
		"scopes": []string{"GET:" + host + "/wallet"}, "name": "n", "ttl": 0, "limits": map[string]any{"totalRequests": 2},
	}), 200, 0)
	made.into(t, &v2)
	if made.Message != "Created" || v2.Token == "" || v2.RefreshToken == nil {
		t.Errorf("%s", made.Body)
	}
	for _, name := range []string{v2.ID, v2.Token} {
		read := want(t, w.do(t, bearer(w.me.Token), "GET", "/tokens/"+name, nil), 200, 0)
		if strings.Contains(string(read.Body), v2.Token) {
			t.Error("a token is shown again")
		}
	}
	want(t, w.do(t, bearer(v2.Token), "GET", "/wallet", nil), 200, 0)
	want(t, w.do(t, bearer(v2.Token), "GET", "/wallet", nil), 200, 0)
	if over := want(t, w.do(t, bearer(v2.Token), "GET", "/wallet", nil), 429, 130); over.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	want(t, w.do(t, bearer(w.me.Token), "PATCH", "/tokens/"+v2.ID, map[string]any{"limits": map[string]any{}}), 200, 0)
	for _, path := range []string{"/tokens", "/token"} {
		if list := want(t, w.do(t, bearer(w.me.Token), "GET", path, nil), 200, 0); strings.Contains(string(list.Body), v1.Token) || strings.Contains(string(list.Body), v2.Token) {
			t.Error("a list shows a token")
		}
	}
	want(t, w.do(t, bearer(*v2.RefreshToken), "GET", "/tokens", nil), 403, 126)
	var renewed tokenData
	want(t, w.do(t, bearer(*v2.RefreshToken), "PATCH", "/tokens/"+v2.ID, nil), 200, 0).into(t, &renewed)
	if renewed.Token == v2.Token || renewed.RefreshToken == nil {
		t.Errorf("%+v", renewed)
	}
	want(t, w.do(t, bearer(w.me.Token), "GET", "/tokens/"+v2.ID, nil), 404, 140)
	var other tokenData
	want(t, w.do(t, bearer(w.me.Token), "POST", "/tokens", map[string]any{"scopes": []string{"GET:" + host + "/wallet"}}), 200, 0).into(t, &other)
	want(t, w.do(t, bearer(*v2.RefreshToken), "PATCH", "/tokens/"+v2.ID, nil), 401, 125) // used twice: the line ends
	want(t, w.do(t, bearer(w.me.Token), "GET", "/tokens/"+renewed.ID, nil), 404, 140)
	renewed = other
	want(t, w.do(t, bearer(w.me.Token), "PUT", "/token/"+renewed.ID, map[string]any{"scopes": []string{"GET:" + host + "/credit"}}), 200, 0)
	want(t, w.do(t, bearer(w.me.Token), "PATCH", "/token/"+renewed.ID, map[string]any{"ttl": 60}), 200, 0)
	want(t, w.do(t, bearer(w.me.Token), "PATCH", "/token/"+renewed.ID, map[string]any{"expire": 1}), 422, 80)
	want(t, w.do(t, bearer(w.me.Token), "DELETE", "/token/"+renewed.ID, nil), 200, 0)
	want(t, w.do(t, bearer(w.me.Token), "DELETE", "/tokens/"+renewed.ID, nil), 404, 140)

	var scopes []struct{ ID, Scope, Endpoint string }
	want(t, w.do(t, bearer(w.me.Token), "GET", "/scopes?limit=1", nil), 200, 0).into(t, &scopes)
	if len(scopes) < 10 {
		t.Fatalf("%d scopes", len(scopes))
	}
	want(t, w.do(t, bearer(w.me.Token), "GET", "/scopes/"+scopes[0].ID, nil), 200, 0)
	want(t, w.do(t, bearer(w.me.Token), "GET", "/scopes/000000000000000000000000", nil), 404, 140)
}

func testRefusals(t *testing.T, w *world) {
	me := bearer(w.me.Token)
	for _, tc := range []struct {
		method, path string
		body         any
		status, code int
	}{
		{"POST", "/tokens", `{"scopes":`, 400, 100},
		{"POST", "/tokens", `{"scopes":["*:*/*"],"scopes":["*:*/*"]}`, 400, 100},
		{"POST", "/tokens", "{\"name\":\"\xff\"}", 400, 100},
		{"POST", "/tokens", strings.Repeat("[", 1_000_000), 400, 100},
		{"POST", "/tokens", `{}`, 422, 70},
		{"POST", "/token", `{"scopes":[]}`, 422, 70},
		{"POST", "/tokens", `{"scopes":"*:*/*"}`, 422, 80},
		{"POST", "/tokens", `{"scopes":["nonsense"]}`, 422, 80},
		{"POST", "/tokens", `{"scopes":["GET:*/nonsense"]}`, 422, 90},
		{"POST", "/tokens", `{"scopes":["*:*/*"],"limits":{"ip":["home"]}}`, 422, 80},
		{"GET", "/tokens/short", nil, 400, 141},
		{"GET", "/tokens/" + strings.Repeat("0", 24), nil, 404, 140},
		{"GET", "/tokens?limit=101", nil, 422, 160},
		{"GET", "/tokens?limit=0", nil, 422, 160},
		{"GET", "/tokens?limit=x", nil, 422, 160},
		{"GET", "/tokens?skip=-1", nil, 422, 160},
		{"GET", "/stats?date=yesterday", nil, 422, 160},
		{"GET", "/counters/day/2026-02-30", nil, 422, 160},
		{"GET", "/counters/month/2026", nil, 422, 160},
		{"GET", "/subscriptions/zzz", nil, 400, 141},
		{"GET", "/nowhere", nil, 404, 102},
		{"PUT", "/wallet", nil, 405, 102},
	} {
		if a := w.do(t, me, tc.method, tc.path, tc.body); a.Status != tc.status || a.code() != tc.code {
			t.Errorf("%s %s: %d with %d (%s), want %d with %d", tc.method, tc.path, a.Status, a.code(), a.Message, tc.status, tc.code)
		}
	}
}

func testIdempotency(t *testing.T, w *world) {
	me := bearer(w.me.Token)
	body := map[string]any{"scopes": []string{"*:*/*"}, "name": "once"}
	key := store.NewID()
	var mu sync.Mutex
	ids, waits := map[string]int{}, 0
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			a := w.do(t, me, "POST", "/tokens", body, "Idempotency-Key", key)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.Status == 200:
				var d tokenData
				a.into(t, &d)
				ids[d.ID+d.Token]++
			case a.Status == 409 && a.code() == 150 && a.Header.Get("Retry-After") != "":
				waits++
			default:
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	all.Wait()
	if len(ids) != 1 {
		t.Errorf("%d tokens from one key (%d told to wait)", len(ids), waits)
	}
	again := want(t, w.do(t, me, "POST", "/tokens", body, "Idempotency-Key", key), 200, 0)
	if again.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("a replay does not say so")
	}
	var d tokenData
	again.into(t, &d)
	if ids[d.ID+d.Token] == 0 {
		t.Error("the replay shows another token")
	}
	body["name"] = "twice"
	want(t, w.do(t, me, "POST", "/tokens", body, "Idempotency-Key", key), 422, 151)
	other := want(t, w.do(t, bearer(w.other.Token), "POST", "/tokens", body, "Idempotency-Key", key), 200, 0)
	if other.Header.Get("Idempotent-Replayed") != "" {
		t.Error("another account's key was replayed")
	}
	// What was refused may be tried again with the same key.
	rotate := func() string {
		var made struct{ Secret string }
		want(t, w.do(t, me, "POST", "/callbacks/secret", nil, "Idempotency-Key", key+"r"), 200, 0).into(t, &made)
		return made.Secret
	}
	if one := rotate(); one == "" || one != rotate() {
		t.Error("a repeated rotation made another secret")
	}
	want(t, w.do(t, me, "POST", "/tokens", `{}`, "Idempotency-Key", key+"x"), 422, 70)
	want(t, w.do(t, me, "POST", "/tokens", body, "Idempotency-Key", key+"x"), 200, 0)
}

func testWalls(t *testing.T, w *world) {
	var d tokenData
	want(t, w.do(t, bearer(w.me.Token), "POST", "/tokens", map[string]any{"scopes": []string{"*:*/*"}}), 200, 0).into(t, &d)
	unknown := store.NewID()
	for _, call := range []string{"GET /tokens/", "DELETE /tokens/", "GET /token/", "DELETE /token/", "PATCH /tokens/", "PATCH /token/", "GET /subscriptions/"} {
		method, path, _ := strings.Cut(call, " ")
		var texts []string
		for _, id := range []string{d.ID, unknown} {
			a := want(t, w.do(t, bearer(w.other.Token), method, path+id, `{}`), 404, 140)
			texts = append(texts, a.Message)
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: %q for another's, %q for nobody's", call, texts[0], texts[1])
		}
	}
	want(t, w.do(t, bearer(d.Token), "GET", "/credit", nil), 200, 0)
}

func testMoney(t *testing.T, w *world) {
	credit := func() (c float64) {
		var d struct{ Credit float64 }
		want(t, w.do(t, bearer(w.other.Token), "GET", "/wallet", nil), 200, 0).into(t, &d)
		return d.Credit
	}
	before := credit()
	w.nodes[0].run("wallet", "credit", w.other.Email, "12.34")
	if after := credit(); after != before+12.34 {
		t.Errorf("%v after %v", after, before)
	}
	w.nodes[0].run("subscription", "create", w.other.Email, "POST:*/EU-QES_automatic", "7", "1.40")
	var subs []struct {
		TotalRequests, AvailableRequests string
		PricePerRequest                  float64
	}
	want(t, w.do(t, bearer(w.other.Token), "GET", "/subscriptions", nil), 200, 0).into(t, &subs)
	if len(subs) != 1 || subs[0].TotalRequests != "7" || subs[0].AvailableRequests != "7" || subs[0].PricePerRequest != 0.2 {
		t.Errorf("%+v", subs)
	}
	var moves []struct{ Amount float64 }
	want(t, w.do(t, bearer(w.other.Token), "GET", "/wallet/transactions", nil), 200, 0).into(t, &moves)
	if len(moves) != 1 || moves[0].Amount != 12.34 {
		t.Errorf("%+v", moves)
	}
}

// 1,440 lookups a day are free, to the last, for 200 clients at once.
func testQuota(t *testing.T, w *world) {
	var poor credentials
	if err := json.Unmarshal([]byte(w.nodes[0].run("account", "create", store.NewID()+"@example.org", "--json")), &poor); err != nil {
		t.Fatal(err)
	}
	if a := w.do(t, bearer(poor.Token), "GET", "/IT-omi?latitude=0&longitude=0", nil); a.Status == 503 {
		t.Skip("SKIPPED, NOT TESTED: this build has no publication to look up in")
	}
	var got [600]atomic.Int64
	var left atomic.Int64
	left.Store(1600)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				n := w.nodes[w.turn.Add(1)%int64(len(w.nodes))]
				a, err := callIn(during(t.Context(), t), w.client, "GET", n.url()+"/IT-omi?latitude=0&longitude=0", nil, "Authorization", bearer(poor.Token))
				if err != nil {
					t.Error(err)
					return
				}
				got[a.Status].Add(1)
			}
		})
	}
	all.Wait()
	if got[200].Load() != 1439 || got[402].Load() != 161 { // one was spent above
		t.Errorf("%d served, %d refused with 402; want 1439 and 161", got[200].Load(), got[402].Load())
	}
}

func testRevocation(t *testing.T, w *world) {
	var d tokenData
	want(t, w.do(t, bearer(w.me.Token), "POST", "/tokens", map[string]any{"scopes": []string{"*:*/*"}}), 200, 0).into(t, &d)
	for range w.nodes {
		want(t, w.do(t, bearer(d.Token), "GET", "/credit", nil), 200, 0)
	}
	want(t, w.do(t, bearer(w.me.Token), "DELETE", "/tokens/"+d.ID, nil), 200, 0)
	for range w.nodes { // asked in turn
		await.Until(t, "the token is refused", func() bool { return w.do(t, bearer(d.Token), "GET", "/credit", nil).Status == 401 })
	}
}

func testStatistics(t *testing.T, w *world) {
	a := bearer(w.account(t).Token)
	w.do(t, a, "GET", "/tokens?limit=bad", nil)
	await.Until(t, "the refusal is in the list", func() bool {
		var list []struct{ ErrorCode, HTTPResponseCode int }
		want(t, w.do(t, a, "GET", "/errors?limit=1", nil), 200, 0).into(t, &list)
		return len(list) == 1 && list[0].ErrorCode == 160 && list[0].HTTPResponseCode == 422
	})
	for _, path := range []string{
		"/stats", "/stats?date=" + time.Now().UTC().Format("2006-01"), "/stats/ips", "/stats/apis", "/stats/apis/127.0.0.1",
		"/counters/total", "/counters/day/" + time.Now().UTC().Format("2006-01-02"), "/counters/month/2026-01", "/counters/year/2026",
	} {
		want(t, w.do(t, a, "GET", path, nil), 200, 0)
	}
	var stats struct{ TotalRequests int64 }
	w.do(t, a, "GET", "/stats", nil).into(t, &stats)
	if stats.TotalRequests == 0 {
		t.Error("nothing was counted")
	}
}
