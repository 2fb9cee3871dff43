package ledger

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// grown fills a store with records as the service writes them, but for the
// signing: rows, intents, events with their texts, money.
type grown struct {
	*Ledger
	db             *store.DB
	account, token string
	certs          []*enroll.Certificate // which records take in turn
	credential     string
	options        request.Options
}

// newGrown is for a store of its own or, where it has records, for one that a
// server made: then what is added belongs to the newest one's account.
func newGrown(t *testing.T, db *store.DB, m *master.Key) *grown {
	t.Helper()
	ctx := context.Background()
	log := audit.New(db, m, nil)
	g := &grown{Ledger: &Ledger{Config{DB: db, Master: m, Audit: log, Now: time.Now}}, db: db}
	err := db.Read().QueryRow(ctx, `select account_id, token_id, certificate_id from signatures where state = 'DONE' order by id desc limit 1`).Scan(&g.account, &g.token, new(string))
	if err == nil {
		g.adopt(t, log)
		return g
	}
	g.account, g.token, g.credential = store.NewID(), store.NewID(), hex.EncodeToString(noise(32))
	chain := [][]byte{noise(660), noise(530)}
	holders, err := strconv.Atoi(os.Getenv("ROGITO_TEST_GROWTH_CERTIFICATES"))
	if err != nil {
		holders = 1
	}
	for range holders {
		g.certs = append(g.certs, &enroll.Certificate{ID: store.NewID(), DER: noise(1144), Chain: chain, Serial: "138315617197844993728350439371263255860"})
	}
	g.options = request.DefaultOptions()
	err = db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `insert into accounts (id, email, key_hash, created_at, mac) values ($1, 'growth@example.com', $2, 1, $2)`, g.account, noise(32)); err != nil {
			return err
		}
		var known []audit.Event
		for _, c := range g.certs {
			known = append(known, audit.Event{Account: g.account, Record: c.ID, Kind: keys.KindKey, Log: "the key, its password or its device is new", Detail: keys.Standing{Credential: g.credential}})
		}
		return log.Append(ctx, tx, known...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// adopt takes the certificate and credential of the newest record.
func (g *grown) adopt(t testing.TB, log *audit.Log) {
	t.Helper()
	ctx := context.Background()
	r, err := g.find(ctx, `where state = 'DONE' order by id desc limit 1`)
	if err != nil {
		t.Fatal(err)
	}
	events, err := log.Of(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	var use keyUse
	var signature signatureDetail
	for _, e := range events {
		_, detail := e.Text()
		switch e.Kind {
		case "key-use":
			err = json.Unmarshal(detail, &use)
		case "signature":
			err = json.Unmarshal(detail, &signature)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	g.options, g.credential = r.Options, use.Credential
	g.certs = []*enroll.Certificate{{ID: r.CertificateID, Serial: use.Serial, DER: signature.Certificates[0], Chain: signature.Certificates[1:]}}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// fill adds n records, of which one in fifty ended in error, one in a thousand
// waits for an approval, and one in a thousand is of each rarer kind.
//
// ROGITO_TEST_GROWTH_FOR=30m has it end after that time; it returns how many there
// are.
func (g *grown) fill(t testing.TB, n int) int {
	t.Helper()
	most, _ := time.ParseDuration(os.Getenv("ROGITO_TEST_GROWTH_FOR"))
	ctx := context.Background()
	const together = 200
	begun := time.Now()
	for i := 0; i < n; i += together {
		err := g.db.Write(ctx, func(tx *store.Tx) error {
			for k := i; k < min(i+together, n); k++ {
				if err := g.add(ctx, tx, k); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil { // as a server does it all the time: what has its place is written anew
			_, err = g.Audit.Sequence(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n >= 100_000 && i%50_000 == 0 {
			fmt.Fprintln(os.Stderr, g.db.Dialect(), i, "records after", time.Since(begun).Round(time.Second), "with", yardstick.Processor().Round(time.Second), "of processor")
		}
		if most > 0 && time.Since(begun) > most {
			return i + together
		}
	}
	return n
}

func (g *grown) add(ctx context.Context, tx *store.Tx, k int) error {
	now, cert := time.Now(), g.certs[k%len(g.certs)]
	r := &Record{
		ID: store.NewID(), AccountID: g.account, TokenID: g.token, RequestID: hex.EncodeToString(noise(12)), Address: "127.0.0.1", CertificateType: "EU-QES_automatic",
		CertificateID: cert.ID, State: WaitSign, Type: "pades", Options: g.options, CreatedAt: now, UpdatedAt: now, FilesUntil: now.Add(30 * 24 * time.Hour), ChargeID: store.NewID(),
	}
	switch k % 1000 {
	case 7:
		r.CertificateType = "EU-QES_otp"
	case 8:
		r.Type = "xades"
	case 9:
		r.CertificateType, r.Type = "EU-QES_eseal", "cades"
	case 10:
		r.Approval, r.ApprovalUntil = ApprovalWaiting, now.Add(24*time.Hour)
	}
	document := &File{
		ID: store.NewID(), Role: RoleInput, SourceType: "base64", MediaType: "application/pdf", Extension: "pdf", Size: 100_000, MD5: hexOf(md5Of(r.ID)), SHA256: hexOf(shaOf(r.ID)),
		Blob: store.NewID() + "." + store.NewID() + ".ba645d", CreatedAt: now,
	}
	document.Name = document.MD5 + ".pdf"
	r.Inputs, r.Validated = []*File{document}, document.AsValidated()
	told := &Events{Record: r, Certificate: cert}
	if err := g.Insert(ctx, tx, r); err != nil {
		return err
	}
	asked := append(told.Requested(nil), told.Validated(nil)...)
	if r.Approval != "" {
		return g.Audit.Append(ctx, tx, asked...)
	}
	if err := g.pay(ctx, tx, r); err != nil {
		return err
	}
	if k%50 == 1 {
		r.Stored = true
		if err := g.Audit.Append(ctx, tx, asked...); err != nil {
			return err
		}
		return g.endIn(ctx, tx, told, nil)
	}
	to := intent.Intent{ID: store.NewID(), Account: r.AccountID, Record: r.ID, Certificate: cert.ID, Digest: shaOf(r.ID + "digest"), At: now}
	if err := intent.Write(ctx, tx, to); err != nil {
		return err
	}
	if err := g.Audit.Append(ctx, tx, append(asked, told.KeyUsed(to, g.credential, ""))...); err != nil { // as begin does
		return err
	}
	r.Stored = true
	return g.endIn(ctx, tx, told, &to)
}

func md5Of(s string) []byte { sum := md5.Sum([]byte(s)); return sum[:] }

func shaOf(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

// pay writes what a signature costs.
func (g *grown) pay(ctx context.Context, tx *store.Tx, r *Record) error {
	at := store.Millis(r.CreatedAt)
	return tx.Later(ctx, `insert into wallet_transactions (id, account_id, amount, vat, description, created_at, token_id, product, count, paid, taken, record_id)
		values ($1, $2, -50000, 22, 'signature', $3, $4, 'signature', 1, 1, 50000, $5)`, r.ChargeID, r.AccountID, at, r.TokenID, r.ID)
}

// endIn ends the record: signed, or in error where no key was used.
func (g *grown) endIn(ctx context.Context, tx *store.Tx, told *Events, to *intent.Intent) error {
	r, cert := told.Record, told.Certificate
	if to == nil {
		r.State, r.ErrorNumber, r.ErrorMessage = Error, fault.WrongCredentials, "wrong certificate credentials"
		if err := StoreEnd(ctx, tx, r, ""); err != nil {
			return err
		}
		return g.Audit.Append(ctx, tx, told.Failed())
	}
	r.State, r.Achieved, r.Signer = Done, "B", &Signer{Provider: "local", QC: "UNKNOWN", SSCD: "NOT_VALID"}
	r.Signed = &File{
		ID: store.NewID(), Role: RoleSigned, MediaType: "application/pdf", Extension: "pdf", Size: 109_000, MD5: hexOf(md5Of(to.ID)), SHA256: hexOf(shaOf(to.ID)),
		Name: r.ID + ".pdf", Blob: store.NewID() + "." + store.NewID() + ".ba645d", CreatedAt: r.UpdatedAt,
	}
	if err := StoreEnd(ctx, tx, r, ""); err != nil {
		return err
	}
	if err := g.InsertFiles(ctx, tx, r.ID, r.Signed); err != nil {
		return err
	}
	if err := intent.Settle(ctx, tx, r.ID, intent.Signed, r.UpdatedAt); err != nil {
		return err
	}
	signature := told.Event("signature", "signed with SHA256withRSA, level B", signatureDetail{
		Algorithm: ades.Algorithm{Name: "SHA256withRSA", Key: "RSA", Digest: "SHA256", Content: "SHA256", KeySize: 2048, OID: "1.2.840.113549.1.1.11"}, Level: "B",
		Certificates: append([][]byte{cert.DER}, cert.Chain...), ToBeSigned: attributes(cert, to), ToBeSignedDigest: hexOf(to.Digest), Value: noise(256),
	})
	return g.Audit.Append(ctx, tx, signature, told.Signed(1, nil))
}

// attributes are what signed attributes are made of, as long: object identifiers,
// the document's digest, that of the certificate, its issuer and number.
func attributes(cert *enroll.Certificate, to *intent.Intent) []byte {
	identifiers, err := hex.DecodeString("3181ed301806092a864886f70d010903310b06092a864886f70d010701302f06092a864886f70d01090431220420")
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(cert.DER)
	return slices.Concat(identifiers, shaOf(to.ID), sum[:], cert.DER[:130])
}

// keeper makes the checkpoints of a filled store.
func keeper(t testing.TB, db *store.DB, m *master.Key) (*audit.Checkpointer, *audit.Live) {
	t.Helper()
	log := audit.New(db, m, nil)
	skey, vkey, err := note.GenerateKey(rand.Reader, "rogito.test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(skey)
	if err != nil {
		t.Fatal(err)
	}
	return &audit.Checkpointer{Log: log, Signer: signer, Public: vkey}, &audit.Live{Log: log, Public: vkey}
}

// plan is how an engine would answer a query.
func plan(t testing.TB, db *store.DB, query string, args ...any) string {
	t.Helper()
	explain := "explain query plan "
	if db.Dialect() == store.PostgreSQL {
		explain = "explain "
	}
	rows, err := db.Read().Query(context.Background(), explain+query, args...)
	lines, err := store.All("explain", rows, err, func(r store.Row) (line string, err error) {
		if db.Dialect() == store.PostgreSQL {
			err = r.Scan(&line)
			return line, err
		}
		err = r.Scan(new(int), new(int), new(int), &line)
		return line, err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

// filters are all ways to narrow the list of signatures.
func filters() (all []Filter) {
	for _, s := range append([]State{""}, States...) {
		for _, c := range append([]string{""}, certificateTypes...) {
			for _, k := range recordTypes {
				all = append(all, Filter{State: s, CertificateType: c, Type: k})
			}
		}
	}
	return all
}

// Whatever a list is narrowed by, it shows what it should, page by page, and no
// row is looked at that is not shown. ROGITO_TEST_GROWTH=1000000 fills so many
// rows and tells the times; ROGITO_TEST_GROWTH_DATA names the data folder of a
// server that has signed a document, to be filled and kept, with ROGITO_TEST_GROWTH_DATABASE
// where it has one. ROGITO_TEST_GROWTH_CERTIFICATES=1000 has records of a store of its own signed
// with so many certificates in turn.
func TestListsAtScale(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("ROGITO_TEST_GROWTH"))
	if err != nil {
		n = 2000
	}
	if data := os.Getenv("ROGITO_TEST_GROWTH_DATA"); data != "" {
		db, m := storetest.Open(t, store.Config{Data: data, Database: os.Getenv("ROGITO_TEST_GROWTH_DATABASE")})
		var signed int
		if err := db.Read().QueryRow(t.Context(), `select count(*) from (select 1 from signatures where state = 'DONE' limit 1) s`).Scan(&signed); err != nil || signed == 0 {
			t.Fatalf("the server has signed nothing yet, so that its audit log would not verify with what is added; sign a document first: %v", err)
		}
		g := newGrown(t, db, m)
		g.time(t, g.fill(t, n))
		return
	}
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		keeper, live := keeper(t, db, m)
		if err := keeper.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		g := newGrown(t, db, m)
		live.Books = []audit.Book{Book{Ledger: g.Ledger}, keys.Book{}}
		n := g.fill(t, n)
		if _, err := g.Audit.Sequence(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := keeper.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n == 2000 {
			g.complete(t)
		} else {
			g.time(t, n)
		}
		g.planned(t)
		begun, used := time.Now(), yardstick.Processor()
		res, err := live.Verify(t.Context(), audit.Whole)
		if err != nil || res.Bad != nil {
			t.Fatalf("%+v, %v", res, err)
		}
		t.Logf("audit verify: %d entries, %d records in %s, %s of this process's processor time", res.Entries, res.Records, time.Since(begun).Round(time.Millisecond), (yardstick.Processor() - used).Round(time.Millisecond))
	})
}

// complete holds every filter, in pages, against a look at every row.
func (g *grown) complete(t *testing.T) {
	ctx := t.Context()
	every, err := g.listed(ctx, `select id from signatures order by id desc limit 5000`)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range filters() {
		var want, got []string
		for _, r := range every {
			if (f.State == "" || r.State == f.State) && (f.CertificateType == "" || r.CertificateType == f.CertificateType) && (f.Type == "" || string(r.Type) == f.Type) {
				want = append(want, r.ID)
			}
		}
		f.Limit = 700
		for {
			page, err := g.List(ctx, g.account, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				got, f.After = append(got, r.ID), r.ID
			}
			if len(page) < f.Limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d of %d records", f, len(got), len(want))
		}
		f.After, f.Skip, f.Limit = "", 1, 2
		page, err := g.List(ctx, g.account, f)
		if err != nil || len(page) != max(0, min(2, len(want)-1)) || len(page) > 0 && page[0].ID != want[1] {
			t.Errorf("%+v: %d records, %v", f, len(page), err)
		}
	}
}

// planned asks the engines how they find rows: never by looking at all.
func (g *grown) planned(t *testing.T) {
	if g.db.Dialect() == store.PostgreSQL {
		storetest.Exec(t, g.db, `analyze`)
	}
	check := func(what, query string, args ...any) (how string) {
		t.Helper()
		how = plan(t, g.db, query, args...)
		for line := range strings.Lines(how) {
			if strings.Contains(line, "SCAN signatures") || strings.Contains(line, "Seq Scan on signatures") || strings.Contains(line, "TEMP B-TREE FOR ORDER BY") && !strings.Contains(query, "union all") {
				t.Errorf("%s:\n%s\n%s", what, query, how)
			}
		}
		return how
	}
	for _, f := range filters() {
		f.Limit, f.After = 100, store.NewID()
		query, args := f.page().IDs(`signatures where account_id = $1`, []any{g.account},
			store.Facet{Column: "certificate_type", Is: f.CertificateType, Words: certificateTypes},
			store.Facet{Column: "signature_type", Is: f.Type, Words: recordTypes},
			store.Facet{Column: "state", Is: string(f.State), Words: stateWords()})
		check(fmt.Sprintf("%+v", f), query, args...)
	}
	now := store.Millis(time.Now())
	tail, args := store.Page{Limit: 100}.Of(g.account)
	check("approvals", `select id from signatures where account_id = $1 and approval = 'WAITING' and `+isWaiting+tail, args...)
	for index, query := range map[string]string{"signatures_files": selectOldFiles, "signatures_created": selectOldRecords, "signatures_approval_until": selectLateApprovals} {
		how := check(index, query+` limit 100`, now-int64(400*24*time.Hour/time.Millisecond))
		if g.db.Dialect() == store.SQLite && !strings.Contains(how, "INDEX "+index+" ") { // PostgreSQL goes by how many there are
			t.Errorf("%s\n%s", query, how)
		}
	}
	// What a claim looks for, and what a record that comes asks about its turn.
	waiting := ` from signatures t where ` + Ready
	for index, query := range map[string]string{
		"signatures_turn":      `select t.id` + waiting + ` and (t.lease_until <= 5 or t.lease_until > 9) order by t.turn, t.id limit 16`,
		"signatures_last_turn": `select max(t.turn)` + waiting + ` and t.turn > 0 and t.account_id = '` + g.account + `'`,
	} {
		if how := check(index, query); g.db.Dialect() == store.SQLite && !strings.Contains(how, "INDEX "+index) {
			t.Errorf("%s\n%s", query, how)
		}
	}
	check("blobs", `select 1 from signature_files where blob <> '' and substr(blob, 1, 24) = $1`, store.NewID())
}

// time tells how long each list takes, the slowest of three.
func (g *grown) time(t *testing.T, n int) {
	ctx := context.Background()
	slowest, what := time.Duration(0), ""
	try := func(name string, list func() (int, error)) {
		t.Helper()
		best := time.Hour
		rows := 0
		for range 10 {
			begun, used := time.Now(), yardstick.Processor()
			var err error
			if rows, err = list(); err != nil {
				t.Fatal(err)
			}
			took := time.Since(begun)
			if g.db.Dialect() == store.SQLite { // all of the work is in this process
				took = yardstick.Processor() - used
			}
			best = min(best, took)
		}
		if best > slowest {
			slowest, what = best, name
		}
		if best > 5*time.Millisecond {
			t.Logf("%-60s %8.2f ms, %d rows", name, float64(best.Microseconds())/1000, rows)
		}
	}
	if g.db.Dialect() == store.PostgreSQL {
		storetest.Exec(t, g.db, `analyze`)
	}
	for _, f := range filters() {
		f.Limit = 100
		try(fmt.Sprintf("%q %q %q", f.State, f.CertificateType, f.Type), func() (int, error) { l, err := g.List(ctx, g.account, f); return len(l), err })
	}
	var middle string
	if err := g.db.Read().QueryRow(ctx, `select id from signatures order by id limit 1 offset $1`, n/3).Scan(&middle); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Filter{{After: middle}, {After: middle, State: Error}, {After: middle, CertificateType: "EU-QES_otp"}, {Skip: 1000}, {Skip: 900_000}} {
		f.Limit = 100
		try(fmt.Sprintf("%+v", f), func() (int, error) { l, err := g.List(ctx, g.account, f); return len(l), err })
	}
	try("approvals", func() (int, error) { l, err := g.Approvals(ctx, g.account, "", 0, 100); return len(l), err })
	now := time.Now()
	for what, query := range map[string]string{"files past their time": selectOldFiles, "old records": selectOldRecords, "approvals that never came": selectLateApprovals} {
		try(what, func() (int, error) {
			l, err := g.ids(ctx, query, now.Add(-time.Hour), 100)
			return len(l), err
		})
	}
	g.sizes(t, n)
	t.Logf("%d records: the slowest list takes %.2f ms: %s", n, float64(slowest.Microseconds())/1000, what)
}

// A search finds a record by its number at once, and by its title however far back
// it is, look by look.
func TestSearch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		g := newGrown(t, db, m)
		g.fill(t, 250)
		storetest.Exec(t, db, `update signatures set title = 'Rogito 100% di prova' where id in (select id from signatures order by id limit 3)`)
		var got []string
		var pages []int
		f := Filter{Text: "ROGITO 100%", Limit: 2}
		for {
			found, further, err := g.Search(t.Context(), g.account, f, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range found {
				got = append(got, r.ID)
			}
			if pages, f.After = append(pages, len(found)), further; further == "" {
				break
			}
		}
		var want []string
		all, err := g.List(t.Context(), g.account, Filter{Limit: 250})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all[247:] {
			want = append(want, r.ID)
		}
		if !slices.Equal(got, want) || !slices.Equal(pages, []int{0, 0, 2, 1}) {
			t.Errorf("%v in pages of %v, want %v", got, pages, want)
		}
		for _, c := range []struct {
			account, text string
			want          int
		}{{g.account, want[0], 1}, {g.account, "rogito_", 0}, {store.NewID(), want[0], 0}} {
			if found, _, err := g.Search(t.Context(), c.account, Filter{Text: c.text, Limit: 2}, 1000); err != nil || len(found) != c.want {
				t.Errorf("%s: %d found, %v", c.text, len(found), err)
			}
		}
		storetest.Exec(t, db, `update signatures set results = $2, state = 'DONE' where id = $1`, all[7].ID, "00001 00002\n[{\"state\":\"DONE\"},{\"state\":\"ERROR\"}]")
		middle := store.IDTime(all[100].ID)
		younger := slices.IndexFunc(all, func(r *Record) bool { return store.IDTime(r.ID).Before(middle) })
		for what, c := range map[string]struct {
			f    Filter
			want int
		}{
			"from a time on": {Filter{From: middle}, younger}, "before a time": {Filter{Until: middle}, len(all) - younger},
			"a certificate": {Filter{Certificate: all[0].CertificateID}, len(all)}, "another": {Filter{Certificate: store.NewID()}, 0},
			"not all signed": {Filter{Partly: true}, 1}, "people": {Filter{People: true}, 0}, "no time": {Filter{From: middle, Until: middle}, 0},
		} {
			c.f.Limit = 1000
			found, further, err := g.Search(t.Context(), g.account, c.f, 1000)
			if err != nil || len(found) != c.want || further != "" || !c.f.Searches() {
				t.Errorf("%s: %d found, want %d, further %q, %v", what, len(found), c.want, further, err)
			}
		}
	})
}

// sizes tells what a record takes in each table and index.
func (g *grown) sizes(t *testing.T, n int) {
	query := `select name, cast(sum(pgsize) as bigint) from dbstat group by name order by 2 desc`
	if g.db.Dialect() == store.PostgreSQL {
		query = `select relname, pg_relation_size(oid) from pg_class where relkind in ('r', 'i', 't') order by 2 desc`
		for _, table := range []string{"audit_events", "signatures", "signature_files", "signing_intents", "wallet_transactions"} {
			if _, err := g.db.Pool().Exec(t.Context(), `vacuum `+table); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows, err := g.db.Read().Query(t.Context(), query)
	total := int64(0) // with the catalogue
	err = store.Each("sizes", rows, err, func(r store.Row) error {
		var name string
		var size int64
		err := r.Scan(&name, &size)
		if total += size; size/int64(n) > 0 && !strings.HasPrefix(name, "pg_") {
			t.Logf("%-40s %5d bytes a record", name, size/int64(n))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-40s %5d bytes a record", "all", total/int64(n))
}

// Options are stored without what is zero, and are the same when they are read.
func TestStoredOptions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		g := newGrown(t, db, m)
		for _, text := range []string{
			`{}`, `{"level": "LTA", "parallelSignature": false, "lockFields": ["a", "b"], "x": 0, "y": 12.5}`,
			`{"signerImage": {"imageVisible": false, "fieldsNameList": ["a"], "location": "Padova"}}`, `{"batch": true, "packaging": "asic-e", "timezone": "Europe/Rome"}`,
		} {
			o := request.DefaultOptions()
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			g.options = o
			g.fill(t, 1)
			all, err := g.List(t.Context(), g.account, Filter{Limit: 1})
			if err != nil || len(all) != 1 {
				t.Fatal(err)
			}
			if got, want := digestOf(&all[0].Options), digestOf(&o); got != want {
				t.Errorf("%s: %+v", text, all[0].Options)
			}
		}
	})
}

// A record is found by its id, whatever else is asked of it, before the database has
// counted its rows too.
func TestRecordsAreFoundByID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		by := map[store.Dialect]string{store.SQLite: "(id=?)", store.PostgreSQL: "signatures_pkey"}[db.Dialect()]
		for query, args := range map[string][]any{
			moveTo(Done, `lease_until = 0`): {"DONE", 1, "id", "lease"},
			leaseOn:                         {2, "id", "lease", "WAIT_SIGN"},
		} {
			if p := plan(t, db, query, args...); !strings.Contains(p, by) {
				t.Errorf("%s:\n%s", query, p)
			}
		}
	})
}
