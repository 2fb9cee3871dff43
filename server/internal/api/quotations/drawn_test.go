package quotations

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"rogito.dev/rogito/omi"
)

// What is kept answers as what is written anew, for any place in the zone, in any
// form, until another publication is there.
func TestOMIKeptAnswers(t *testing.T) {
	s := newOMIServer(t)
	s.importArchive(t, tinyPublication("2018/2", "F205"), 200)
	for _, geometry := range []string{"", "&geometry=full", "&geometry=simplified", "&geometry=none"} {
		for _, place := range []string{"latitude=45.5&longitude=9.5", "latitude=45.25&longitude=9.125", "latitude=46.001&longitude=9.5&nearest=1000"} {
			path := "/IT-omi?" + place + geometry
			first := s.get(t, path) // the first place draws, the others have it drawn
			for range 2 {
				if again := s.get(t, path); first.status != 200 || !bytes.Equal(first.body, again.body) || again.header.Get("Content-Length") != first.header.Get("Content-Length") {
					t.Errorf("%s:\n%s\nthen\n%s", path, first.body, again.body)
				}
			}
			want := drawnAnew(t, s, place, geometry)
			if string(first.body) != want {
				t.Errorf("%s:\n%s\nwritten anew:\n%s", path, first.body, want)
			}
		}
	}
	before := s.get(t, "/IT-omi?latitude=45.5&longitude=9.5")
	s.importArchive(t, tinyPublication("2019/1", "F205"), 200)
	if after := s.get(t, "/IT-omi?latitude=45.5&longitude=9.5"); !bytes.Contains(after.body, []byte(`"year":2019,"semester":1`)) || bytes.Equal(before.body, after.body) {
		t.Errorf("after another publication: %s", after.body)
	}
}

// drawnAnew is the answer of a server that has drawn nothing yet.
func drawnAnew(t *testing.T, s *omiServer, place, geometry string) string {
	t.Helper()
	q, err := parseLookupQuery(place + geometry)
	if err != nil {
		t.Fatal(err)
	}
	lat, lng, err := q.place()
	if err != nil {
		t.Fatal(err)
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		t.Fatal(err)
	}
	metres, _ := q.metres()
	z, distance, _ := omi.Lookup(s.keeper.Current().Since(), lat, lng, metres)
	ans := omi.Answer{Zone: z, Lat: lat, Lng: lng, Placed: true, Near: distance > 0, Distance: distance}
	return `{"data":` + string(ans.AppendJSON(nil, f.geometry)) + `,"success":true,"message":"","error":null}`
}

// A kept answer is compressed whole.
func TestOMIKeptAnswersCompressed(t *testing.T) {
	s := newOMIServer(t)
	for range 2 {
		plain := s.get(t, "/IT-omi?latitude=38.6&longitude=17.6")
		z, err := gzip.NewReader(bytes.NewReader(s.get(t, "/IT-omi?latitude=38.6&longitude=17.6", "Accept-Encoding", "gzip").body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain.body) || plain.status != 200 {
			t.Errorf("%v: %s, want %s", err, got, plain.body)
		}
	}
}

// No more is kept than may be.
func TestOMIKeptAnswersAreBounded(t *testing.T) {
	s := newOMIServer(t)
	set := s.keeper.Current()
	z, ok := set.Active().Lookup(38.6, 17.6)
	if !ok {
		t.Fatal("no zone")
	}
	var d drawings
	d.current.Store(&drawing{set: set})
	d.current.Load().size.Store(drawnLimit - 100)
	if b, rest := d.rest(nil, set, z, omi.FullGeometry); rest != nil || len(b) < 100 {
		t.Fatalf("%d and %d bytes", len(b), len(rest))
	}
	if _, rest := d.rest(nil, set, z, omi.FullGeometry); rest != nil || d.current.Load().size.Load() != drawnLimit-100 {
		t.Error("more was kept than may be")
	}
	if d.rest(nil, s.keeper.Current(), z, omi.FullGeometry); d.current.Load().set != set {
		t.Error("the set changed")
	}
	other := *set
	d.rest(nil, &other, z, omi.FullGeometry)
	if _, rest := d.rest(nil, &other, z, omi.FullGeometry); rest == nil {
		t.Error("nothing is kept of a new set")
	}
}
