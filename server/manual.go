package server

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Manual writes a configuration as YAML with what each key means above it.
// Secrets are left out.
func Manual(w io.Writer, cfg Config) error {
	var b strings.Builder
	b.WriteString("# Every key and what it means. A key is also an environment variable: dots become\n" +
		"# underscores, ROGITO_ before it (omi.watch_dir: ROGITO_OMI_WATCH_DIR). Flags win over\n" +
		"# the environment, the environment over this file. Unknown keys are refused.\n")
	if err := manual(&b, reflect.ValueOf(cfg), ""); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func manual(b *strings.Builder, v reflect.Value, indent string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get("yaml")
		if f.Type.Kind() == reflect.Struct {
			fmt.Fprintf(b, "\n%s%s:\n", indent, key)
			if err := manual(b, v.Field(i), indent+"  "); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(b, "%s# %s\n", indent, f.Tag.Get("doc"))
		if f.Tag.Get("secret") == "true" {
			fmt.Fprintf(b, "%s# %s:\n", indent, key)
			continue
		}
		if err := manualValue(b, indent, key, v.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

func manualValue(b *strings.Builder, indent, key string, value any) error {
	y, err := yaml.Marshal(map[string]any{key: value})
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	for line := range strings.SplitSeq(strings.TrimRight(string(y), "\n"), "\n") {
		fmt.Fprintf(b, "%s%s\n", indent, line)
	}
	return nil
}
