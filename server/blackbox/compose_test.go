package blackbox

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// service is what a compose file says of one.
type service struct {
	Command     []string
	Environment map[string]string
	Secrets     []string
	Healthcheck struct{ Test []string }
}

// machine stands for what deploy/compose runs beside the server: it has the places
// of its containers on this machine.
type machine struct {
	data, secrets, database string
	bucket                  storetest.Bucket
}

// here is a value of the file with these places in it. Nothing else is changed.
func (m *machine) here(t *testing.T, value string) string {
	t.Helper()
	switch {
	case strings.HasPrefix(value, "postgres://rogito@postgres/"):
		return m.database
	case strings.HasPrefix(value, "s3://rogito/"):
		asked, err := url.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		place, _ := url.Parse(m.bucket.URL)
		if q := asked.Query(); q.Get("endpoint") != "http://s3:7070" || q.Get("region") == "" {
			t.Errorf("%s leads past the S3 server", value)
		}
		place.Path = asked.Path // documents and checkpoints stay apart
		return place.String()
	case strings.HasPrefix(value, "/run/secrets/"):
		return filepath.Join(m.secrets, filepath.Base(value))
	case strings.HasPrefix(value, "/data/"):
		return filepath.Join(m.data, strings.TrimPrefix(value, "/data/"))
	case strings.HasPrefix(value, "${ADMINISTRATOR:?"):
		return "you@example.org"
	case strings.HasPrefix(value, "${ROGITO_PUBLIC_URL:?"):
		return "https://sign.example.org"
	case strings.HasPrefix(value, "0.0.0.0:"):
		return "127.0.0.1:0"
	}
	return value
}

// What deploy/compose wires works: PostgreSQL, a bucket with object lock, secrets in
// files, production. The installation is made once, becomes ready by the file's own
// health check, and signs.
func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "compose", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	serve, first := file.Services["rogito"], file.Services["init"]
	m := &machine{data: t.TempDir(), secrets: t.TempDir(), database: storetest.EmptyPostgres(t), bucket: storetest.LockedS3(t)}
	write := func(dir, name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(m.secrets, "postgres", "a password that this PostgreSQL does not ask for\n")
	write(m.secrets, "s3", m.bucket.SecretKey+"\n")
	write(m.secrets, "master_key", strings.Repeat("5eed", 16)+"\n") // as openssl rand -hex 32 writes it
	n := newNode(t, storage{Data: m.data})
	n.args = nil
	n.env = []string{"PATH=" + os.Getenv("PATH"), "ROGITO_DATA=" + m.data, "ROGITO_LISTEN=" + n.addr, "ROGITO_LIMITS_RESERVE=-1", "ROGITO_TRUST_LISTS=false"}
	for name, value := range serve.Environment {
		if name == "ROGITO_S3_ACCESS_KEY" {
			value = m.bucket.AccessKey
		}
		n.env = append(n.env, name+"="+m.here(t, value))
	}
	for _, s := range serve.Secrets {
		if _, err := os.Stat(filepath.Join(m.secrets, s)); err != nil {
			t.Errorf("the file has a secret %s", s)
		}
	}
	if !slices.Equal(serve.Command, []string{"serve"}) || len(first.Command) == 0 || len(serve.Environment) < 8 {
		t.Fatalf("%+v", file.Services)
	}
	var init []string
	for _, arg := range first.Command {
		init = append(init, m.here(t, arg))
	}
	n.run(init...)
	n.run(init...) // whenever the machine starts again
	n.start()
	n.run(serve.Healthcheck.Test[2:]...)
	var admin credentials
	b, err := os.ReadFile(filepath.Join(m.data, "administrator.json"))
	if err == nil {
		err = json.Unmarshal(b, &admin)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.run("wallet", "credit", admin.Email, "10")
	const password = "a long password"
	n.run("cert", "import", admin.Email, "automatic", write(m.secrets, "key.p12", string(pairFile(t, password))),
		"--username", "clerk", "--password-file", write(m.secrets, "password", password))
	a, err := call(http.DefaultClient, "POST", n.url()+"/EU-QES_automatic", map[string]any{
		"inputDocuments": base64.StdEncoding.EncodeToString([]byte("a text")), "certificateUsername": "clerk", "certificatePassword": password,
	}, "Authorization", "Bearer "+admin.Token)
	if err != nil || a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"state":"DONE"`) {
		t.Fatalf("%v %+v", err, a)
	}
	if said := n.run("doctor", "--quick", "--json"); strings.Contains(said, `"state":"bad"`) {
		t.Error(said)
	}
}
