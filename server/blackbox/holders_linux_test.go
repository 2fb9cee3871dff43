package blackbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// seals orders so many certificates of the account and presses the sandbox's
// button for each: requests to sign a document with each of them.
func (s *servers) seals(n int, doc any) [][]byte {
	s.t.Helper()
	bodies := make([][]byte, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range next {
				c, err := s.seal()
				if err == nil {
					bodies[i], err = json.Marshal(map[string]any{"inputDocuments": doc, "certificateUsername": c.Username, "certificatePassword": c.Password})
				}
				if err != nil {
					s.t.Error(err)
					return
				}
			}
		})
	}
	if all.Wait(); s.t.Failed() {
		s.t.FailNow()
	}
	return bodies
}

func (s *servers) seal() (certificate, error) {
	n := s.nodes[0]
	a, err := call(s.client, "POST", n.url()+"/certificates/provider-eseal", map[string]any{"certificateOwner": "Dora Prova"}, "Authorization", bearer(s.token))
	if err != nil {
		return certificate{}, err
	}
	var b bought
	if err := json.Unmarshal(a.Data, &b); err != nil || b.CertificateLink == "" {
		return certificate{}, fmt.Errorf("%d: %s", a.Status, tail(string(a.Body)))
	}
	link, err := url.Parse(b.CertificateLink)
	if err != nil {
		return certificate{}, err
	}
	resp, err := s.client.PostForm(n.url()+link.Path, url.Values{"action": {"approve"}})
	if err != nil {
		return certificate{}, err
	}
	defer resp.Body.Close()
	var page bytes.Buffer
	if _, err := page.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return certificate{}, fmt.Errorf("the button: %d %v", resp.StatusCode, err)
	}
	return shown(s.t, b.ID, "eseal", page.String()), nil
}

// What a signature costs beside many certificates, and with many of them in turn:
// a server whose account has few takes turns with one whose account has a thousand
// (ROGITO_BENCH_CERTIFICATES), with one of them, a hundred, and more than there are
// dictionaries of the audit log. Each turn has certificates of its own, whose keys
// are opened before it is counted: one that was opened in a turn before would
// leave memory in the midst of it, and opening it anew costs ten signatures and more.
func TestSigningBesideCertificates(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) { besideCertificates(t, onEngine(t, e), onEngine(t, e)) })
	}
}

func besideCertificates(t *testing.T, few, many storage) {
	doc := document(100_000)
	const turns, times = 3, 400
	type turn struct {
		name   string
		s      *servers
		bodies [turns][][]byte
		effort
		opened int
		open   time.Duration
	}
	var all []*turn
	for i, n := range []int{33, number("ROGITO_BENCH_CERTIFICATES", 1000)} {
		s := &servers{t: t, nodes: []*node{newNode(t, []storage{few, many}[i])}}
		s.nodes[0].start()
		s.open([]storage{few, many}[i].Database)
		s.nodes[0].run("wallet", "credit", sandbox(t, s.nodes[0].args[1]).Email, fmt.Sprint(100*n))
		begun := s.spent()
		bodies := s.seals(n, doc)
		fmt.Printf("certificates: %d issued, %.1f ms of processor each\n", n, (s.spent().server-begun.server).Seconds()*1000/float64(n))
		for _, k := range []int{1, 10, 100, 200} {
			if turns*k > len(bodies) {
				break
			}
			one := &turn{name: fmt.Sprintf("%d of %d", k, n), s: s}
			for i := range one.bodies {
				one.bodies[i], bodies = bodies[:k], bodies[k:]
			}
			all = append(all, one)
		}
	}
	for i := range turns {
		for _, one := range all {
			bodies, before := one.bodies[i], one.s.spent()
			one.s.sendEach("eseal", bodies, "DONE", len(bodies))
			one.opened, one.open = one.opened+len(bodies), one.open+one.s.spent().server-before.server
			before = one.s.spent()
			one.s.sendEach("eseal", bodies, "DONE", times)
			one.add(times, before, one.s.spent())
		}
	}
	for _, one := range all {
		fmt.Printf("certificates: | %s | %.2f ms | PostgreSQL %.2f ms | %.2f | first of each %.1f ms |\n", one.name, one.each(one.server), one.each(one.database),
			all[0].each(all[0].server)/one.each(one.server), one.open.Seconds()*1000/float64(one.opened))
	}
}
