package faults_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// remoteBucket is a bucket that can go away.
type remoteBucket struct {
	location storetest.Bucket
	state    atomic.Int32
	left     atomic.Int32 // how many more it takes when it is full
}

const (
	bucketThere = iota
	bucketGone  // connections break
	bucketStuck // nothing is answered
	bucketFull  // it is read, and takes nothing more
	bucketSly   // the same, but for the probe: it looks well
)

func newRemoteBucket(t *testing.T) *remoteBucket {
	t.Helper()
	b := &remoteBucket{}
	b.location = storetest.S3(t).Behind(t, func(bucket http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch b.state.Load() {
			case bucketStuck:
				_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client hangs up
				<-r.Context().Done()
				fallthrough
			case bucketGone:
				panic(http.ErrAbortHandler)
			case bucketFull, bucketSly:
				probe := b.state.Load() == bucketSly && strings.HasSuffix(r.URL.Path, "/probe")
				if r.Method == http.MethodPut && !probe && b.left.Add(-1) < 0 {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusInsufficientStorage)
					return
				}
			}
			bucket.ServeHTTP(w, r)
		})
	})
	return b
}

// A bucket that is away, or does not answer, is 503 with 105 in half a minute, and
// not ready in a few seconds. A record that waits goes on waiting, and is signed
// when the bucket is there again.
func TestBucketAway(t *testing.T) {
	await.All(t)
	t.Parallel()
	b := newRemoteBucket(t)
	release := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.Write(sitetest.SamplePDF)
	}))
	t.Cleanup(host.Close)
	s := newSite(t, allow(host.URL), func(c *server.Config) {
		c.Blobs, c.S3.AccessKey, c.S3.SecretKey = b.location.URL, b.location.AccessKey, b.location.SecretKey
		c.Jobs.Lease = 3 * time.Second
	})
	before := s.Sign(b64(sitetest.SamplePDF))
	waits := s.Sign(host.URL, optionsOf(m{"asyncDocumentsValidation": true}))
	if before.State != "DONE" || waits.State != "WAIT_VALIDATION" {
		t.Fatalf("%+v, %+v", before, waits)
	}
	b.state.Store(bucketGone)
	close(release)
	for _, state := range []int32{bucketGone, bucketStuck} {
		name := [...]string{bucketGone: "gone", bucketStuck: "stuck"}[state]
		b.state.Store(state)
		ready := http.StatusOK
		for range await.Within(20 * time.Second) {
			if ready != http.StatusOK {
				break
			}
			resp, err := http.Get(s.URL + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			ready = resp.StatusCode
		}
		if ready != http.StatusServiceUnavailable {
			t.Errorf("%s: ready %d", name, ready)
		}
		begun := time.Now()
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 503 || a.Code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d/%d %s", name, a.Status, a.Code(), a.Message)
		}
		if took := time.Since(begun); took > 2*time.Minute { // half a minute where nothing else runs
			t.Errorf("%s: told after %s", name, took)
		}
		if a := s.Do("GET", "/signatures/"+before.ID, nil); a.Status != 200 {
			t.Errorf("%s: reading a record: %d", name, a.Status)
		}
		if r := s.Record(s.Do("GET", "/signatures/"+waits.ID, nil)); r.State != "WAIT_VALIDATION" {
			t.Fatalf("%s: what waits is %s %d %s", name, r.State, r.Number(), deref(r.ErrorMessage))
		}
	}
	b.state.Store(bucketThere)
	if r := s.Wait(waits.ID, "DONE", "ERROR"); r.State != "DONE" {
		t.Errorf("%d %s", r.Number(), deref(r.ErrorMessage))
	}
	if r := s.Sign(b64(sitetest.SamplePDF)); r.State != "DONE" {
		t.Errorf("%+v", r)
	}
	if len(s.Download(before.ID, "signedDocument")) == 0 {
		t.Error("nothing was downloaded")
	}
}

// on has a site keep its documents in the bucket, with a lease as short as a busy machine
// does not lose.
func (b *remoteBucket) on(database string) func(*server.Config) {
	return func(c *server.Config) {
		c.Database, c.Blobs, c.S3.AccessKey, c.S3.SecretKey = database, b.location.URL, b.location.AccessKey, b.location.SecretKey
		c.Jobs.Lease = 3 * time.Second
	}
}

// A bucket that takes nothing more, but is read: no key is used until it does.
func TestBucketFull(t *testing.T) {
	t.Parallel()
	b := newRemoteBucket(t)
	s := newSite(t, b.on(""))
	id, srv := s.Waiting(), s.OpenServer()
	b.state.Store(bucketFull)
	s.Becomes(http.StatusServiceUnavailable, "blobs")
	if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+s.OtherToken()); a.Status != 200 {
		t.Fatalf("%d/%d", a.Status, a.Code())
	}
	if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 503 || a.Code() != 105 {
		t.Errorf("in the call: %d/%d, want 503 with 105", a.Status, a.Code())
	}
	s.Becomes(http.StatusServiceUnavailable, "blobs")
	if n := storetest.Count(t, srv.Parts().DB, `select count(*) from signing_intents`); n != 0 {
		t.Errorf("the key was used %d times", n)
	}
	b.state.Store(bucketThere)
	s.Wait(id, "DONE")
}

// A bucket that breaks off after the key was used: what was signed is stored when it is
// there again, with the value that was made then. The key is used once, in the call and later, in
// every format, for one document and for several.
func TestSignatureIsNeverThrownAway(t *testing.T) {
	await.All(t)
	t.Parallel()
	xml, text := b64([]byte("<a>b</a>")), b64([]byte("plain"))
	cases := []struct {
		name  string
		docs  any
		o     m
		later bool
		puts  int32 // documents that are stored before
		uses  int64
	}{
		{"pades", b64(sitetest.SamplePDF), m{}, false, 1, 1},
		{"pades, later", b64(sitetest.SamplePDF), m{"signerImage": m{"reason": "I agree"}}, true, 1, 1},
		{"pades T", b64(sitetest.SamplePDF), m{"level": "T"}, false, 1, 1},
		{"cades", text, m{}, true, 1, 1},
		{"xades", xml, m{}, false, 1, 1},
		{"a container", []string{xml, b64([]byte("<c>d</c>"))}, m{}, true, 3, 1},
		{"a batch", []string{b64(sitetest.SamplePDF), text, xml}, m{"batch": true}, false, 3, 3},
	}
	engines(t, func(t *testing.T, database string) {
		b := newRemoteBucket(t)
		s := newSite(t, b.on(database))
		srv := s.OpenServer()
		for i, one := range cases {
			if database != "" && i > 1 {
				break // formats are all the same to it
			}
			o := maps.Clone(one.o)
			o["asyncSignature"] = one.later
			send := func() *answer {
				return s.Do("POST", "/EU-QES_automatic", s.Body(one.docs, optionsOf(o)), "Idempotency-Key", one.name)
			}
			b.left.Store(one.puts)
			b.state.Store(bucketSly)
			switch a := send(); {
			case one.later && a.Status != 200:
				t.Fatalf("%s: %d/%d %s", one.name, a.Status, a.Code(), a.Message)
			case !one.later && (a.Status != 503 || a.Code() != 105 || a.Header.Get("Retry-After") == ""):
				t.Errorf("%s: in the call: %d/%d %s, want 503 with 105", one.name, a.Status, a.Code(), a.Message)
			}
			id, _ := s.Records()[0]["id"].(string)
			count := func(query string) int64 { return storetest.Count(t, srv.Parts().DB, query, id) }
			pauses := map[int64]bool{} // it is given back with what was made, and tried again
			for range await.Within(await.Limit) {
				if len(pauses) == 2 {
					break
				}
				if n := count(`select case when lease_by = '' then lease_until else 0 end from signatures where id = $1`); n > 0 {
					pauses[n] = true
				}
			}
			if r := s.Record(s.Do("GET", "/signatures/"+id, nil)); r.State != "WAIT_SIGN" || len(pauses) < 2 {
				t.Fatalf("%s: %s %d %s, given back %d times", one.name, r.State, r.Number(), deref(r.ErrorMessage), len(pauses))
			}
			b.state.Store(bucketThere)
			if r := s.Wait(id, "DONE", "ERROR"); r.State != "DONE" {
				t.Fatalf("%s: %d %s", one.name, r.Number(), deref(r.ErrorMessage))
			}
			if n := count(`select count(*) from signing_intents where signature_id = $1`); n != one.uses {
				t.Errorf("%s: the key was used %d times, want %d", one.name, n, one.uses)
			}
			if n := count(`select count(*) from signing_intents where signature_id = $1 and outcome = 'SIGNED'`); n != one.uses {
				t.Errorf("%s: %d uses count as signed, want %d", one.name, n, one.uses)
			}
			if again := s.Record(send()); again.ID != id || again.State != "DONE" {
				t.Errorf("%s: asked again: %s %s", one.name, again.ID, again.State)
			}
		}
		if res, err := srv.VerifyAudit(t.Context()); err != nil || res.Bad != nil {
			t.Errorf("audit: %v %v", err, res)
		}
	})
}

// What a provider of remote keys has signed is not sent there again either.
func TestRemoteSignatureIsNeverThrownAway(t *testing.T) {
	await.All(t)
	t.Parallel()
	p, b := newProvider(t, "1"), newRemoteBucket(t)
	s := newSite(t, p.Configure("client_credentials"), b.on(""))
	c := s.Remote("automatic", "p256", "1234")
	for name, docs := range map[string][]string{"one": {b64(sitetest.SamplePDF)}, "several": {b64(sitetest.SamplePDF), b64([]byte("plain")), b64([]byte("more"))}} {
		body := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": m{"batch": len(docs) > 1}}
		b.left.Store(int32(len(docs)))
		b.state.Store(bucketSly)
		if a := s.Do("POST", "/EU-QES_automatic", body); a.Status != 503 || a.Code() != 105 {
			t.Errorf("%s: in the call: %d/%d, want 503 with 105", name, a.Status, a.Code())
		}
		id, _ := s.Records()[0]["id"].(string)
		b.state.Store(bucketThere)
		if r := s.Wait(id, "DONE", "ERROR"); r.State != "DONE" {
			t.Errorf("%s: %d %s", name, r.Number(), deref(r.ErrorMessage))
		}
	}
	if again := p.Twice(); len(again) > 0 {
		t.Errorf("sent twice: %v", again)
	}
	s.VerifyAudit()
}
