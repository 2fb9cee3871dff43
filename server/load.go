package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/server/internal/geocode"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/store"
)

// Setting is one key set from outside: a flag, or a variable of the
// environment.
type Setting struct{ Key, Value string }

// Load reads the configuration: defaults, then the YAML file (none if path is
// empty), then the environment (as os.Environ gives it), then flags. Unknown
// keys in the file are refused. Variables that start with ROGITO_ and name no
// key are returned, for a warning: an orchestrator may have put them there.
func Load(path string, environ []string, flags []Setting) (cfg Config, unknown []string, err error) {
	cfg = Defaults()
	if path != "" {
		if err := readFile(path, &cfg); err != nil {
			return cfg, nil, err
		}
	}
	unknown, err = cfg.readEnviron(environ)
	if err != nil {
		return cfg, unknown, err
	}
	for _, s := range flags {
		if err := cfg.set(s.Key, s.Value); err != nil {
			return cfg, unknown, fmt.Errorf("flag: %w", err)
		}
	}
	return cfg, unknown, cfg.check()
}

func readFile(path string, cfg *Config) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if b, err = databaseKeys(b); err != nil {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(cfg); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	return nil
}

// databaseKeys turns {url, connections} under database into the keys that they mean:
// an address by itself is how most write it.
func databaseKeys(text []byte) ([]byte, error) {
	var file struct {
		Database yaml.Node `yaml:"database"`
	}
	if yaml.Unmarshal(text, &file) != nil || file.Database.Kind != yaml.MappingNode {
		return text, nil // what is wrong with it is said by who reads all of it
	}
	var keys struct {
		URL         string `yaml:"url"`
		Connections int    `yaml:"connections"`
	}
	one, err := yaml.Marshal(&file.Database)
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(one))
	dec.KnownFields(true)
	if err := dec.Decode(&keys); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	var all yaml.Node
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	members := &all.Content[0].Content
	for i := 0; i < len(*members); i += 2 {
		if (*members)[i].Value == "database" {
			*members = slices.Delete(*members, i, i+2)
			break
		}
	}
	set := func(key string, value any) error {
		var k, v yaml.Node
		k.SetString(key)
		*members = append(*members, &k, &v)
		return v.Encode(value)
	}
	if keys.URL != "" {
		err = set("database", keys.URL)
	}
	if err == nil && keys.Connections != 0 {
		err = set("database.connections", keys.Connections)
	}
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(&all)
}

// ownVariables are names of ours that are no keys.
var ownVariables = []string{
	"ROGITO_CONFIG", "ROGITO_SHARED", "ROGITO_PASSWORD", "ROGITO_TOKEN", "ROGITO_URL",
	"ROGITO_KEY_PASSWORD", "ROGITO_PDF_PASSWORD", "ROGITO_TSA_PASSWORD",
}

func (c *Config) readEnviron(environ []string) (unknown []string, err error) {
	names := map[string]string{}
	for _, key := range Keys() {
		names[variable(key)] = key
	}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "ROGITO_") || slices.Contains(ownVariables, name) || strings.HasPrefix(name, "ROGITO_TEST_") {
			continue
		}
		key, ok := names[name]
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		if err := c.set(key, value); err != nil {
			return unknown, fmt.Errorf("%s: %w", name, err)
		}
	}
	return unknown, nil
}

// variable is the name of a key in the environment.
func variable(key string) string {
	return "ROGITO_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// Keys lists every key, in the order of the struct.
func Keys() []string {
	var keys []string
	walk(reflect.TypeFor[Config](), "", func(key string, _ reflect.StructField) { keys = append(keys, key) })
	return keys
}

// walk visits every key of a configuration type.
func walk(t reflect.Type, prefix string, visit func(key string, f reflect.StructField)) {
	for _, f := range reflect.VisibleFields(t) {
		key := prefix + f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			walk(f.Type, key+".", visit)
			continue
		}
		visit(key, f)
	}
}

// set sets one key from text.
func (c *Config) set(key, value string) error {
	v := c.field(key)
	if !v.IsValid() {
		return fmt.Errorf("unknown key %s", key)
	}
	if err := parse(v, value); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// field is where a key is kept, or no value.
func (c *Config) field(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	if whole := memberNamed(v, key); whole.IsValid() { // database.connections is one name
		return whole
	}
	for part := range strings.SplitSeq(key, ".") {
		v = memberNamed(v, part)
	}
	return v
}

func memberNamed(v reflect.Value, name string) reflect.Value {
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// parse reads text into a value: plain kinds as they are written, lists of
// strings with commas, anything richer as YAML.
func parse(v reflect.Value, s string) (err error) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = s
	case *bool:
		*p, err = strconv.ParseBool(s)
	case *int:
		*p, err = strconv.Atoi(s)
	case *int64:
		*p, err = strconv.ParseInt(s, 10, 64)
	case *float64:
		*p, err = strconv.ParseFloat(s, 64)
	case *time.Duration:
		*p, err = time.ParseDuration(s)
	case *[]string:
		*p = nil
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
	default:
		err = yaml.Unmarshal([]byte(s), p)
	}
	if err != nil {
		return fmt.Errorf("%q is not a %s", s, kindName(v.Type()))
	}
	return nil
}

func kindName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration (such as 30s or 24h)"
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return "truth value (true or false)"
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return "whole number"
	case reflect.TypeFor[float64]():
		return "number"
	}
	return "value of this key"
}

// checkMaster judges where the master key comes from: one place.
func (c *Config) checkMaster() error {
	in, command := c.Master.PKCS11, c.Master.Command
	switch {
	case len(command) > 0 && (c.MasterKey != "" || c.MasterKeyFile != "" || command[0] == ""):
		return errors.New("master.command names a program, and stands alone: leave master_key and master_key_file out")
	case in.Module == "" && in != MasterTokenConfig{}:
		return errors.New("master.pkcs11 needs a module: the library of the token")
	case in.Module != "" && (c.MasterKey != "" || c.MasterKeyFile != "" || len(command) > 0):
		return errors.New("master.pkcs11 stands alone: leave master_key, master_key_file and master.command out")
	}
	return nil
}

// check finds what cannot work, before anything is opened.
func (c *Config) check() error {
	if err := errors.Join(c.TLS.Check(), c.CORS.Check(), c.Mail.Check(), c.SMS.Check(), geocode.Check(c.OMI.Geocoder)); err != nil {
		return err
	}
	if err := c.checkMaster(); err != nil {
		return err
	}
	for _, p := range c.TrustedProxies {
		n, err := prefix(p)
		if err != nil {
			return fmt.Errorf("trusted_proxies: %q is not a network such as 10.0.0.0/8", p)
		}
		if tooWide(n) {
			return fmt.Errorf("trusted_proxies: %s is too wide: whoever is in it can claim any address; name the networks of your proxies", p)
		}
	}
	for key, value := range map[string]string{
		"public_url": c.PublicURL, "status_url": c.StatusURL,
		"operator.privacy_url": c.Operator.PrivacyURL, "operator.terms_url": c.Operator.TermsURL,
	} {
		u, err := url.Parse(value)
		if value != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			return fmt.Errorf("%s: %q is not an http(s) address", key, value)
		}
	}
	if c.Database != "sqlite" && c.Database != "" && !strings.HasPrefix(c.Database, "postgres://") && !strings.HasPrefix(c.Database, "postgresql://") {
		return errors.New("database is neither sqlite nor a postgres:// address")
	}
	if n := c.DatabaseConnections; n < 0 || n == 1 {
		return fmt.Errorf("database.connections: %d is less than %d", n, store.LeastConnections)
	}
	if _, err := c.prices(); err != nil {
		return err
	}
	return c.checkWords()
}

func (c *Config) checkWords() error {
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		return fmt.Errorf("log.level: %q is none of debug, info, warn, error", c.Log.Level)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.Log.Format) {
		return fmt.Errorf("log.format: %q is neither text nor json", c.Log.Format)
	}
	if c.Limits.Body < 1 || c.Limits.InFlight < 1 || c.Limits.Connections < 1 || c.Limits.PerAddress < 1 || c.Limits.Timeout <= 0 {
		return errors.New("limits must be positive")
	}
	if _, err := time.LoadLocation(c.Timezone); err != nil {
		return fmt.Errorf("timezone: %q is not a zone such as Europe/Rome", c.Timezone)
	}
	if !slices.Contains([]string{"", "qualified", "listed", "trusted"}, c.Identify.Signature.Accept) {
		return fmt.Errorf("identify.signature.accept: %q is none of qualified, listed, trusted", c.Identify.Signature.Accept)
	}
	if c.Identify.Demo && c.Production {
		return errors.New("identify.demo: made-up identity providers are for a sandbox, and production is set")
	}
	if err := c.Identify.check(); err != nil {
		return err
	}
	if _, err := c.providers(func(string) remote.Observe { return nil }); err != nil {
		return err
	}
	if c.Limits.Memory < 8<<20 {
		return errors.New("limits.memory is less than 8 MiB")
	}
	if c.Console.SessionIdle <= 0 || c.Console.SessionLife <= 0 {
		return errors.New("console.session_idle and console.session_life must be positive")
	}
	if c.Audit.Export != "" && c.Audit.ExportEvery < time.Minute {
		return errors.New("audit.export_every is less than a minute")
	}
	if c.Audit.Export != "" && c.Audit.Export == c.Audit.Bucket {
		return errors.New("audit.export and audit.bucket are one place: give them different prefixes")
	}
	if c.Jobs.Lease < time.Second {
		return errors.New("jobs.lease is less than a second")
	}
	return nil
}

// tooWide says that a network is more than anybody's proxies are in: shorter
// than the private networks, or the old Internet inside the new.
func tooWide(n netip.Prefix) bool {
	if n.Addr().Is4() {
		return n.Bits() < 8
	}
	private := netip.MustParsePrefix("fc00::/7").Contains(n.Addr()) && n.Bits() >= 7
	return n.Bits() < 16 && !private || n.Overlaps(netip.MustParsePrefix("::ffff:0:0/96"))
}

func prefix(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}
