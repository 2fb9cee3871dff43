package omi

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made is a hand-made publication: rows and perimeters in the official forms.
type made struct {
	semester string
	day      string   // of the title lines
	zones    []string // rows of ZONE
	values   []string // rows of VALORI
	kml      map[string]string
}

func newMade(semester string) *made {
	return &made{semester: semester, day: "27-APR-19", kml: map[string]string{}}
}

// zone adds a row of ZONE and returns its publication.
func (m *made) zone(cadastral, zone string) *made {
	m.zones = append(m.zones, zoneLine(cadastral, zone, "ZONA "+zone))
	return m
}

func zoneLine(cadastral, zone, description string) string {
	return fmt.Sprintf("NORD-OVEST;LOMBARDIA;MI;3015146;F2AA; ;%s;COMUNE %s;%s;'%s';%s;MI00000001;20;Abitazioni civili;N;7;", cadastral, cadastral, zone[:1], description, zone)
}

func (m *made) value(cadastral, zone, rest string) *made {
	m.values = append(m.values, fmt.Sprintf("NORD-OVEST;LOMBARDIA;MI;3015146;F2AA; ;%s;COMUNE %s;%s;%s;MI00000001;%s", cadastral, cadastral, zone[:1], zone, rest))
	return m
}

const dwelling = "20;Abitazioni civili;NORMALE;P;810;1000;L;4;5,1;L;"

// perimeter adds the perimeter of a zone: polygons as KML.
func (m *made) perimeter(cadastral, zone string, polygons ...string) *made {
	m.kml[cadastral] += placemark(cadastral, zone, strings.Join(polygons, ""))
	return m
}

func placemark(cadastral, zone, geometry string) string {
	return fmt.Sprintf(`<Placemark><name>X - Zona OMI %s</name><description><![CDATA[<b>a</b> & <]]></description>
<ExtendedData><Data name="LINKZONA"><displayName>L</displayName><value></value></Data><Data name="CODCOM"><value>%s</value></Data><Data name="CODZONA"><value>%s</value></Data></ExtendedData>
<MultiGeometry>%s</MultiGeometry></Placemark>`, zone, cadastral, zone, geometry)
}

// box is a polygon around a rectangle in degrees, with rectangular holes.
func box(sides ...[4]float64) string {
	var b strings.Builder
	b.WriteString("<Polygon>")
	for i, s := range sides {
		role := "outerBoundaryIs"
		if i > 0 {
			role = "innerBoundaryIs"
		}
		fmt.Fprintf(&b, "<%s><LinearRing><coordinates>%f,%f,0 %f,%f,0 %f,%f,0 %f,%f,0 %f,%f,0</coordinates></LinearRing></%s>",
			role, s[0], s[1], s[2], s[1], s[2], s[3], s[0], s[3], s[0], s[1], role)
	}
	b.WriteString("</Polygon>")
	return b.String()
}

func (m *made) valori() string {
	return fmt.Sprintf("Quotazioni Immobiliari : Valori di Mercato - Semestre %s - elaborazione del %s\n%s\n%s\n", m.semester, m.day, valuesHeader, strings.Join(m.values, "\n"))
}

func (m *made) zoneTable() string {
	return fmt.Sprintf("Quotazioni Immobiliari : Informazioni di Zona OMI - Semestre %s - elaborazione del %s\n%s\n%s\n", m.semester, m.day, zonesHeader, strings.Join(m.zones, "\n"))
}

func document(semester, body string) string {
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>COMUNE (MI) Anno/Semestre %s generato il 04/03/2019 17:41</name>%s</Document></kml>`, semester, body)
}

// files are the publication's files under names that say nothing.
func (m *made) files() map[string]string {
	files := map[string]string{"one.dat": m.valori(), "two": m.zoneTable()}
	for code, body := range m.kml {
		files[code+".kml"] = document(m.semester, body)
	}
	return files
}

// folder writes the publication as loose files.
func (m *made) folder(t testing.TB) string {
	dir := t.TempDir()
	for name, content := range m.files() {
		write(t, filepath.Join(dir, name), []byte(content))
	}
	return dir
}

func write(t testing.TB, path string, b []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// zipped packs files into an archive.
func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// index imports the publication and opens it.
func (m *made) index(t testing.TB) *Index {
	t.Helper()
	return indexOf(t, m.folder(t))
}

func indexOf(t testing.TB, paths ...string) *Index {
	t.Helper()
	pub, err := ReadPublication(context.Background(), paths, ImportOptions{AllowPartial: true})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := pub.WriteIndex(&b); err != nil {
		t.Fatal(err)
	}
	ix, err := ParseIndex(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// village is a publication of one municipality with one zone, its square one
// degree wide from the given corner.
func village(semester, cadastral string, lng, lat float64) *made {
	return newMade(semester).zone(cadastral, "B1").value(cadastral, "B1", dwelling).
		perimeter(cadastral, "B1", box([4]float64{lng, lat, lng + 1, lat + 1}))
}
