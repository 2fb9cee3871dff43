package server_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// scrape reads /metrics: the value of every series by its name and labels.
func scrape(s *site) map[string]float64 {
	s.T.Helper()
	code, text := get(s.T, s.URL+"/metrics")
	if code != 200 {
		s.T.Fatalf("/metrics: %d", code)
	}
	found := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok {
			name, value, ok = strings.Cut(strings.TrimSpace(line), " ")
		} else {
			name += "}"
		}
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(name, "#") {
			found[name] = v
		}
	}
	return found
}

// TestMetricsAreThereFromTheStart: what an alert is written on exists before
// anything happened, and is zero.
func TestMetricsAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) {
		c.Signing.TimestampURL = "https://user:canary@tsa.example.org:4433/canary?canary"
	})
	found := scrape(s)
	for name, want := range map[string]float64{
		`rogito_build_info{version="` + version.Number + `"}`:                                  1,
		`rogito_jobs{queue="callbacks",state="available"}`:                                     0,
		`rogito_jobs{queue="work",state="discarded"}`:                                          0,
		`rogito_job_oldest_seconds{queue="callbacks"}`:                                         0,
		`rogito_signatures_total{format="pades",kind="automatic",state="DONE"}`:                0,
		`rogito_signatures_total{format="none",kind="eseal",state="ERROR"}`:                    0,
		`rogito_verifications_total{indication="TOTAL-PASSED"}`:                                0,
		`rogito_timestamp_request_seconds_count{authority="embedded",result="ok"}`:             0,
		`rogito_timestamp_request_seconds_count{authority="tsa.example.org:4433",result="ok"}`: 0,
		`rogito_callbacks_total{result="delivered"}`:                                           0,
		`rogito_certificates{kind="automatic",state="DONE"}`:                                   1, // the sandbox's
		`rogito_certificates{kind="otp",state="REVOKED"}`:                                      0,
		`rogito_certificates_expiring{within="30d"}`:                                           0,
		`rogito_http_errors_total{code="104"}`:                                                 0,
		`rogito_http_request_seconds_count{method="GET",route="/metrics",status="200"}`:        0,
	} {
		if got, ok := found[name]; !ok || got != want {
			t.Errorf("%s: %v, %v; not %v", name, got, ok, want)
		}
	}
	if found["rogito_disk_free_bytes"] <= 0 {
		t.Error("no free space on the disk")
	}
	if _, ok := found["rogito_audit_lag_events"]; !ok {
		t.Error("no lag of the audit")
	}
	_, text := get(t, s.URL+"/metrics")
	for _, name := range []string{"usable", "failed", "age_seconds"} { // what alerts and dashboard ask for
		if !strings.Contains(text, "# TYPE rogito_trust_list_"+name+" gauge") {
			t.Errorf("rogito_trust_list_%s is not declared", name)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("a secret in the address of an authority is told")
	}
	promtool(t, text)
}

// promtool has Prometheus' own linter read what a scrape gave.
func promtool(t *testing.T, text string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("SKIPPED: promtool is not here (Debian: prometheus)")
		return
	}
	c := exec.CommandContext(t.Context(), tool, "check", "metrics")
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestEachMetricMoves does what each of them counts.
func TestEachMetricMoves(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-hold
		}
	}))
	defer receiver.Close()
	authority := httptest.NewServer(http.NotFoundHandler())
	defer authority.Close()
	host := strings.TrimPrefix(receiver.URL, "http://")
	s := newSite(t, func(c *server.Config) {
		c.Network.AllowPrivate = []string{host, strings.TrimPrefix(authority.URL, "http://")}
	})
	before := scrape(s)

	signed := s.Sign([]string{b64(sitetest.SamplePDF)}, m{"options": m{"level": "T"}, "callback": m{"url": receiver.URL + "/ok"}})
	s.Sign([]string{b64(sitetest.SamplePDF)}, m{"options": m{"level": "T", "timestampUrl": authority.URL}})
	s.Sign([]string{b64(sitetest.SampleTXT)}, m{"callback": m{"url": receiver.URL + "/slow"}})
	s.Do("POST", "/verify", m{"inputDocument": b64(s.Download(signed.ID, "signedDocument"))})
	s.Do("POST", "/certificates/provider-automatic", m{"certificateOwner": "Carla Prova"})
	s.Do("GET", "/signatures/nothing", nil)
	db := s.OpenServer().Parts().DB
	storetest.Exec(t, db, `update certificates set not_after = $1 where kind = 'eseal'`, time.Now().Add(10*24*time.Hour).UnixMilli())
	err := db.Write(t.Context(), func(tx *store.Tx) error {
		return job.Put(t.Context(), tx, job.Item{Kind: "of another release"})
	})
	if err != nil {
		t.Fatal(err)
	}
	// Due since long.
	storetest.Exec(t, db, `update work set created_at = 1767225600000, lease_until = 1767225600000 where kind = 'of another release'`)

	moved := map[string]bool{}
	for range await.Within(await.Limit) {
		if len(moved) >= len(movers) {
			break
		}
		now := scrape(s)
		for _, name := range movers {
			if now[name] != before[name] {
				moved[name] = true
			}
		}
	}
	close(hold)
	for _, name := range movers {
		if !moved[name] {
			t.Errorf("%s has not moved from %v", name, before[name])
		}
	}
}

var movers = []string{
	`rogito_signatures_total{format="pades",kind="automatic",state="DONE"}`,
	`rogito_signatures_total{format="pades",kind="automatic",state="ERROR"}`,
	`rogito_verifications_total{indication="TOTAL-PASSED"}`,
	`rogito_timestamp_request_seconds_count{authority="embedded",result="ok"}`,
	`rogito_timestamp_request_seconds_count{authority="of a caller",result="error"}`,
	`rogito_callbacks_total{result="delivered"}`,
	`rogito_certificates{kind="automatic",state="NEW"}`,
	`rogito_certificates_expiring{within="30d"}`,
	`rogito_audit_lag_events`,
	`rogito_disk_free_bytes`,
	`rogito_jobs{queue="callbacks",state="running"}`,
	`rogito_job_oldest_seconds{queue="work"}`,
	`rogito_http_request_seconds_count{method="GET",route="/metrics",status="200"}`,
	`rogito_http_errors_total{code="141"}`,
}
