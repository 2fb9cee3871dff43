package server

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rogito.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, "listen: file:1\ndata: file\ndatabase: sqlite\nomi:\n  free_per_day: 7\n")
	env := []string{"ROGITO_DATA=env", "ROGITO_LISTEN=env:1", "PATH=x"}
	cfg, unknown, err := Load(path, env, []Setting{{"listen", "flag:1"}})
	if err != nil || len(unknown) != 0 {
		t.Fatal(unknown, err)
	}
	if cfg.Listen != "flag:1" || cfg.Data != "env" || cfg.OMI.FreePerDay != 7 || cfg.Limits.Documents != 1000 {
		t.Errorf("%+v", cfg)
	}
}

func TestEnvironmentNames(t *testing.T) {
	t.Parallel()
	cfg, _, err := Load("", []string{
		"ROGITO_OMI_WATCH_DIR=/in", "ROGITO_OMI_FREE_PER_DAY=-1", "ROGITO_NETWORK_ALLOW_PRIVATE=a:1, b",
		"ROGITO_LIMITS_DRAIN=5s", "ROGITO_NETWORK_OFFLINE=true",
		"ROGITO_SANDBOX_CERTIFICATES=[{kind: otp, username: u, password: p}]",
		"ROGITO_SIGNING_LEVELS={1: [password]}",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.OMI.WatchDir != "/in" || cfg.OMI.FreePerDay != -1 || cfg.Limits.Drain != 5*time.Second || !cfg.Network.Offline {
		t.Errorf("%+v", cfg)
	}
	if strings.Join(cfg.Network.AllowPrivate, "|") != "a:1|b" {
		t.Errorf("%q", cfg.Network.AllowPrivate)
	}
	if len(cfg.Sandbox.Certificates) != 1 || cfg.Sandbox.Certificates[0].Username != "u" {
		t.Errorf("%+v", cfg.Sandbox)
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lisen: x\n", "omi:\n  watchdir: x\n", "listen: a\nlisten: b\n", "limits: 3\n"} {
		if _, _, err := Load(writeConfig(t, text), nil, nil); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
	if _, unknown, err := Load("", []string{"ROGITO_LISEN=x"}, nil); err != nil || len(unknown) != 1 {
		t.Errorf("%v %v", unknown, err)
	}
}

func TestBadValuesNameTheKey(t *testing.T) {
	t.Parallel()
	for setting, want := range map[Setting]string{
		{"limits.timeout", "soon"}:       "limits.timeout",
		{"limits.body", "much"}:          "limits.body",
		{"production", "perhaps"}:        "production",
		{"trusted_proxies", "here"}:      "trusted_proxies",
		{"database", "mysql://x"}:        "database",
		{"public_url", "example"}:        "public_url",
		{"status_url", "ftp://example"}:  "status_url",
		{"tls.cert", "only.pem"}:         "tls.key",
		{"log.level", "loud"}:            "log.level",
		{"no.such", "x"}:                 "no.such",
		{"limits.no_such.deeper", "1"}:   "limits.no_such.deeper",
		{"tls.client_ca", "no-cert.pem"}: "tls.client_ca",

		{"identify.cns.listen", "127.0.0.1:1"}:   "identify.cns.cert",
		{"identify.cns.cert", "only.pem"}:        "identify.cns.key",
		{"identify.cns.header", "Client-Cert"}:   "identify.cns.url",
		{"identify.signature.accept", "anybody"}: "identify.signature.accept",
	} {
		if _, _, err := Load("", nil, []Setting{setting}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", setting, err)
		}
	}
}

func TestManualIsAConfiguration(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Manual(&b, Defaults()); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(writeConfig(t, b.String()), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	got, _ := yaml.Marshal(cfg)
	want, _ := yaml.Marshal(Defaults())
	if string(got) != string(want) {
		t.Errorf("what it prints is not what it means:\n%s", b.String())
	}
}

func TestManualHoldsNoSecret(t *testing.T) {
	t.Parallel()
	cfg := Defaults()
	cfg.MasterKey, cfg.S3.SecretKey = "canary", "canary"
	var b bytes.Buffer
	if err := Manual(&b, cfg); err != nil || strings.Contains(b.String(), "canary") {
		t.Errorf("%v %s", err, b.String())
	}
}

func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	Manual(&b, Defaults())
	if strings.Contains(b.String(), "# \n") {
		t.Error("a key has no doc tag")
	}
}

func TestSecretsAreFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("p@ss\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Defaults()
	cfg.Database, cfg.DatabasePasswordFile, cfg.S3.SecretKeyFile = "postgres://me@db/rogito", path, path
	if err := cfg.readSecrets(); err != nil {
		t.Fatal(err)
	}
	if cfg.Database != "postgres://me:p%40ss@db/rogito" || cfg.S3.SecretKey != "p@ss" {
		t.Errorf("%s %s", cfg.Database, cfg.S3.SecretKey)
	}
}

// Every key is read from the environment, and from the file that rogito config would print.
func TestEveryKeyIsSet(t *testing.T) {
	t.Parallel()
	for _, key := range Keys() {
		t.Run(key, func(t *testing.T) {
			var got, want Config
			text, in := "", ""
			switch f := want.field(key).Addr().Interface().(type) {
			case *string:
				text, *f = "some text", "some text"
			case *[]string:
				text, in, *f = "one,two", "[one, two]", []string{"one", "two"}
			case *bool:
				text, *f = "true", true
			case *int:
				text, *f = "7", 7
			case *int64:
				text, *f = "7", 7
			case *float64:
				text, *f = "0.5", 0.5
			case *time.Duration:
				text, *f = "90s", 90*time.Second
			case **bool:
				text, *f = "false", new(bool)
			case *map[string]string:
				text, *f = "{X-Name: a value}", map[string]string{"X-Name": "a value"}
			case *map[int][]string:
				text, *f = "{1: [password]}", map[int][]string{1: {"password"}}
			case *map[string]Provider:
				text, *f = "{files: import}", map[string]Provider{"files": {Kind: "import"}}
			case *[]SandboxCertificate:
				text = "[{kind: otp, username: u, password: p}]"
				*f = []SandboxCertificate{{Kind: "otp", Username: "u", Password: "p"}}
			default:
				t.Fatalf("no value of %T is tried", f)
			}
			unknown, err := got.readEnviron([]string{variable(key) + "=" + text})
			if err != nil || len(unknown) > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, %v", variable(key), unknown, err)
			}
			if in == "" {
				in = text
			}
			path := filepath.Join(t.TempDir(), "rogito.yaml")
			names := strings.Split(key, ".")
			if memberNamed(reflect.ValueOf(want), key).IsValid() {
				names = []string{key}
			}
			file := strings.Join(names, ": {") + ": " + in + strings.Repeat("}", len(names)-1) + "\n"
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			got = Config{}
			if err := readFile(path, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
}

var update = flag.Bool("update", false, "write docs/settings.md anew")

// docs/settings.md has every key.
func TestSettingsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Settings\n\n" +
		"Every key with its default; `rogito config` prints them as a file to start from. As an environment variable\n" +
		"`omi.watch_dir` is `ROGITO_OMI_WATCH_DIR`; [operating.md](operating.md#settings) says which wins. This page is made\n" +
		"from the program (`make docs`).\n\n" +
		"| key | default | meaning |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			key := path + f.Tag.Get("yaml")
			if f.Type.Kind() == reflect.Struct {
				walk(v.Field(i), key+".")
				continue
			}
			value := ""
			if !v.Field(i).IsZero() && f.Type.Kind() != reflect.Map {
				value = fmt.Sprintf("`%v`", v.Field(i).Interface())
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", key, value, cell.Replace(f.Tag.Get("doc")))
		}
	}
	walk(reflect.ValueOf(Defaults()), "")
	path := filepath.Join("..", "docs", "settings.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != b.String() {
		t.Errorf("docs/settings.md is not what the program has (%v): make docs", err)
	}
}

// database is an address, or an address with the number of connections; both names are
// those of the environment.
func TestDatabaseConnections(t *testing.T) {
	t.Parallel()
	const address = "postgres://me@one:5432,two:5433/rogito"
	for text, env := range map[string]string{
		"database: " + address + "\ndatabase.connections: 7\n":                                    "",
		"listen: file:1\ndatabase:\n  url: " + address + "\n  connections: 7\nproduction: true\n": "",
		"database: {connections: 3}\n":                                                            "ROGITO_DATABASE=" + address + " ROGITO_DATABASE_CONNECTIONS=7",
		"":                                                                                        "ROGITO_DATABASE_CONNECTIONS=7 ROGITO_DATABASE=" + address,
	} {
		cfg, unknown, err := Load(writeConfig(t, text), strings.Fields(env), nil)
		if err != nil || len(unknown) != 0 {
			t.Errorf("%q: %v %v", text, unknown, err)
			continue
		}
		if db := cfg.database(nil); db.Database != address || db.MaxConns != 7 {
			t.Errorf("%q: %+v", text, db)
		}
	}
	for _, text := range []string{
		"database: {url: sqlite, connection: 7}\n", "database: {url: sqlite, connections: many}\n", "database.connections: 1\n", "database.connections: -3\n",
		"database: {connections: 7}\ndatabase.connections: 8\n", "database: {url: mysql://x}\n",
	} {
		if _, _, err := Load(writeConfig(t, text), nil, nil); err == nil || !strings.Contains(err.Error(), "database") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Money and trust in the configuration have bounds.
func TestImpossibleConfigurations(t *testing.T) {
	t.Parallel()
	for _, bad := range [][2]string{
		{"money.signature", "-0.05"},
		{"money.signature_subscription", "-1"},
		{"money.certificate", "-137"},
		{"money.lookup", "-0.000001"},
		{"money.lookup_subscription", "-0.1"},
		{"money.signature", "1000000000000"},
		{"money.signature", "1e3"},
		{"money.vat", "-1"},
		{"money.vat", "101"},
		{"omi.free_per_day", "-2"},
		{"trusted_proxies", "0.0.0.0/0"},
		{"trusted_proxies", "::/0"},
		{"trusted_proxies", "10.0.0.0/8,0.0.0.0/1"},
		{"trusted_proxies", "128.0.0.0/1"},
		{"trusted_proxies", "1.2.3.4/0"},
		{"trusted_proxies", "2000::/3"},
		{"trusted_proxies", "::ffff:0.0.0.0/96"},
		{"trusted_proxies", "::ffff:10.0.0.0/104"},
	} {
		_, _, err := Load("", nil, []Setting{{bad[0], bad[1]}})
		if err == nil || !strings.Contains(err.Error(), bad[0]) {
			t.Errorf("%s: %s is accepted, or not named: %v", bad[0], bad[1], err)
		}
	}
	for _, good := range [][2]string{
		{"money.signature", "0"},
		{"money.certificate", "1000000"},
		{"omi.free_per_day", "-1"},
		{"trusted_proxies", "10.0.0.0/8,192.168.0.0/16,127.0.0.1"},
		{"trusted_proxies", "fd00::/8,fc00::/7,2001:db8::/32,::1"},
	} {
		if _, _, err := Load("", nil, []Setting{{good[0], good[1]}}); err != nil {
			t.Error(err)
		}
	}
	// The master key has one place.
	token := Setting{"master.pkcs11.module", "/lib/token.so"}
	for _, bad := range [][]Setting{
		{token, {"master_key_file", "/key"}},
		{token, {"master_key", strings.Repeat("0", 64)}},
		{token, {"master.command", "vault"}},
		{{"master.command", "vault"}, {"master_key_file", "/key"}},
		{{"master.pkcs11.token", "rogito"}},
	} {
		if _, _, err := Load("", nil, bad); err == nil || !strings.Contains(err.Error(), "master.") {
			t.Errorf("%v is accepted: %v", bad, err)
		}
	}
	if _, _, err := Load("", nil, []Setting{token}); err != nil {
		t.Error(err)
	}
}
