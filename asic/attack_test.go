package asic

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// calledEmpty is a container that says of an entry without compression that it is empty; its
// content remains.
func calledEmpty(t *testing.T, b []byte, content string) []byte {
	t.Helper()
	var said []byte
	said = binary.LittleEndian.AppendUint32(said, crc32.ChecksumIEEE([]byte(content)))
	said = binary.LittleEndian.AppendUint32(said, uint32(len(content)))
	empty := binary.LittleEndian.AppendUint32(bytes.Clone(said), 0)
	said = binary.LittleEndian.AppendUint32(said, uint32(len(content)))
	if bytes.Count(b, said) != 2 { // after the content, and in the directory
		t.Fatal("the sizes are not found")
	}
	return bytes.ReplaceAll(b, said, empty)
}

// TestUnreadMetadata: files of META-INF that the standards name are no documents, and neither are
// folders. What is in them must be looked at all the same: readers unpack it.
func TestUnreadMetadata(t *testing.T) {
	p := adestest.Must(t, clock)
	a := p.Actor(t, "good")
	const page = "<html>pay 900 to Carlo</html>"
	const nobodys = `<m:ASiCManifest xmlns:m="` + nsASiC + `"><m:SigReference URI="META-INF/gone.p7s"/>pay 900 to Carlo</m:ASiCManifest>`
	for _, k := range kinds {
		b := sign(t, a, []ades.File{file("a.txt", "hello"), file("empty", "")}, k.o)
		check(t, read(t, b), 1, "")
		unlisted := func(name string, content []byte) []byte {
			if name == metaInf+odfManifestName {
				return nil
			}
			return content
		}
		with := func(name string) []byte { return rewrite(t, b, keep, map[string]string{name: page}) }
		for name, forged := range map[string][]byte{
			"a manifest in capitals": with("META-INF/MANIFEST.XML"),
			"a manifest of nobody":   rewrite(t, b, keep, map[string]string{"META-INF/ASiCManifest-order.xml": nobodys}),
			"text in a manifest":     rewrite(t, b, unlisted, map[string]string{"META-INF/manifest.xml": `<m:manifest xmlns:m="` + nsManifest + `">pay 900</m:manifest>`}),
			"a record of nobody":     rewrite(t, b, keep, map[string]string{"META-INF/ASiCEvidenceRecordManifest-order.xml": nobodys}),
			"metadata called empty":  calledEmpty(t, with("META-INF/container.xml"), page),
			"a folder called empty":  bytes.ReplaceAll(calledEmpty(t, with("folder-"), page), []byte("folder-"), []byte("folder/")),
		} {
			if s := read(t, forged).Signatures[0]; s.Intact() == ades.Yes && s.ContentIsWhole && !ades.Fatal(s.Problems) {
				t.Errorf("%s, %s: passes for the whole container", k.name, name)
			}
		}
	}
}
