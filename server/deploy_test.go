package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server"
)

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// queries are the expressions of alert rules and dashboard, by where they stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(deployed(t, "prometheus/rules.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all["alert "+r.Alert] = r.Expr
			if r.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
				t.Errorf("%s has no summary or severity", r.Alert)
			}
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana/rogito.json"), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for i, target := range p.Targets {
			all["panel "+p.Title+" "+string(rune('A'+i))] = target.Expr
		}
	}
	return all
}

var selector = regexp.MustCompile(`\b((?:rogito|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)

var matcher = regexp.MustCompile(`(\w+)=~?"([^"]*)"`)

var grouped = regexp.MustCompile(`\bby \(([^)]*)\)`)

var labelled = regexp.MustCompile(`(\w+)="([^"]*)"`)

// series are the metrics that a server shows: their labels, and the values of
// each, those of lists added, which are there once one is loaded.
func series(s *site) map[string]map[string][]string {
	found := map[string]map[string][]string{}
	for _, name := range []string{"rogito_trust_list_usable", "rogito_trust_list_failed", "rogito_trust_list_age_seconds"} {
		found[name] = map[string][]string{"territory": nil}
	}
	for line := range scrape(s) {
		name, labels, _ := strings.Cut(line, "{")
		if found[name] == nil {
			found[name] = map[string][]string{}
		}
		for _, l := range labelled.FindAllStringSubmatch(labels, -1) {
			found[name][l[1]] = append(found[name][l[1]], l[2])
		}
	}
	return found
}

// TestRulesAndDashboardNameWhatExists: every metric, label and value that an
// alert or a panel asks for is one that a fresh server shows.
func TestRulesAndDashboardNameWhatExists(t *testing.T) {
	t.Parallel()
	known := series(newSite(t))
	used := map[string]bool{}
	for where, expr := range queries(t) {
		labels := map[string]bool{"job": true, "instance": true} // Prometheus adds these
		for _, sel := range selector.FindAllStringSubmatch(expr, -1) {
			one, ok := known[sel[1]]
			if !ok {
				t.Errorf("%s: no metric %s", where, sel[1])
				continue
			}
			used[strings.TrimSuffix(strings.TrimSuffix(sel[1], "_bucket"), "_count")] = true
			for l := range one {
				labels[l] = true
			}
			for _, m := range matcher.FindAllStringSubmatch(sel[2], -1) {
				if m[1] != "job" && m[1] != "instance" && !slices.Contains(one[m[1]], m[2]) {
					t.Errorf("%s: %s has no %s %q", where, sel[1], m[1], m[2])
				}
			}
		}
		for _, by := range grouped.FindAllStringSubmatch(expr, -1) {
			for l := range strings.SplitSeq(by[1], ",") {
				if !labels[strings.TrimSpace(l)] {
					t.Errorf("%s: no label %s", where, l)
				}
			}
		}
	}
	for name := range known {
		plain := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count"), "_sum")
		if strings.HasPrefix(plain, "rogito_") && plain != "rogito_trust_list_failed" && !used[plain] {
			t.Errorf("neither an alert nor a panel shows %s", plain)
		}
	}
}

// TestAlertsHaveARunbook: every alert names its section of docs/runbook.md, and there
// is none beside them.
func TestAlertsHaveARunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(page), -1) {
		sections[m[1]] = true
	}
	alerts := regexp.MustCompile(`(?s)- alert: (\w+)\n.*?runbook_url: "([^"]*)"`).FindAllStringSubmatch(string(deployed(t, "prometheus/rules.yml")), -1)
	for _, a := range alerts {
		if !sections[a[1]] || !strings.HasSuffix(a[2], "/runbook#"+strings.ToLower(a[1])) {
			t.Errorf("%s: %s", a[1], a[2])
		}
		delete(sections, a[1])
	}
	if len(alerts) < 16 || len(sections) > 0 {
		t.Errorf("%d alerts; sections without one: %v", len(alerts), sections)
	}
}

// TestRulesSpeak has Prometheus' own tool read the rules and try them.
func TestRulesSpeak(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("SKIPPED: promtool is not here (Debian: prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		c := exec.CommandContext(t.Context(), tool, args...)
		c.Dir = filepath.Join("..", "deploy", "prometheus")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestComposeNamesARelease: every image has a version, and ours that of the program.
func TestComposeNamesARelease(t *testing.T) {
	t.Parallel()
	b := deployed(t, "compose/compose.yaml")
	images := regexp.MustCompile(`(?m)^\s*image: (\S+)`).FindAllStringSubmatch(string(b), -1)
	for _, m := range images {
		if !regexp.MustCompile(`:v?\d+[\w.-]*\}?$`).MatchString(m[1]) {
			t.Errorf("%s has no version", m[1])
		}
	}
	if !strings.Contains(string(b), "rogito:"+version.Number+"}") || len(images) < 2 {
		t.Errorf("the image is not rogito:%s: %v", version.Number, images)
	}
}

// TestDeployedSettingsExist: a variable that compose, container or chart sets is
// a key of the configuration.
func TestDeployedSettingsExist(t *testing.T) {
	t.Parallel()
	variables := map[string]bool{}
	for _, key := range server.Keys() {
		variables[server.Variable(key)] = true
	}
	name := regexp.MustCompile(`\bROGITO_[A-Z0-9_]+`)
	files := 0
	err := filepath.WalkDir(filepath.Join("..", "deploy"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, v := range name.FindAllString(string(b), -1) {
			files++
			if !variables[v] && !slices.Contains(server.OwnVariables, v) {
				t.Errorf("%s: %s is no key of the configuration", path, v)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d variables found: %v", files, err)
	}
}
