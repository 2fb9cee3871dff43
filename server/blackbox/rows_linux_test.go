package blackbox

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// What a signature costs beside many rows: servers on stores that were filled
// before (docs/scaling.md) take turns. ROGITO_BENCH_STORES names their data
// folders, each with its database behind a comma where it has one.
func TestSigningBesideRows(t *testing.T) {
	stores := strings.Fields(os.Getenv("ROGITO_BENCH_STORES"))
	if os.Getenv("ROGITO_BENCH") == "" || len(stores) == 0 {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 and ROGITO_BENCH_STORES to measure")
	}
	var all []*servers
	for _, name := range stores {
		data, database, _ := strings.Cut(name, ",")
		s := &servers{t: t, nodes: []*node{newNode(t, storage{Data: data, Database: database})}}
		s.nodes[0].start()
		s.open(database)
		all = append(all, s)
	}
	doc, sums := document(100_000), make([]effort, len(all))
	const turns, times = 12, 100
	for range turns {
		for i, s := range all {
			body := s.request("eseal", doc, nil)
			s.send("eseal", body, "DONE", 8) // the key is open
			before := s.spent()
			s.send("eseal", body, "DONE", times)
			sums[i].add(times, before, s.spent())
		}
	}
	for i, e := range sums {
		fmt.Printf("rows: | %s | %.2f ms | PostgreSQL %.2f ms | %.2f |\n", stores[i], e.each(e.server), e.each(e.database), sums[0].each(sums[0].server)/e.each(e.server))
	}
}
