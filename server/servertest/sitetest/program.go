package sitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest"
)

// Program is the real binary, killed for real.
type Program struct {
	T    *testing.T
	bin  string
	Data string
	Addr string
	Args []string
	Cmd  *exec.Cmd
	Err  *lockedBuffer
	late int // permits that it told to be too late
}

func NewProgram(t *testing.T, database string) *Program {
	t.Helper()
	addr, err := servertest.Address()
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{T: t, bin: servertest.Binary(t, "faults"), Data: t.TempDir(), Addr: addr}
	if database == "" {
		fillFolder(t, p.Data)
	}
	drawtest.Share(t, p.Data)
	p.Args = []string{"serve", "--listen", p.Addr, "--data", p.Data}
	if database != "" {
		p.Args = append(p.Args, "--database", database)
	}
	t.Cleanup(p.Kill)
	return p
}

func (p *Program) Start(env ...string) {
	p.T.Helper()
	p.Cmd = exec.Command(p.bin, p.Args...)
	// A short lease: what a killed process held is taken up again within seconds.
	p.Cmd.Env = append(append(os.Environ(), "ROGITO_LIMITS_RESERVE=-1", "ROGITO_TRUST_LISTS=false", "ROGITO_JOBS_LEASE=1500ms"), env...)
	p.Err = &lockedBuffer{}
	p.Cmd.Stderr = p.Err
	if err := p.Cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.T.Context(), 2*time.Minute)
	defer cancel()
	if err := servertest.Ready(ctx, "http://"+p.Addr); err != nil {
		p.T.Fatalf("not ready: %v: %s", err, p.Err)
	}
}

func (p *Program) Kill() {
	if p.Cmd != nil && p.Cmd.Process != nil {
		_ = p.Cmd.Process.Kill()
		p.Ended()
	}
}

func (p *Program) Box() *server.Sandbox {
	p.T.Helper()
	b := server.ReadSandbox(p.Data)
	if b == nil {
		p.T.Fatal("no sandbox.json")
	}
	return b
}

// Command runs another command on the same installation.
func (p *Program) Command(args ...string) ([]byte, error) {
	cmd := exec.Command(p.bin, append(args, p.Args[3:]...)...)
	cmd.Env = append(os.Environ(), "ROGITO_LIMITS_RESERVE=-1", "ROGITO_TRUST_LISTS=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, err
}

func (p *Program) PostAs(c server.SandboxCredentials, o M, key string) *Record {
	j, _ := json.Marshal(M{"inputDocuments": B64(SamplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password, "options": o})
	req, err := http.NewRequestWithContext(context.Background(), "POST", "http://"+p.Addr+"/EU-QES_automatic", bytes.NewReader(j))
	if err != nil {
		return nil
	}
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return p.Read(req)
}

func (p *Program) Read(req *http.Request) *Record {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	var a struct{ Data Record }
	if err != nil || resp.StatusCode != 200 || json.Unmarshal(b, &a) != nil {
		return nil
	}
	return &a.Data
}

// Account counts what the key was used for and checks the audit log. Permits that came too
// late on a busy machine were given back unused, which the server told, and do not count.
func (p *Program) Account(database string) (intents, signatures int) {
	p.T.Helper()
	cfg := TestDefaults()
	cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = p.Data, -1, "error"
	if database != "" {
		cfg.Database = database
	}
	srv, err := server.Open(context.Background(), cfg)
	if err != nil {
		p.T.Fatal(err)
	}
	defer srv.Close()
	ctx := context.Background()
	count := func(query string) (n int) {
		if err := srv.Parts().DB.Read().QueryRow(ctx, query).Scan(&n); err != nil {
			p.T.Fatal(err)
		}
		return n
	}
	if n := count(`select count(*) from (select signature_id from signature_files where role = 'signed' group by signature_id having count(*) > 1) x`); n != 0 {
		p.T.Errorf("%d records have two signed documents", n)
	}
	if n := count(`select count(*) from signatures s where state = 'DONE' and not exists (select 1 from signature_files f where f.signature_id = s.id and role = 'signed')`); n != 0 {
		p.T.Errorf("%d records are DONE without a document", n)
	}
	if n := count(`select count(*) from signatures s where state = 'DONE' and not exists (select 1 from signing_intents i where i.signature_id = s.id and outcome = 'SIGNED')`); n != 0 {
		p.T.Errorf("%d signatures have no intent", n)
	}
	if _, err := srv.Parts().Audit.Sequence(ctx); err != nil {
		p.T.Fatal(err)
	}
	res, err := srv.VerifyAudit(ctx)
	if err != nil || res.Bad != nil {
		p.T.Errorf("audit: %v %v", err, res)
	}
	return count(`select count(*) from signing_intents`) - p.late, count(`select count(*) from signature_files where role = 'signed'`)
}

func Engines(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "") })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Postgres(t)) })
}

// SoakRounds is how often the server is killed: a few times, in a soak 200.
// ROGITO_SOAK_ROUNDS says otherwise.
func SoakRounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("ROGITO_SOAK_ROUNDS")); err == nil {
		return n
	}
	if Soaking() {
		return 200
	}
	return few
}

// Ended waits for a process that ends itself.
func (p *Program) Ended() {
	_ = p.Cmd.Wait()
	p.Cmd = nil
	p.late += strings.Count(p.Err.String(), "held up before it could use the key")
}

// RecordOf is nil while the server is away.
func (p *Program) RecordOf(id string) *Record {
	req, err := http.NewRequestWithContext(context.Background(), "GET", "http://"+p.Addr+"/signatures/"+id, nil)
	if err != nil {
		return nil
	}
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	return p.Read(req)
}

// Finish waits until every record is DONE, with a server that may be away at first.
func (p *Program) Finish(ids []string) {
	p.T.Helper()
	for _, id := range ids {
		await.Until(p.T, id+" is DONE", func() bool {
			r := p.RecordOf(id)
			if r != nil && r.State == "ERROR" {
				p.T.Fatalf("%s ended in error %d: %s", id, r.Number(), Deref(r.ErrorMessage))
			}
			return r != nil && r.State == "DONE"
		})
	}
}
