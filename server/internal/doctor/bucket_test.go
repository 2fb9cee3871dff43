package doctor_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// The doctor lists a bucket in place of asking for one object after the other: of many
// documents none is asked for, and a folder is listed once.
func TestDoctorListsTheBucket(t *testing.T) {
	await.All(t)
	t.Parallel()
	var mu sync.Mutex
	counting, lists, objects := false, map[string]int{}, 0
	bucket := storetest.S3(t).Behind(t, func(bucket http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			switch prefix := r.URL.Query().Get("prefix"); {
			case !counting || r.Method != http.MethodGet && r.Method != http.MethodHead || strings.HasSuffix(r.URL.Path, "/probe"):
			case r.URL.Query().Has("list-type"):
				lists[prefix]++
			case strings.Count(strings.Trim(r.URL.Path, "/"), "/") > 0: // not of the bucket itself
				objects++
			}
			mu.Unlock()
			bucket.ServeHTTP(w, r)
		})
	})
	s := newSite(t, func(c *server.Config) {
		c.Blobs, c.S3.AccessKey, c.S3.SecretKey = bucket.URL, bucket.AccessKey, bucket.SecretKey
	})
	const documents = 300
	many := make([]string, documents)
	for i := range many {
		many[i] = b64(sitetest.SampleTXT)
	}
	s.Sign(many, m{"signatureType": "cades", "options": m{"batch": true}})
	mu.Lock()
	counting = true
	mu.Unlock()
	if f := s.Examine(true)["records"]; f.State == doctor.FindingBad {
		t.Errorf("%+v", f)
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%d folders listed, %d objects asked for", len(lists), objects)
	if objects > 5 || len(lists) == 0 || len(lists) > 256 {
		t.Errorf("%d objects of %d were asked for, and %d folders listed", objects, documents, len(lists))
	}
	for prefix, n := range lists {
		if n > 1 {
			t.Errorf("%s is listed %d times", prefix, n)
		}
	}
}
