package blob_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A locked object can be read after it was overwritten or deleted.
func TestLocked(t *testing.T) {
	b := storetest.LockedS3(t)
	ctx := context.Background()
	l, err := blob.OpenLocked(ctx, blob.Config{Location: b.URL, AccessKey: b.AccessKey, SecretKey: b.SecretKey, Spool: t.TempDir(), Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour)
	for _, name := range []string{"one", "two"} {
		if err := l.Put(ctx, name, []byte("first "+name), until); err != nil {
			t.Fatal(err)
		}
	}
	u, _ := url.Parse(b.URL)
	endpoint, _ := url.Parse(u.Query().Get("endpoint"))
	client, err := minio.New(endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(b.AccessKey, b.SecretKey, ""), Region: u.Query().Get("region")})
	if err != nil {
		t.Fatal(err)
	}
	key := func(name string) string { return strings.Trim(u.Path, "/") + "/" + name }
	if err := l.Put(ctx, "one", []byte("second one"), until); err != nil {
		t.Fatal(err)
	}
	if err := client.RemoveObject(ctx, u.Host, key("two"), minio.RemoveObjectOptions{}); err != nil {
		t.Logf("delete: %v", err)
	}
	versions := 0
	for o := range client.ListObjects(ctx, u.Host, minio.ListObjectsOptions{Prefix: key("two"), WithVersions: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if o.IsDeleteMarker {
			continue
		}
		versions++
		if err := client.RemoveObject(ctx, u.Host, key("two"), minio.RemoveObjectOptions{VersionID: o.VersionID, GovernanceBypass: true}); err == nil {
			t.Errorf("version %s is deleted", o.VersionID)
		}
	}
	if versions == 0 {
		t.Error("nothing is left of two")
	}
	found := map[string]int{}
	err = l.Each(ctx, func(name string, data []byte) error { found[name+": "+string(data)]++; return nil })
	if err != nil || len(found) != 3 || found["one: first one"] != 1 || found["one: second one"] != 1 || found["two: first two"] != 1 {
		t.Errorf("%v %v", found, err)
	}
}
