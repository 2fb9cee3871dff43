package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// remoteBucket is a bucket that can go away.
type remoteBucket struct {
	location storetest.Bucket
	state    atomic.Int32
	room     atomic.Int32 // how many more it takes when it is full
}

const (
	bucketThere = iota
	bucketGone  // connections break
	bucketStuck // nothing is answered
	bucketFull  // it is read, and takes nothing more
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
			case bucketFull:
				if r.Method == http.MethodPut && b.room.Add(-1) < 0 {
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
	t.Parallel()
	b := newRemoteBucket(t)
	release := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.Write(samplePDF)
	}))
	t.Cleanup(host.Close)
	s := newSite(t, allow(host.URL), func(c *Config) {
		c.Blobs, c.S3.AccessKey, c.S3.SecretKey = b.location.URL, b.location.AccessKey, b.location.SecretKey
		c.Jobs.Lease = 3 * time.Second
	})
	before := s.sign(b64(samplePDF))
	waits := s.sign(host.URL, optionsOf(m{"asyncDocumentsValidation": true}))
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
			resp, err := http.Get(s.url + "/readyz")
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
		if a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF))); a.Status != 503 || a.code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d/%d %s", name, a.Status, a.code(), a.Message)
		}
		if took := time.Since(begun); took > 2*time.Minute { // half a minute where nothing else runs
			t.Errorf("%s: told after %s", name, took)
		}
		if a := s.do("GET", "/signatures/"+before.ID, nil); a.Status != 200 {
			t.Errorf("%s: reading a record: %d", name, a.Status)
		}
		if r := s.record(s.do("GET", "/signatures/"+waits.ID, nil)); r.State != "WAIT_VALIDATION" {
			t.Fatalf("%s: what waits is %s %d %s", name, r.State, r.number(), deref(r.ErrorMessage))
		}
	}
	b.state.Store(bucketThere)
	if r := s.wait(waits.ID, "DONE", "ERROR"); r.State != "DONE" {
		t.Errorf("%d %s", r.number(), deref(r.ErrorMessage))
	}
	if r := s.sign(b64(samplePDF)); r.State != "DONE" {
		t.Errorf("%+v", r)
	}
	if len(s.download(before.ID, "signedDocument")) == 0 {
		t.Error("nothing was downloaded")
	}
}

// A bucket that takes nothing more, but is read: a key is used again and again, each
// time later than before, until what it signs can be stored.
func TestBucketFull(t *testing.T) {
	t.Parallel()
	b := newRemoteBucket(t)
	s := newSite(t, func(c *Config) {
		c.Blobs, c.S3.AccessKey, c.S3.SecretKey = b.location.URL, b.location.AccessKey, b.location.SecretKey
		c.Jobs.Lease = time.Second
	})
	room := s.rooms()
	b.room.Store(1)
	b.state.Store(bucketFull)
	r := s.sign(b64(samplePDF), optionsOf(m{"asyncSignature": true}))
	// Each pause begins when the one before is over, or later.
	var until []int64
	for range await.Within(time.Minute) {
		if len(until) >= 4 {
			break
		}
		n := storetest.Count(t, room.db, `select case when lease_by = '' then lease_until else 0 end from signatures where id = $1`, r.ID)
		if n > 0 && !slices.Contains(until, n) {
			until = append(until, n)
		}
	}
	if len(until) < 4 || until[1]-until[0] < 2000 || until[2]-until[1] < 4000 || until[3]-until[2] < 8000 {
		t.Errorf("it is tried again at %v", until)
	}
	if n := storetest.Count(t, room.db, `select count(*) from signing_intents`); n < 4 {
		t.Errorf("the key was used %d times", n)
	}
	if r = s.record(s.do("GET", "/signatures/"+r.ID, nil)); r.State != "WAIT_SIGN" {
		t.Fatalf("%s %d %s", r.State, r.number(), deref(r.ErrorMessage))
	}
	b.state.Store(bucketThere)
	if r = s.wait(r.ID, "DONE", "ERROR"); r.State != "DONE" {
		t.Errorf("%d %s", r.number(), deref(r.ErrorMessage))
	}
	if res, err := room.VerifyAudit(t.Context()); err != nil || res.Bad != nil {
		t.Errorf("audit: %v %v", err, res)
	}
}
