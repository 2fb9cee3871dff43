package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/store"
)

// Bucket is where blobs can be kept, and the credentials for it.
type Bucket struct {
	URL, AccessKey, SecretKey string
}

// S3 returns a new bucket of a real S3 server: the
// one ROGITO_TEST_S3 names (s3://BUCKET?endpoint=…, with the AWS_… variables),
// or one started for the test.
func S3(t testing.TB) Bucket { return s3(t, false) }

// Behind is the same bucket behind a handler, which has the bucket's own to pass
// requests on to: for one that is slow, breaks or is counted.
func (b Bucket) Behind(t testing.TB, front func(bucket http.Handler) http.Handler) Bucket {
	t.Helper()
	location, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	endpoint, err := url.Parse(query.Get("endpoint"))
	if err != nil || endpoint.Host == "" {
		t.Skip("SKIPPED, NOT TESTED: the bucket has no endpoint of its own")
	}
	srv := httptest.NewServer(front(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(endpoint)
			r.Out.Host = r.In.Host // which is signed
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}))
	t.Cleanup(srv.Close)
	query.Set("endpoint", srv.URL)
	location.RawQuery = query.Encode()
	b.URL = location.String()
	return b
}

// LockedS3 is S3 for a bucket with object lock.
func LockedS3(t testing.TB) Bucket { return s3(t, true) }

func s3(t testing.TB, lock bool) Bucket {
	t.Helper()
	if given := os.Getenv("ROGITO_TEST_S3"); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + store.NewID()
		return Bucket{URL: u.String()}
	}
	bin := gateway(t)
	var secret [16]byte
	_, _ = rand.Read(secret[:])
	cfg := Bucket{AccessKey: "rogito-test", SecretKey: fmt.Sprintf("%x", secret)}
	addr := freeAddress(t)
	root := t.TempDir()
	args := []string{"--access", cfg.AccessKey, "--secret", cfg.SecretKey, "--port", addr, "--region", "eu-test", "posix", "--sidecar", t.TempDir()}
	if lock {
		args = append(args, "--versioning-dir", t.TempDir())
	}
	cmd := exec.Command(bin, append(args, root)...)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	gone := make(chan struct{})
	if err := startTied(cmd, gone); err != nil {
		missing(t, "start S3 server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-gone })
	bucket := "b" + store.NewID()
	if err := makeBucket(cfg, addr, bucket, lock, gone); err != nil {
		missing(t, "S3 server: %v: %s", err, log)
	}
	cfg.URL = "s3://" + bucket + "/test?" + url.Values{"endpoint": {"http://" + addr}, "region": {"eu-test"}}.Encode()
	return cfg
}

func makeBucket(cfg Bucket, addr, bucket string, lock bool, gone <-chan struct{}) error {
	client, err := minio.New(addr, &minio.Options{Creds: credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""), Region: "eu-test"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		err := client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: "eu-test", ObjectLocking: lock})
		if err == nil {
			return nil
		}
		select {
		case <-gone:
			return fmt.Errorf("it ended at once")
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var build struct {
	sync.Once
	path string
	err  error
}

// errNotBuilt keeps a first go test ./... from building the S3 server: that is
// hundreds of modules to load and minutes of processor.
var errNotBuilt = errors.New("it is not built yet, which takes minutes; make test builds it, or ROGITO_TEST_ALL=1")

// gateway is the S3 server's binary, built once from the tools module and kept
// in the user's cache.
func gateway(t testing.TB) string {
	t.Helper()
	build.Do(func() { build.path, build.err = buildGateway() })
	if errors.Is(build.err, errNotBuilt) {
		t.Skipf("SKIPPED, NOT TESTED: S3 server: %v", build.err)
	}
	if build.err != nil {
		missing(t, "build S3 server: %v", build.err)
	}
	return build.path
}

func buildGateway() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	mod := filepath.Join(root, "tools", "go.mod")
	version, err := toolVersion(mod, "github.com/versity/versitygw")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "rogito", "versitygw-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if !await.Everything() {
		return "", errNotBuilt
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	unlock, err := disk.Lock(path + ".lock") // the tests of another package may be building it
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	cmd := exec.Command("go", "build", "-modfile="+mod, "-o", tmp, "github.com/versity/versitygw/cmd/versitygw")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, os.Rename(tmp, path)
}

func toolVersion(mod, module string) (string, error) {
	b, err := os.ReadFile(mod)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require ")); len(f) >= 2 && f[0] == module {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", mod, module)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", fmt.Errorf("no go.mod above the working folder")
}
