package server

import (
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/logging"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/sms"
)

// Config is everything that can be set. It is read from defaults, one YAML
// file, the environment and flags, the later ones winning; the tag doc is the
// manual of each key. In the environment, dots become underscores and ROGITO_
// stands before: omi.watch_dir is ROGITO_OMI_WATCH_DIR; lists take commas. A
// key that ends in _file names a file with a secret in it.
type Config struct {
	Listen     string `yaml:"listen" doc:"address and port to listen on"`
	Data       string `yaml:"data" doc:"folder of the embedded database, the master key, spooled bodies and, unless set otherwise, the blobs"`
	Database   string `yaml:"database" doc:"sqlite, or postgres://USER@HOST/DATABASE, with several hosts postgres://USER@HOST1,HOST2/DATABASE: the one that takes writes is used; in this file also {url, connections}"`
	Blobs      string `yaml:"blobs" doc:"folder, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION; empty: the folder blobs in data"`
	PublicURL  string `yaml:"public_url" doc:"where clients reach the server, for links in answers and certificates; empty: made from listen"`
	StatusURL  string `yaml:"status_url" doc:"http address under which /pki is reached, for the lists and answers that new certificates name: many verifiers do not fetch them by https; empty: public_url"`
	Production bool   `yaml:"production" doc:"make no sandbox, and refuse to start on sandbox material"`

	Timezone string `yaml:"timezone" doc:"zone of the times on pages and in reports for people; empty: Europe/Rome in Italian, else UTC, and on /check the zone of the browser"`

	DatabaseConnections  int    `yaml:"database.connections" doc:"connections to PostgreSQL that this server opens at most, or readers of SQLite; 0: pool_max_conns of the address, else 4 for each processor and at least 8"`
	DatabasePasswordFile string `yaml:"database_password_file" doc:"file with the password of the PostgreSQL user, so that it need not stand in the URL"`
	MasterKeyFile        string `yaml:"master_key_file" doc:"file of the master key; empty: master.key in data"`
	MasterKey            string `yaml:"master_key" secret:"true" doc:"the master key itself, 64 hexadecimal digits; meant for the environment (ROGITO_MASTER_KEY)"`

	Master MasterConfig `yaml:"master"`

	TrustedProxies []string `yaml:"trusted_proxies" doc:"networks (CIDR) whose X-Forwarded-For is believed"`

	TLS       network.TLSConfig       `yaml:"tls"`
	CORS      network.CORSConfig      `yaml:"cors"`
	S3        S3Config                `yaml:"s3"`
	Network   NetworkConfig           `yaml:"network"`
	Trust     TrustConfig             `yaml:"trust"`
	Scopes    ScopesConfig            `yaml:"scopes"`
	Limits    LimitsConfig            `yaml:"limits"`
	Money     MoneyConfig             `yaml:"money"`
	OMI       OMIConfig               `yaml:"omi"`
	Signing   SigningConfig           `yaml:"signing"`
	Identify  IdentifyConfig          `yaml:"identify"`
	CSC       CSCConfig               `yaml:"csc"`
	Console   ConsoleConfig           `yaml:"console"`
	Retention RetentionConfig         `yaml:"retention"`
	Audit     AuditConfig             `yaml:"audit"`
	Mail      mail.Config             `yaml:"mail"`
	Prices    PricesConfig            `yaml:"prices"`
	SES       SESConfig               `yaml:"ses"`
	SMS       sms.Config              `yaml:"sms"`
	Operator  OperatorConfig          `yaml:"operator"`
	Sandbox   SandboxConfig           `yaml:"sandbox"`
	Jobs      JobsConfig              `yaml:"jobs"`
	Metrics   MetricsConfig           `yaml:"metrics"`
	Telemetry monitor.TelemetryConfig `yaml:"telemetry"`
	Log       logging.Config          `yaml:"log"`
}

// MasterConfig is where the master key comes from, where that is no file.
type MasterConfig struct {
	Command []string `yaml:"command" doc:"program with its arguments that prints the master key (64 hexadecimal digits) in place of master_key_file: the client of a vault or of a key management service; it has 30 seconds, and what it writes to standard error is dropped"`

	PKCS11 MasterTokenConfig `yaml:"pkcs11"`
}

// MasterTokenConfig is a token that has the master key.
type MasterTokenConfig struct {
	Module  string `yaml:"module" doc:"library of a PKCS#11 token that has the master key, in place of master_key_file: it is derived in the token from a secret that never leaves it; needs a binary built with -tags pkcs11"`
	Token   string `yaml:"token" doc:"label of the token"`
	PINFile string `yaml:"pin_file" doc:"file with the PIN"`
	Key     string `yaml:"key" doc:"label of the secret, which the first start makes; empty: rogito"`
}

// S3Config are the credentials of a bucket.
type S3Config struct {
	AccessKey     string `yaml:"access_key" doc:"access key of the bucket; empty: the usual AWS_... environment"`
	SecretKey     string `yaml:"secret_key" secret:"true" doc:"secret key of the bucket; meant for the environment"`
	SecretKeyFile string `yaml:"secret_key_file" doc:"file with the secret key of the bucket"`
}

// NetworkConfig bounds what the server fetches for its clients.
type NetworkConfig struct {
	AllowPrivate []string `yaml:"allow_private" doc:"hosts (HOST or HOST:PORT) that may be reached although their address is private"`
	Offline      bool     `yaml:"offline" doc:"fetch nothing for validation"`
}

// TrustConfig says whom verification believes.
type TrustConfig struct {
	Anchors     []string `yaml:"anchors" doc:"files with further trusted certificates (PEM)"`
	Lists       bool     `yaml:"lists" doc:"fetch the European trusted lists (never where network.offline is set); false: only those in the data folder are used"`
	LOTL        string   `yaml:"lotl" doc:"address of the list of trusted lists; empty: the Commission's"`
	LOTLAnchors string   `yaml:"lotl_anchors" doc:"file with the certificates (PEM) that sign the list of trusted lists; empty: those of the Official Journal, C/2026/1944, which come with the program"`
	Policy      string   `yaml:"policy" doc:"file with a validation policy of your own; empty: the default one"`
}

// ScopesConfig says which domains a scope may name.
type ScopesConfig struct {
	Domains []string `yaml:"domains" doc:"domains that scopes may name, beside the server's own host; the sandbox takes any"`
}

// LimitsConfig bounds what one client can cost.
type LimitsConfig struct {
	Body        int64         `yaml:"body" doc:"bytes of a request's body"`
	Document    int64         `yaml:"document" doc:"bytes of one document"`
	Memory      int64         `yaml:"memory" doc:"bytes that verifying one document may take beyond the document itself; more is a verdict, not valid"`
	Documents   int           `yaml:"documents" doc:"documents in a request"`
	InFlight    int           `yaml:"in_flight" doc:"requests answered at once; more are told to come back (503)"`
	Connections int           `yaml:"connections" doc:"connections open at once"`
	PerAddress  int           `yaml:"per_address" doc:"connections open at once of one address (of IPv6: one /64); trusted_proxies have as many as they like, and each client behind them half of in_flight requests at once; a request that waits for its client is not counted"`
	Timeout     time.Duration `yaml:"timeout" doc:"time one request may take"`
	Drain       time.Duration `yaml:"drain" doc:"time that running requests have to end at shutdown"`
	Reserve     int64         `yaml:"reserve" doc:"free bytes on disk below which nothing new is taken in; 0: 5 % of the disk, at most 1 GiB; -1: none"`
	Rate        float64       `yaml:"rate" doc:"requests a second of one token, of which 100 may come at once; 0: no limit"`
}

// MoneyConfig is the price list, net, in euro.
type MoneyConfig struct {
	Signature             string `yaml:"signature" doc:"a signature paid from the wallet, in EUR"`
	SignatureSubscription string `yaml:"signature_subscription" doc:"a signature of a subscription, in EUR"`
	Certificate           string `yaml:"certificate" doc:"activation of a certificate, in EUR"`
	Lookup                string `yaml:"lookup" doc:"a quotation beyond the free ones, in EUR"`
	LookupSubscription    string `yaml:"lookup_subscription" doc:"a quotation of a subscription, in EUR"`
	VAT                   int    `yaml:"vat" doc:"percent of value added tax that a transaction names"`
}

// PricesConfig is the price list of what people sign.
type PricesConfig struct {
	SES string `yaml:"ses" doc:"a request that people sign (EU-SES, EU-AES), in EUR"`
}

// SESConfig is about documents that people sign.
type SESConfig struct {
	Certificate  string        `yaml:"certificate" doc:"username of the seal on this server that signs for people (EU-SES); empty: the server's own seal"`
	Password     string        `yaml:"password" secret:"true" doc:"its password; meant for the environment"`
	PasswordFile string        `yaml:"password_file" doc:"file with its password"`
	Expires      time.Duration `yaml:"expires" doc:"how long people have to sign, where a request says nothing"`
}

// OMIConfig is about real-estate quotations.
type OMIConfig struct {
	FreePerDay int    `yaml:"free_per_day" doc:"free quotations of an account in a day (UTC); -1: all are free"`
	WatchDir   string `yaml:"watch_dir" doc:"folder whose publications are imported as they appear"`
	Geocoder   string `yaml:"geocoder" doc:"service that finds addresses for /map, with {q} where they go: it answers GeoJSON (Photon, Pelias) or a list as Nominatim; what visitors write and is no municipality is sent there; empty: none is asked"`
	// AllowPartial rules the watched folder only: other imports say so themselves.
	AllowPartial bool `yaml:"allow_partial" doc:"import from watch_dir also what lacks perimeters for half of its zones, or files"`
}

// SigningConfig is about signatures and the certificates they are made with.
type SigningConfig struct {
	AllowSHA1    bool                `yaml:"allow_sha1" doc:"let clients ask for SHA1"`
	TimestampURL string              `yaml:"timestamp_url" doc:"time-stamp authority, or several with commas between them, asked in turn; empty: the embedded one"`
	TSAPerMinute int                 `yaml:"tsa_per_minute" doc:"time-stamps that one address (of IPv6: one /64) gets in a minute at /tsa; 0: none, in the sandbox 600; -1: none in the sandbox either"`
	LockFailures int                 `yaml:"lock_failures" doc:"wrong passwords in a row that lock a certificate"`
	LockTime     time.Duration       `yaml:"lock_time" doc:"how long it stays locked"`
	Hold         time.Duration       `yaml:"hold" doc:"how long a key that a password has opened may stay in memory, at most 1m; -1s: not at all"`
	Levels       map[int][]string    `yaml:"levels" doc:"what each security level asks for: password, address, client-certificate, otp, approval"`
	Providers    map[string]Provider `yaml:"providers" doc:"names of certificate providers, each with its kind, local or import; keys at a remote provider, of kind csc: {kind, url, version, flow, client_id, client_secret_file, token_file, ca, timeout}; of kind arss: {kind, url, domain, hsm, ca, client_certificate, client_key, timeout, per_second, store_credentials}; of kind sws: the same without domain and hsm"`
	PKCS11       PKCS11Config        `yaml:"pkcs11"`
}

// PKCS11Config is a token that holds keys.
type PKCS11Config struct {
	Module  string `yaml:"module" doc:"library of the token; empty: keys live in the encrypted key store"`
	Token   string `yaml:"token" doc:"label of the token"`
	PINFile string `yaml:"pin_file" doc:"file with the PIN"`
	// Sessions bound how many signatures the token makes at once.
	Sessions int `yaml:"sessions" doc:"sessions with the token at once; 0: as many as it allows"`
}

// CSCConfig is about the API of the Cloud Signature Consortium, by which others
// sign with keys that are held here.
type CSCConfig struct {
	Name   string `yaml:"name" doc:"name of the service that clients show"`
	Region string `yaml:"region" doc:"country of the service, by its two letters (ISO 3166-1)"`
}

// RetentionConfig says how long things are kept.
type RetentionConfig struct {
	Files   time.Duration `yaml:"files" doc:"documents of a signature"`
	Records time.Duration `yaml:"records" doc:"records and their audit"`

	Evidence time.Duration `yaml:"evidence" doc:"evidence of who a holder is, after the certificate has ended (of cancelled orders: as files)"`
}

// AuditConfig says who outside the database witnesses the checkpoints of the
// audit log, beside the file audit/witness in the data folder.
type AuditConfig struct {
	Bucket       string        `yaml:"bucket" doc:"bucket with object lock that gets a checkpoint every hour: s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION, with the credentials of s3; empty: none"`
	Lock         time.Duration `yaml:"lock" doc:"how long nobody can delete a checkpoint from that bucket (compliance mode)"`
	TimestampURL string        `yaml:"timestamp_url" doc:"outside time-stamp authority for a checkpoint every hour, or several with commas between them; empty: only the embedded one"`

	Export      string        `yaml:"export" doc:"where the whole log, checkpoints and events, is written again and again for verification elsewhere: a folder, or a bucket with object lock as in bucket, under another prefix; empty: nowhere"`
	ExportEvery time.Duration `yaml:"export_every" doc:"how often, if there is anything new"`
}

// OperatorConfig is who runs this server, for the people who are asked to sign and
// who get certificates.
type OperatorConfig struct {
	Name       string `yaml:"name" doc:"name of who runs this server, on the pages for signers and holders and in messages to them; empty: Rogito"`
	Logo       string `yaml:"logo" doc:"file with the operator's logo for those pages: PNG, JPEG or SVG, at most 256 kB; empty: none"`
	PrivacyURL string `yaml:"privacy_url" doc:"address of the privacy notice, linked from those pages, from /check and in messages"`
	TermsURL   string `yaml:"terms_url" doc:"address of the terms of use, linked from those pages and from /check"`
}

// SandboxConfig is what the first start of a sandbox makes beside its own.
type SandboxConfig struct {
	Certificates []SandboxCertificate `yaml:"certificates" doc:"test pairs of the operator's choice: kind (automatic, otp, eseal), username, password"`
}

// SandboxCertificate is one test pair.
type SandboxCertificate struct {
	Kind     string `yaml:"kind"`
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// JobsConfig is about work in the background.
type JobsConfig struct {
	Workers int           `yaml:"workers" doc:"jobs worked on at once; 0: by the number of processors"`
	Lease   time.Duration `yaml:"lease" doc:"how long work stays with a process that gives no sign of life; then another takes it up"`
}

// MetricsConfig says where Prometheus finds its figures.
type MetricsConfig struct {
	Listen string `yaml:"listen" doc:"address and port for /metrics; empty: on the main listener, for loopback peers only"`
}

// Defaults is the configuration of a server that was told nothing.
func Defaults() Config {
	return Config{
		Listen:   "127.0.0.1:8080",
		Data:     "./data",
		Database: "sqlite",
		Limits: LimitsConfig{
			Body: 256 << 20, Document: 100 << 20, Memory: rogito.DefaultMemory, Documents: 1000,
			InFlight: 1024, Connections: 8192, PerAddress: 1024,
			Timeout: 2 * time.Minute, Drain: 30 * time.Second,
			Rate: 0,
		},
		Money: MoneyConfig{
			Signature: "0.050", SignatureSubscription: "0.013",
			Certificate: "137", Lookup: "0.02", LookupSubscription: "0.003", VAT: 22,
		},
		Prices: PricesConfig{SES: "0.09"},
		SES:    SESConfig{Expires: 30 * 24 * time.Hour},
		Trust:  TrustConfig{Lists: true},
		OMI:    OMIConfig{FreePerDay: 1440},
		Signing: SigningConfig{
			LockFailures: 5, LockTime: 15 * time.Minute, Hold: time.Minute,
			Levels: map[int][]string{
				1: {"password"},
				2: {"password", "address"},
				3: {"password", "client-certificate"},
				4: {"password", "otp"},
				5: {"password", "otp", "approval"},
			},
			Providers: map[string]Provider{"local": {Kind: "local"}},
		},
		Identify:  IdentifyConfig{SPID: spid.Config{Level: spid.DefaultLevel}, CIE: cie.Config{Level: 3}},
		CSC:       CSCConfig{Name: "Rogito", Region: "IT"},
		Console:   ConsoleConfig{Enabled: true, CheckPerMinute: 30, SessionIdle: 30 * time.Minute, SessionLife: 12 * time.Hour},
		Retention: RetentionConfig{Files: 30 * 24 * time.Hour, Records: 365 * 24 * time.Hour, Evidence: 20 * 365 * 24 * time.Hour},
		Audit:     AuditConfig{Lock: 365 * 24 * time.Hour, ExportEvery: 24 * time.Hour},
		Mail:      mail.Config{Security: "starttls"},
		SMS:       sms.Config{Method: "POST"},
		Jobs:      JobsConfig{Lease: 15 * time.Second},
		Telemetry: monitor.TelemetryConfig{Sample: 0.1},
		Log:       logging.Config{Level: "info"},
	}
}
