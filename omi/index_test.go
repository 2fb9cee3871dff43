package omi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func encoded(t testing.TB, m *made) []byte {
	t.Helper()
	var b bytes.Buffer
	pub, err := ReadPublication(t.Context(), []string{m.folder(t)}, ImportOptions{AllowPartial: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := pub.WriteIndex(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSamePublicationSameBytes(t *testing.T) {
	if !bytes.Equal(encoded(t, terrain()), encoded(t, terrain())) {
		t.Fatal("two imports of the same files differ")
	}
}

func TestDamagedIndexIsNotOpened(t *testing.T) {
	good := encoded(t, terrain())
	if _, err := ParseIndex(good); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(good); i += 1 + i/8 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := ParseIndex(bad); !errors.Is(err, ErrIndex) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	for _, n := range []int{0, 1, 8, headerSize, headerSize + trailerSize, len(good) / 2, len(good) - 1} {
		if _, err := ParseIndex(good[:n]); !errors.Is(err, ErrIndex) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	next := bytes.Clone(good)
	next[8] = formatVersion + 1
	if _, err := ParseIndex(next); !errors.Is(err, ErrIndex) {
		t.Fatalf("a version to come: %v", err)
	}
}

func TestOpenIndexMapsTheFile(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "x.omi"), encoded(t, terrain()))
	ix, err := OpenIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := codeAt(ix, 45.15, 9.15); got != "F205/C1" {
		t.Errorf("after the file is gone: %q", got)
	}
	if _, err := OpenIndex(path); err == nil {
		t.Error("a file that is not there was opened")
	}
	if _, err := OpenIndex(write(t, filepath.Join(t.TempDir(), "empty"), nil)); !errors.Is(err, ErrIndex) {
		t.Errorf("an empty file: %v", err)
	}
}

func TestIndexWithoutPerimeters(t *testing.T) {
	ix := newMade("2018/2").zone("F205", "B1").value("F205", "B1", dwelling).index(t)
	if _, ok := ix.Lookup(45, 9); ok {
		t.Error("found without perimeters")
	}
	if _, _, ok := ix.Nearest(45, 9, 1000); ok {
		t.Error("near without perimeters")
	}
	if z, ok := ix.Zone("F205", "B1"); !ok || z.Values() != 1 || z.Polygons() != 0 {
		t.Error("the zone is not there by its code")
	}
	if zones, ok := ix.ZonesOf("F999"); ok || zones != nil {
		t.Error("an unknown municipality was found")
	}
}

// FuzzIndex changes an index file and puts the checksum right: whatever opens must
// answer without a panic.
func FuzzIndex(f *testing.F) {
	good := encoded(f, terrain())
	body := good[:len(good)-trailerSize]
	f.Add(body, 0, uint32(0))
	for _, at := range []int{gridStart, gridStart + 8, tableStart, tableStart + 16*secZones, tableStart + 16*secEntries + 8, tableStart + 16*secOutlines + 8, tableStart + 16*secOutlineEnds, headerSize + 900} {
		f.Add(body, at, uint32(0xFFFF_FFFF))
	}
	f.Fuzz(func(_ *testing.T, body []byte, at int, v uint32) {
		b := bytes.Clone(body)
		if at >= 0 && at+4 <= len(b) {
			le.PutUint32(b[at:], v)
		}
		sum := sha256.Sum256(b)
		ix, err := ParseIndex(append(b, sum[:]...))
		if err != nil {
			return
		}
		exercise(ix)
	})
}

func exercise(ix *Index) {
	for i := range min(ix.Municipalities(), 50) {
		m, _ := ix.Municipality(i)
		zones, _ := ix.ZonesOf(m.CadastralCode)
		for _, z := range zones[:min(len(zones), 50)] {
			if z.Values() < 1000 && z.Polygons() < 100 {
				Answer{Zone: z}.AppendJSON(nil, FullGeometry)
				Answer{Zone: z}.AppendGeoJSON(nil, SimplifiedGeometry)
			}
		}
	}
	for _, p := range [][2]float64{{45.15, 9.15}, {45, 9}, {45.05, 12.05}, {0, 0}, {-90, -180}, {90, 180}} {
		ix.Lookup(p[0], p[1])
		ix.Nearest(p[0], p[1], 1000)
	}
	ix.Within(9, 45, 9.5, 45.5)
	for _, a := range slices.Concat(ix.Areas(), ix.Provinces())[:min(ix.Municipalities(), 50)] {
		a.Outline().AppendJSON(nil)
	}
	for i := range uint32(min(ix.count(secZones, zoneSize), 50)) {
		Zone{ix, i}.Outline().AppendJSON(nil)
		Zone{ix, i}.Detail(10, ix.Box())
	}
	ix.Search("comune")
}
