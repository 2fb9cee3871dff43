package abuse_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// An attacker who may write to the database, and has neither the master key nor the data folder,
// tries every column of every kind of row. Each try is refused where the row is used, or found by
// `audit verify` or `doctor`, or stands in the list of what is not found (rows_list_test.go), which
// docs/security-model.md repeats.

// rowsTried is an installation whose rows are changed one by one.
type rowsTried struct {
	*site
	srv     *server.Server               // that changes rows and verifies; it has no clients
	serving atomic.Pointer[http.Handler] // behind url
	method  identify.Method              // of identification elsewhere
	tables  []*rowTable
	witness string
	filed   []byte
	counts  map[string]int
	listed  map[string]bool // entries of the list that were met
	whole   bool
	dice    *rand.Rand

	content
}

// rowTable is one of the database, with its columns.
type rowTable struct {
	name    string
	columns []rowColumn
	unique  []string // columns that no two rows share, but for the key
	holds   []string // tables whose rows go with those of this one, or keep them
}

type rowColumn struct {
	name, kind string // text, number, bytes, flag
	key, null  bool
}

func (t *rowTable) keys() (names []string) {
	for _, c := range t.columns {
		if c.key {
			names = append(names, c.name)
		}
	}
	if names == nil { // signing_intents has no key on PostgreSQL, which saves an index
		return []string{"id"}
	}
	return names
}

func (t *rowTable) names() (all []string) {
	for _, c := range t.columns {
		all = append(all, c.name)
	}
	return all
}

// rowSubject is one row that is tried, with what it is used for.
type rowSubject struct {
	where string
	use   func() error // nil: nothing but what verify and doctor look at
	never bool         // the act is refused before the row is changed, and must be afterwards
}

// try is one change of one row.
type rowTry struct {
	column string // "*": the whole row
	kind   string
	sql    []rowStatement
}

type rowStatement struct {
	text string
	args []any
}

// readTables finds every table and column that there is: what is new is tried too.
func (x *rowsTried) readTables() {
	x.T.Helper()
	query := `select m.name, c.name, c.type, c.pk > 0, c."notnull" = 0 from sqlite_master m join pragma_table_info(m.name) c
		where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like 'goose_%' and m.name not like 'now_%' and m.name not like 'then_%' order by m.name, c.cid`
	if x.srv.Parts().DB.Dialect() != store.SQLite {
		query = `select c.table_name::text, c.column_name::text, c.data_type::text, exists (
				select 1 from information_schema.table_constraints k join information_schema.key_column_usage u using (constraint_schema, constraint_name)
				where k.constraint_type = 'PRIMARY KEY' and k.table_name = c.table_name and u.column_name = c.column_name), c.is_nullable = 'YES'
			from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
			where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.table_name not like 'goose_%' and c.table_name not like 'now_%' and c.table_name not like 'then_%'
			order by c.table_name, c.ordinal_position`
	}
	rows, err := x.srv.Parts().DB.Read().Query(context.Background(), query)
	err = store.Each("read tables", rows, err, func(r store.Row) error {
		var name, kind string
		var c rowColumn
		if err := r.Scan(&name, &c.name, &kind, &c.key, &c.null); err != nil {
			return err
		}
		switch kind = strings.ToLower(kind); {
		case strings.Contains(kind, "bool"):
			c.kind = "flag"
		case strings.Contains(kind, "int"):
			c.kind = "number"
		case strings.Contains(kind, "text"):
			c.kind = "text"
		default:
			c.kind = "bytes"
		}
		if len(x.tables) == 0 || x.tables[len(x.tables)-1].name != name {
			x.tables = append(x.tables, &rowTable{name: name})
		}
		last := x.tables[len(x.tables)-1]
		last.columns = append(last.columns, c)
		return nil
	})
	if err != nil {
		x.T.Fatal(err)
	}
	for _, t := range x.tables {
		if t.name == "audit_events" { // its rows are told apart by their place
			for i := range t.columns {
				t.columns[i].key = t.columns[i].name == "seq"
			}
		}
		t.unique, t.holds = uniqueColumns[t.name], heldBy[t.name]
	}
}

// Beside their keys, and what points to them.

var uniqueColumns = map[string][]string{
	"accounts": {"email"}, "tokens": {"hash", "refresh_hash", "line_id"}, "credentials": {"username", "public_key"},
	"client_certificates": {"fingerprint"}, "signers": {"id"}, "csc_tokens": {"hash"}, "csc_sads": {"hash"}, "identification_requests": {"token"},
}

// Tables whose keys are digests of secrets.
var digestKeys = []string{"csc_sads", "identification_requests"}

var heldBy = map[string][]string{
	"accounts": {"tokens", "wallets", "wallet_transactions", "subscriptions"},
	"tokens":   {"csc_tokens"}, "csc_sads": {"csc_hashes"},
}

// order has a table behind those that its rows point to.
func (x *rowsTried) order() []*rowTable {
	all := slices.Clone(x.tables)
	rank := map[string]int{"accounts": -2, "tokens": -1, "csc_hashes": 1}
	slices.SortStableFunc(all, func(a, b *rowTable) int { return rank[a.name] - rank[b.name] })
	return all
}

// keep remembers the state of all tables, and of the witness file.
func (x *rowsTried) keep(as string) {
	x.T.Helper()
	for _, t := range x.tables {
		execute(x.srv, x.T, `create table `+as+`_`+t.name+` as select * from `+t.name)
	}
	b, err := os.ReadFile(x.witness)
	if err != nil {
		x.T.Fatal(err)
	}
	x.filed = b
}

// reset brings everything back to how it was, whatever was tried or done.
func (x *rowsTried) reset() {
	x.T.Helper()
	ctx := context.Background()
	err := x.srv.Parts().DB.Write(ctx, func(tx *store.Tx) error {
		order := x.order()
		for _, t := range slices.Backward(order) {
			if _, err := tx.Exec(ctx, `delete from `+t.name); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		for _, t := range order {
			by := ""
			if t.name == "tokens" { // parents first
				by = ` order by parent_id is not null, id`
			}
			if _, err := tx.Exec(ctx, `insert into `+t.name+` select * from now_`+t.name+by); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	})
	if err == nil {
		err = os.WriteFile(x.witness, x.filed, 0o600)
	}
	if err != nil {
		x.T.Fatal(err)
	}
}

// change does one try; an error says that the database itself does not take it.
func (x *rowsTried) change(list []rowStatement) (changed bool, err error) {
	ctx := context.Background()
	err = x.srv.Parts().DB.Write(ctx, func(tx *store.Tx) error {
		for _, s := range list {
			n, err := tx.Exec(ctx, s.text, s.args...)
			if err != nil {
				return err
			}
			changed = changed || n > 0
		}
		return nil
	})
	return changed, err
}

// tries are the changes of one row.
func (x *rowsTried) tries(t *rowTable, where string) (all []rowTry) {
	set := func(column, kind, to string, args ...any) {
		all = append(all, rowTry{column, kind, []rowStatement{{`update ` + t.name + ` set ` + column + ` = ` + to + ` where ` + where, args}}})
	}
	for _, c := range t.columns {
		// The value of another row, of another account where there is one.
		set(c.name, "of another row", `(select o.`+c.name+` from now_`+t.name+` o where o.`+c.name+` <> `+t.name+`.`+c.name+` limit 1)`)
		if c.name == "account_id" {
			set(c.name, "of another account", "$1", x.other)
		}
		if c.null {
			set(c.name, "null", "null")
		}
		switch c.kind {
		case "flag":
			set(c.name, "turned", "not "+c.name)
		case "number":
			set(c.name, "larger", c.name+" + 1")
			set(c.name, "much larger", c.name+" + 31536000000")
			set(c.name, "smaller", c.name+" - 1")
			set(c.name, "much smaller", c.name+" - 31536000000")
			set(c.name, "zero", "0")
		case "text":
			set(c.name, "longer", c.name+" || 'x'")
			set(c.name, "empty", "''")
		case "bytes":
			if b := x.value(t, c.name, where); len(b) > 0 {
				set(c.name, "empty", "$1", []byte{})
				b[len(b)/2] ^= 1
				set(c.name, "a bit", "$1", b)
			}
		}
	}
	if slices.ContainsFunc(t.columns, func(c rowColumn) bool { return c.key && c.name == "hash" }) || slices.Contains(digestKeys, t.name) {
		// A copy under the keyed digest of a secret that no one has is never asked for.
		return append(all, x.deleted(t, where), x.swapped(t, where))
	}
	return append(all, x.deleted(t, where), x.copied(t, where), x.swapped(t, where))
}

// deleted takes the row away, with what points to it.
func (x *rowsTried) deleted(t *rowTable, where string) rowTry {
	gone := rowTry{column: "*", kind: "deleted"}
	for _, child := range t.holds {
		column := map[string]string{"csc_tokens": "token_id", "csc_hashes": "sad_id"}[child]
		if column == "" {
			column = "account_id"
		}
		gone.sql = append(gone.sql, rowStatement{`delete from ` + child + ` where ` + column + ` in (select id from ` + t.name + ` where ` + where + `)`, nil})
	}
	gone.sql = append(gone.sql, rowStatement{`delete from ` + t.name + ` where ` + where, nil})
	return gone
}

// value is what stands in a column of bytes.
func (x *rowsTried) value(t *rowTable, column, where string) (b []byte) {
	x.T.Helper()
	err := x.srv.Parts().DB.Read().QueryRow(context.Background(), `select `+column+` from `+t.name+` where `+where).Scan(&b)
	if err != nil {
		x.T.Fatalf("%s.%s: %v", t.name, column, err)
	}
	return b
}

// copied adds the row once more, under another key.
func (x *rowsTried) copied(t *rowTable, where string) rowTry {
	var values []string
	var args []any
	for _, c := range t.columns {
		switch {
		case !c.key && !slices.Contains(t.unique, c.name) || c.name == "account_id" || c.name == "signature_id" || c.name == "sad_id":
			values = append(values, c.name)
		case c.name == "role":
			values = append(values, c.name)
		case c.kind == "number":
			values = append(values, c.name+" + 1000000")
		case c.kind == "text" && (c.name == "id" || c.name == "line_id"):
			values = append(values, `'ffffffffffffffffffffffff'`)
		case c.kind == "text":
			values = append(values, c.name+` || 'x'`)
		default:
			b := x.value(t, c.name, where)
			if len(b) > 0 {
				b[0] ^= 1
			}
			args = append(args, b)
			values = append(values, fmt.Sprintf("$%d", len(args)))
		}
	}
	return rowTry{"*", "copied", []rowStatement{{`insert into ` + t.name + ` (` + strings.Join(t.names(), ", ") + `) select ` + strings.Join(values, ", ") + ` from ` + t.name + ` where ` + where, args}}}
}

// swapped puts all of another row into this one, under its own key.
func (x *rowsTried) swapped(t *rowTable, where string) rowTry {
	var names []string
	for _, c := range t.columns {
		if !c.key && !slices.Contains(t.unique, c.name) {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return rowTry{column: "*", kind: "swapped"}
	}
	var differs []string
	for _, k := range t.keys() {
		differs = append(differs, `o.`+k+` <> `+t.name+`.`+k)
	}
	list := strings.Join(names, ", ")
	if len(names) > 1 {
		list = "(" + list + ")"
	}
	return rowTry{"*", "swapped", []rowStatement{{
		`update ` + t.name + ` set ` + list + ` = (select ` + strings.Join(names, ", ") + ` from now_` + t.name + ` o where ` + strings.Join(differs, " or ") + ` limit 1)
			where ` + where + ` and exists (select 1 from now_` + t.name + ` o where ` + strings.Join(differs, " or ") + `)`, nil,
	}}}
}

// returned puts rows of before back that are gone now, or are others.
func (x *rowsTried) returned(t *rowTable) []rowTry {
	key := strings.Join(t.keys(), ", ")
	if len(t.keys()) > 1 {
		key = "(" + key + ")"
	}
	// What is counted may have been counted in between, and is not found in any case.
	names := slices.DeleteFunc(slices.Clone(t.names()), func(column string) bool {
		_, listed := isUnnoticed(t.name, column)
		return listed && !slices.Contains(t.keys(), column)
	})
	list := strings.Join(names, ", ")
	old := `from (select ` + list + ` from then_` + t.name + ` except select ` + list + ` from now_` + t.name + `) o`
	var all []rowTry
	for i := range storetest.Count(x.T, x.srv.Parts().DB, `select count(*) `+old) {
		one := fmt.Sprintf(`(select %s %s order by %s limit 1 offset %d)`, strings.Join(t.keys(), ", "), old, strings.Join(t.keys(), ", "), i)
		all = append(all, rowTry{"*", "returned", []rowStatement{
			{`delete from ` + t.name + ` where ` + key + ` = ` + one, nil},
			{`insert into ` + t.name + ` select * from then_` + t.name + ` where ` + key + ` = ` + one, nil},
		}})
	}
	return all
}

// open serves with a process that has seen nothing yet.
func (x *rowsTried) open() (closing func(), err error) {
	cfg := x.Config
	cfg.Listen, cfg.Log.Level = "127.0.0.1:0", "error"
	srv, err := server.Open(context.Background(), cfg)
	if err != nil {
		return nil, err
	}
	srv.Parts().Identify.Elsewhere = append(srv.Parts().Identify.Elsewhere, x.method)
	h := srv.Handler()
	x.serving.Store(&h)
	x.fresh = srv
	return srv.Close, nil
}

// outcome says what becomes of a try that the database took.
func (x *rowsTried) outcome(s *rowSubject, listed bool) string {
	ctx := context.Background()
	if r, err := x.srv.VerifyAudit(ctx); err != nil || r.Bad != nil {
		return "found"
	}
	if listed {
		return ""
	}
	closing, err := x.open()
	if err != nil {
		return "refused" // the server does not even start
	}
	defer closing()
	if s.use != nil {
		if err := s.use(); err != nil {
			return "refused"
		}
	}
	problems := 0
	tell := func(string) { problems++ }
	if err := x.fresh.Parts().Authority.Examine(ctx, tell); err != nil {
		problems++
	}
	if _, err := x.fresh.Parts().Enroll.Examine(ctx, tell); err != nil {
		problems++
	}
	if _, err := x.fresh.Parts().Signing.Check(ctx, false, 0, tell); err != nil {
		problems++
	}
	if err := x.fresh.Parts().Publications.Check(); err != nil {
		problems++
	}
	if problems > 0 {
		return "found"
	}
	return ""
}

func newRowsTried(t *testing.T, database string) *rowsTried {
	x := &rowsTried{counts: map[string]int{}, listed: map[string]bool{}, whole: os.Getenv("ROGITO_TEST_ROWS") != "", dice: rand.New(rand.NewPCG(1, 2)), method: pretend{Until: 1 << 40}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*x.serving.Load()).ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	x.site = newSite(t, func(c *server.Config) { c.Database = database })
	x.Run.Stop()
	x.URL, x.Config.PublicURL = front.URL, front.URL
	x.witness = filepath.Join(x.Config.Data, "audit", "witness")
	x.srv = x.OpenServer()
	x.readTables()
	closing, err := x.open()
	if err != nil {
		t.Fatal(err)
	}
	x.fill()
	x.keep("then")
	x.goOn()
	closing()
	x.keep("now")
	return x
}

// groups tell the rows of a table apart of which one each is tried.
var groups = map[string]string{
	"audit_events": "kind", "signing_intents": "outcome", "authority_keys": "name", "work": "kind", "omi_publications": "semester", "request_errors": "code",
	"identification_answers": "until", "wallet_transactions": "product",
}

// subjects are the rows of a table that are tried.
func (x *rowsTried) subjects(t *rowTable, used map[string][]rowSubject) []rowSubject {
	x.T.Helper()
	if list := used[t.name]; list != nil {
		return list
	}
	group := groups[t.name]
	if group == "" {
		group = "1"
	}
	keys := strings.Join(t.keys(), ", ")
	left := keys
	if len(t.keys()) > 1 {
		left = "(" + keys + ")"
	}
	var list []rowSubject
	for i := range min(storetest.Count(x.T, x.srv.Parts().DB, `select count(*) from (select distinct `+group+` from now_`+t.name+`) g`), 20) {
		list = append(list, rowSubject{where: fmt.Sprintf(`%s = (select %s from (select %s, row_number() over (partition by %s order by %s) as nth, dense_rank() over (order by %s) as rank from now_%s) r where nth = 1 and rank = %d limit 1)`,
			left, keys, keys, group, keys, group, t.name, i+1)})
	}
	return list
}

// Every table, column and kind of change: all of it where ROGITO_TEST_ROWS is set (to
// postgres: there), else a part, the same in each run.
func TestRows(t *testing.T) {
	await.All(t)
	t.Parallel()
	database := "sqlite"
	if os.Getenv("ROGITO_TEST_ROWS") == "postgres" {
		database = storetest.Postgres(t)
	}
	x := newRowsTried(t, database)
	x.reset()
	if r, err := x.srv.VerifyAudit(context.Background()); err != nil || r.Bad != nil {
		t.Fatalf("before: %v %v", r, err)
	}
	used := x.used()
	for name, list := range used {
		for i, s := range list {
			if s.use == nil {
				continue
			}
			closing, err := x.open()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.use(); (err != nil) != s.never {
				t.Errorf("%s %d: before: %v", name, i, err)
			}
			closing()
			x.reset()
		}
	}
	for _, tb := range x.tables {
		if storetest.Count(t, x.srv.Parts().DB, `select count(*) from `+tb.name) == 0 && !slices.Contains(neverMet, tb.name) && tb.name != "audit_hashes" {
			t.Errorf("%s: there is no row to be tried", tb.name)
		}
		for _, s := range x.subjects(tb, used) {
			for _, k := range x.tries(tb, s.where) {
				x.one(tb, &s, k)
			}
		}
		for _, k := range x.returned(tb) {
			x.one(tb, x.all(used[tb.name]), k)
		}
	}
	if !x.whole {
		t.Logf("a part: %v", x.counts)
		return
	}
	t.Logf("everything: %v", x.counts)
	for _, u := range unnoticed {
		for _, name := range u.tables {
			if !x.listed[name] && !slices.Contains(neverMet, name) {
				t.Errorf("%s is in the list of what is not found, and was found or refused each time", name)
			}
		}
	}
}

// neverMet are tables that an installation at rest has no rows of.
var neverMet = []string{"credential_attempts", "meter_leases", "omi_active", "omi_publications", "pulse", "request_errors"}

// drawn says whether a try is among the part that every run of the tests makes. Of
// what is listed a little is enough, and the whole row is tried each time.
func (x *rowsTried) drawn(t *rowTable, k rowTry) bool {
	if _, listed := isUnnoticed(t.name, k.column); listed {
		return x.dice.IntN(20) == 0
	}
	return k.column == "*" && k.kind != "swapped" || x.dice.IntN(12) == 0
}

// all is whatever rows of a table are used for: one refusal of what was possible is
// enough, and nothing that was refused must be possible.
func (x *rowsTried) all(list []rowSubject) *rowSubject {
	return &rowSubject{use: func() (refused error) {
		for _, s := range list {
			if s.use == nil {
				continue
			}
			err := s.use()
			if s.never && err == nil {
				return nil
			}
			if err != nil {
				refused = err
			}
		}
		return refused
	}}
}

func (x *rowsTried) one(t *rowTable, s *rowSubject, k rowTry) {
	x.T.Helper()
	if len(k.sql) == 0 || !x.whole && !x.drawn(t, k) {
		return
	}
	changed, err := x.change(k.sql)
	if err != nil || !changed {
		x.counts["impossible"]++
		return
	}
	same := storetest.Count(x.T, x.srv.Parts().DB, `select count(*) from (select * from `+t.name+` except select * from now_`+t.name+`) d`) == 0 &&
		storetest.Count(x.T, x.srv.Parts().DB, `select count(*) from (select * from now_`+t.name+` except select * from `+t.name+`) d`) == 0
	if same {
		x.counts["no change"]++
		x.reset()
		return
	}
	entry, listed := isUnnoticed(t.name, k.column)
	got := x.outcome(s, listed)
	x.reset()
	switch {
	case got == "" && listed:
		got = "listed"
		x.listed[entry] = true
	case got == "":
		x.T.Errorf("UNNOTICED %s.%s %s (%s)", t.name, k.column, k.kind, s.where)
		got = "unnoticed"
	}
	x.counts[got]++
}
