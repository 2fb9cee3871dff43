// Package doctor examines an installation, part by part, and says what to do.
package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/publication"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/sentence"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/tsl"
)

// Finding is what the doctor says of one part of an installation.
type Finding struct {
	Part   string            `json:"part"`
	State  string            `json:"state"` // ok, warning or bad
	Text   sentence.Sentence `json:"text"`
	Advice sentence.Sentence `json:"advice,omitzero"` // what to do
}

// States of a finding.
const (
	FindingOK      = "ok"
	FindingWarning = "warning"
	FindingBad     = "bad"
)

func fine(form sentence.Form, args ...any) Finding {
	return Finding{State: FindingOK, Text: sentence.New(form, args...)}
}

func warn(advice sentence.Sentence, form sentence.Form, args ...any) Finding {
	return Finding{State: FindingWarning, Text: sentence.New(form, args...), Advice: advice}
}

func bad(advice sentence.Sentence, form sentence.Form, args ...any) Finding {
	return Finding{State: FindingBad, Text: sentence.New(form, args...), Advice: advice}
}

// do is an advice.
func do(form sentence.Form, args ...any) sentence.Sentence { return sentence.New(form, args...) }

// Settings are what the configuration says of an installation.
type Settings struct {
	Problem        error // why it cannot work
	Production     bool
	Listen         string
	PublicURL      string
	StatusURL      string // empty: PublicURL
	Data           string // folder
	MasterKeyGiven bool   // in the environment
	MasterKeyPath  string // where it is if it was not given
	// MasterKeyDerived: a PKCS#11 token derives it, and MasterKeyToken says why it does not.
	MasterKeyDerived bool
	MasterKeyToken   func() error
	// MasterKeyPrinted: a command prints it, and MasterKeyCommand says why it does not.
	MasterKeyPrinted bool
	MasterKeyCommand func() error
	// Certificate is the one that the server shows in TLS; nil where it speaks none.
	Certificate func(context.Context) (*x509.Certificate, error)
}

// Installation is what was opened to be examined.
type Installation struct {
	DB           *store.DB
	Blobs        blob.Store
	Authority    *authority.Authority
	Enroll       *enroll.Service
	Signing      *signing.Service
	Lists        *tsl.Set
	Publications *publication.Service
	VerifyAudit  func(context.Context, audit.Extent) (*audit.Result, error)
	Identify     *identify.Methods
	Providers    map[string]remote.Provider
	Mail         *mail.Sender // nil: none is sent
	// Exported is when the audit log was last exported; nil: it is not.
	Exported     func(context.Context) (time.Time, error)
	ExportEvery  time.Duration
	FetchesLists bool
	Sandboxed    bool
}

// examination looks at one part of an opened installation. A package has its own
// in its own file and adds it to examinations.
type examination struct {
	part string
	look func(s *Installation, ctx context.Context) Finding
}

func examinations(o Options) []examination {
	return []examination{
		{"database", (*Installation).examineDatabase},
		{"blobs", (*Installation).examineBlobs},
		{"authority", (*Installation).examineAuthority},
		{"certificates", (*Installation).examineCertificates},
		{"signing keys", (*Installation).examineKeys},
		{"records", func(s *Installation, ctx context.Context) Finding { return s.examineRecords(ctx, o) }},
		{"audit", func(s *Installation, ctx context.Context) Finding { return s.examineAudit(ctx, o.Quick) }},
		{"publications", (*Installation).examinePublications},
		{"trusted lists", (*Installation).examineLists},
	}
}

// Options say how closely to look.
type Options struct {
	Quick  bool // do not read the bytes of every stored document, nor all of the audit log
	Latest int  // look for the documents of so many records, the latest; 0: of all
}

// Examine examines an installation and says what to do. It works beside a
// running server and changes nothing but a probe that it removes again.
func Examine(ctx context.Context, cfg Settings, open func(context.Context) (*Installation, func(), error), o Options) []Finding {
	var found []Finding
	say := func(part string, f Finding) {
		f.Part = part
		found = append(found, f)
	}
	say("configuration", examineConfig(&cfg))
	say("data folder", examineData(&cfg))
	say("disk space", examineDisk(&cfg))
	say("clock", examineClock(cfg.Data))
	say("master key", examineMasterKey(&cfg))
	if cfg.Certificate != nil {
		say("TLS", examineTLS(ctx, &cfg))
	}
	if slices.ContainsFunc(found, func(f Finding) bool { return f.State == FindingBad }) {
		return found // opening would only say the same, less clearly
	}
	s, done, err := open(ctx)
	if err != nil {
		say(unopened(err))
		return found
	}
	defer done()
	if !s.Sandboxed && !cfg.Production { // what it is, the database knows
		cfg.Production = true
		again := map[string]Finding{"configuration": examineConfig(&cfg), "master key": examineMasterKey(&cfg)}
		for i, f := range found {
			if now, ok := again[f.Part]; ok {
				now.Part = f.Part
				found[i] = now
			}
		}
	}
	for _, e := range examinations(o) {
		say(e.part, e.look(s, ctx))
	}
	for _, m := range s.Identify.Elsewhere { // after the lists, which some of them need
		for _, f := range Method(ctx, m) {
			say(f.Part, f)
		}
	}
	if s.Exported != nil {
		say("audit export", s.examineExport(ctx))
	}
	if s.Mail != nil {
		say("mail", s.examineMail(ctx))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		say("provider "+name, answers(ctx, s.Providers[name]))
	}
	return found
}

// Method examines a way of identification: keys and certificates, providers.
func Method(ctx context.Context, m identify.Method) (all []Finding) {
	for _, f := range m.Check(ctx) {
		one := Finding{Part: f.Name, State: FindingOK, Text: f.Detail}
		if !f.OK {
			one.State, one.Advice = FindingBad, do("rogito identify test %s says it again; docs/identification.md says what it takes", m.Name())
		}
		all = append(all, one)
	}
	return all
}

// unopened says which part kept an installation from being opened.
func unopened(err error) (string, Finding) {
	if strings.HasPrefix(err.Error(), "blob: ") {
		return "blobs", bad(do("check the folder or bucket that blobs names, and its credentials; a bucket has to be made before the first start"), "cannot be opened: %v", err)
	}
	if strings.HasPrefix(err.Error(), "master: ") {
		return "master key", bad(do("bring back the key that the database was made with (master_key_file, master.key in the data folder, or ROGITO_MASTER_KEY)"), "cannot be opened: %v", err)
	}
	if strings.HasPrefix(err.Error(), "authority: ") {
		return "authority", bad(do("bring the table authority_keys back from a backup (rogito restore), with the master key of its time"), "cannot be opened: %v", err)
	}
	if strings.HasPrefix(err.Error(), "identify.") {
		return "identification", bad(do("mend the configuration; docs/identification.md says what each method takes"), "%v", err)
	}
	return "database", bad(do("see the message; rogito config --effective shows what is set"), "cannot be opened: %v", err)
}

func examineConfig(cfg *Settings) Finding {
	if err := cfg.Problem; err != nil {
		return bad(do("mend the configuration; rogito config prints every key"), "%v", err)
	}
	if cfg.Production && cfg.PublicURL == "" {
		return warn(do("set public_url to the address clients use"), "public_url is not set: links in certificates would name %s", cfg.Listen)
	}
	if status := cmp.Or(cfg.StatusURL, cfg.PublicURL); cfg.Production && strings.HasPrefix(status, "https://") {
		return warn(do("have /pki answered by http as well, and set status_url to that address"), "certificates name lists and answers by https, which many verifiers do not fetch")
	}
	return fine("nothing contradicts itself")
}

func examineData(cfg *Settings) Finding {
	st, err := os.Stat(cfg.Data)
	if errors.Is(err, os.ErrNotExist) {
		return bad(do("start the server (rogito serve) or make an installation (rogito init)"), "%s does not exist", cfg.Data)
	}
	if err != nil {
		return bad(do("check the permissions of the folder and its parents"), "%v", err)
	}
	if !st.IsDir() {
		return bad(do("name a folder with --data"), "%s is not a folder", cfg.Data)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return warn(do("chmod 700 %s", cfg.Data), "others on this machine may look into %s", cfg.Data)
	}
	return fine("%s", cfg.Data)
}

func examineDisk(cfg *Settings) Finding {
	free, size, err := disk.Space(cfg.Data)
	if err != nil {
		return warn(do("check by hand"), "cannot be measured: %v", err)
	}
	const mega = 1 << 20
	share := 100 * float64(free) / float64(max(size, 1))
	switch {
	case share < 5 && free < 1<<30:
		return bad(do("make room: nothing new is taken in below the reserve (limits.reserve)"), "%d MB free (%.1f %%)", free/mega, share)
	case share < 10:
		return warn(do("make room soon"), "%d MB free (%.1f %%)", free/mega, share)
	}
	return fine("%d MB free (%.0f %%)", free/mega, share)
}

// examineClock finds a clock that was set back: files from the future, or a
// date before this program was written.
func examineClock(data string) Finding {
	now := time.Now()
	if now.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		return bad(do("set the clock, and keep it set (chrony, systemd-timesyncd)"), "it is %s here", now.UTC().Format(time.RFC3339))
	}
	var newest time.Time
	entries, _ := os.ReadDir(data)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if ahead := newest.Sub(now); ahead > time.Minute {
		return warn(do("keep the clock set (chrony, systemd-timesyncd)"), "a file in the data folder is %v in the future", ahead.Round(time.Second))
	}
	return fine("%s", now.UTC().Format(time.RFC3339))
}

func examineMasterKey(cfg *Settings) Finding {
	if cfg.MasterKeyPrinted {
		if err := cfg.MasterKeyCommand(); err != nil {
			return bad(do("run the command as the server's user: until it prints the key no server starts"), "%v", err)
		}
		return fine("master.command prints it")
	}
	if cfg.MasterKeyDerived {
		if err := cfg.MasterKeyToken(); err != nil {
			return bad(do("see that the token is there, and module, label, PIN and key of master.pkcs11: until it derives the key no server starts"), "%v", err)
		}
		return fine("the PKCS#11 token of master.pkcs11 derives it")
	}
	if cfg.MasterKeyGiven {
		return fine("given in the environment")
	}
	path := cfg.MasterKeyPath
	st, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return bad(do("on a new installation: rogito init; else bring the key back from its backup, since without it nothing sealed can be read"), "%s does not exist", path)
	}
	if err != nil {
		return bad(do("check the permissions"), "%v", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return bad(do("chmod 600 %s, and rotate it (rogito master-key rotate) if somebody may have read it", path), "others on this machine may read %s", path)
	}
	if cfg.Production && filepath.Dir(path) == filepath.Clean(cfg.Data) {
		return warn(do("keep it elsewhere (master_key_file), and a copy in a safe place"), "it lies in the data folder: whoever copies the folder has both (rogito backup leaves it out)")
	}
	return fine("%s", path)
}

// soonRenewed is how long before its end a certificate of TLS should have been
// renewed: ACME does so after two thirds of its life, 30 days of 90.
const soonRenewed = 14 * 24 * time.Hour

func examineTLS(ctx context.Context, cfg *Settings) Finding {
	c, err := cfg.Certificate(ctx)
	left := time.Duration(0)
	if err == nil {
		left = time.Until(c.NotAfter)
	}
	switch {
	case err != nil:
		return warn(do("see tls.cert and tls.key, or the log for what the ACME authority said"), "the server has no certificate: %v", err)
	case left < 0:
		return bad(do("renew it: a new file is taken over by itself"), "the certificate of %s ended on %s", strings.Join(c.DNSNames, ", "), c.NotAfter.UTC().Format(time.DateOnly))
	case left < soonRenewed:
		return warn(do("renew it: a new file is taken over by itself; of ACME, look into the log"), "the certificate of %s ends on %s", strings.Join(c.DNSNames, ", "), c.NotAfter.UTC().Format(time.DateOnly))
	}
	return fine("the certificate of %s is good until %s", strings.Join(c.DNSNames, ", "), c.NotAfter.UTC().Format(time.DateOnly))
}

func (s *Installation) examineDatabase(ctx context.Context) Finding {
	if err := s.DB.Ready(ctx); err != nil {
		return bad(do("check that the database runs and the disk has room"), "%v", err)
	}
	return fine("%s answers", s.DB.Dialect())
}

// examineBlobs stores, reads and removes a probe: the only proof that counts.
func (s *Installation) examineBlobs(ctx context.Context) Finding {
	advice := do("check the folder or bucket, its credentials and its free space")
	probe := bytes.Repeat([]byte("rogito doctor "+store.NewID()), 10_000) // too large for a pack, which would stay
	b, err := s.Blobs.Put(ctx, bytes.NewReader(probe))
	if err != nil {
		return bad(advice, "cannot store: %v", err)
	}
	defer s.Blobs.Delete(ctx, b.ID)
	r, err := s.Blobs.Open(ctx, b.ID)
	if err != nil {
		return bad(advice, "cannot read what was stored: %v", err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, probe) {
		return bad(advice, "what was stored came back different")
	}
	return fine("a probe was stored, read and removed")
}

func (s *Installation) examineExport(ctx context.Context) Finding {
	at, err := s.Exported(ctx)
	switch {
	case err != nil:
		return bad(do("check the folder or bucket that audit.export names, and that the bucket has object lock"), "%v", err)
	case at.IsZero():
		return warn(do("a running server writes one within a minute; its log says what fails"), "there is none yet")
	case time.Since(at) > 2*s.ExportEvery:
		return warn(do("the log of the server says what fails; where nothing happened since, there is nothing to write"), "the last is of %s", at.UTC().Format(time.RFC3339))
	}
	return fine("the last is of %s", at.UTC().Format(time.RFC3339))
}

func (s *Installation) examineMail(ctx context.Context) Finding {
	if err := s.Mail.Try(ctx); err != nil {
		return bad(do("check mail.server, mail.security and the password there: nobody is told of what waits"), "%v", err)
	}
	return fine("the server takes it")
}

func (s *Installation) examinePublications(context.Context) Finding {
	if err := s.Publications.Check(); err != nil {
		return bad(do("import the publication again: rogito omi import PUBLICATION.zip"), "%v", err)
	}
	n := len(s.Publications.Current().All())
	if n == 0 {
		return warn(do("rogito omi import PUBLICATION.zip"), "none is loaded: quotations answer 503")
	}
	return fine("%d loaded", n)
}
