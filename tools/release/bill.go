package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// bill writes the bill of materials: every module that is linked into the
// program, as the program itself tells it, with the sums of go.sum.
func (r *release) bill() error {
	info, err := buildinfo.ReadFile(r.binary(r.wanted()[0]))
	if err != nil {
		return err
	}
	own := cyclonedx.Component{
		BOMRef: purl(info.Main.Path, "v"+r.version), Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: r.version,
		PackageURL: purl(info.Main.Path, "v"+r.version), Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.date.UTC().Format(time.RFC3339), Component: &own}
	runtime := strings.TrimPrefix(info.GoVersion, "go")
	parts := []cyclonedx.Component{{
		BOMRef: purl("std", runtime), Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: runtime, PackageURL: purl("std", runtime),
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "BSD-3-Clause"}}},
	}}
	needs := []string{parts[0].BOMRef}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cyclonedx.Component{BOMRef: purl(m.Path, m.Version), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m.Path, m.Version)}
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
		}
		parts, needs = append(parts, c), append(needs, c.BOMRef)
	}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: own.BOMRef, Dependencies: &needs}}
	var out bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(r.name(".cdx.json"), out.Bytes(), 0o644)
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
