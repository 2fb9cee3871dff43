package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func render(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load("../../deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "signing", Namespace: "default"}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Render(c, all)
}

// Every object of the chart is read strictly: a member that Kubernetes does not
// know is an error.
func TestChartIsWhatKubernetesReads(t *testing.T) {
	files, err := render(t, map[string]any{
		"administrator": "you@example.org", "replicas": 2, "ingress": map[string]any{"enabled": true, "host": "sign.example.org", "tlsSecret": "tls", "className": "nginx"},
		"config": map[string]any{"public_url": "https://sign.example.org", "database": "postgres://rogito@db/rogito", "blobs": "s3://b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]any{
		"ConfigMap": &core.ConfigMap{}, "Service": &core.Service{}, "StatefulSet": &apps.StatefulSet{},
		"PodDisruptionBudget": &policy.PodDisruptionBudget{}, "Ingress": &networking.Ingress{},
	}
	seen := map[string]bool{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		docs := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var head struct{ Kind string }
			if err := strict.Unmarshal(doc, &head); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			into, ok := kinds[head.Kind]
			if !ok {
				t.Errorf("a %q", head.Kind)
				continue
			}
			if err := strict.UnmarshalStrict(doc, into); err != nil {
				t.Errorf("%s: %v\n%s", head.Kind, err, doc)
			}
			seen[head.Kind] = true
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("only %v", seen)
	}
	pod := kinds["StatefulSet"].(*apps.StatefulSet).Spec.Template.Spec
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s writes to its root", c.Name)
		}
	}
}

func TestChartRefusesWhatCannotWork(t *testing.T) {
	good := map[string]any{"administrator": "you@example.org", "config": map[string]any{"public_url": "https://sign.example.org"}}
	if _, err := render(t, good); err != nil {
		t.Error(err)
	}
	for name, values := range map[string]map[string]any{
		"no address":       {"administrator": "you@example.org"},
		"no administrator": {"config": good["config"]},
		"two on SQLite":    {"administrator": "you@example.org", "config": good["config"], "replicas": 2},
	} {
		if _, err := render(t, values); err == nil {
			t.Errorf("%s is let through", name)
		}
	}
}
