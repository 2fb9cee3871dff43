package storetest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/internal/await"
)

// PgBouncer is the address of a database behind a pooler that shares sessions by the mode
// given (session, transaction, statement), with further lines of its configuration.
func PgBouncer(t testing.TB, database, mode string, settings ...string) string {
	t.Helper()
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bin = "/usr/sbin/pgbouncer"; !isFile(bin) {
			missing(t, "PgBouncer: %v", err)
		}
	}
	to, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rogpb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(dir, "users")
	lines := append([]string{
		"[databases]",
		fmt.Sprintf("%s = host=%s port=%d user=%s", to.Database, to.Host, to.Port, to.User),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + port, "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + users, "pool_mode = " + mode, "default_pool_size = 20", "max_client_conn = 200",
	}, settings...)
	ini := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(users, []byte(`"`+to.User+`" ""`+"\n"), 0o644); err != nil { //nolint:gosec // no secret: another user reads it
		t.Fatal(err)
	}
	if err := os.WriteFile(ini, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	user, err := giveAway(dir)
	if err != nil {
		missing(t, "PgBouncer refuses root, and no other user could be taken: %v", err)
	}
	cmd := exec.Command(bin, "-q", ini)
	user(cmd)
	said := &strings.Builder{}
	cmd.Stderr = said
	gone := make(chan struct{})
	if err := startTied(cmd, gone); err != nil {
		missing(t, "start PgBouncer: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-gone })
	address := "postgres://" + to.User + "@" + net.JoinHostPort("127.0.0.1", port) + "/" + url.PathEscape(to.Database) + "?sslmode=disable"
	for range await.Within(await.Limit) {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), address+"&default_query_exec_mode=simple_protocol"); err == nil {
			_ = conn.Close(context.Background())
			return address
		}
	}
	t.Fatalf("PgBouncer does not answer: %v: %s", err, said)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
