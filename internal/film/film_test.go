package film_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/film"
	"rogito.dev/rogito/internal/film/filmtest"
)

func TestFilmsThatLast(t *testing.T) {
	for name, one := range map[string]struct {
		content []byte
		want    film.Info
	}{
		"MP4":           {filmtest.MP4("vide", 4200), film.Info{Format: "mp4", Duration: 4200 * time.Millisecond}},
		"MP4 in pieces": {filmtest.Fragments(50), film.Info{Format: "mp4", Duration: 4 * time.Second}},
		"WebM":          {filmtest.WebM(26), film.Info{Format: "webm", Duration: time.Second}},
	} {
		got, err := film.Read(iotest.OneByteReader(bytes.NewReader(one.content)))
		if err != nil || got != one.want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// What does not play is told apart from what cannot be read by accident.
func TestNoFilms(t *testing.T) {
	for name, content := range map[string][]byte{
		"nothing":              nil,
		"text":                 []byte("moving"),
		"a head alone":         []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00"),
		"40 bytes":             append([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"), make([]byte, 16)...),
		"sound only":           filmtest.MP4("soun", 4200),
		"no time":              filmtest.MP4("vide", 0),
		"no fragments' time":   filmtest.Fragments(0),
		"cut":                  filmtest.MP4("vide", 4200)[:400],
		"one picture":          filmtest.WebM(1),
		"no picture":           filmtest.WebM(0),
		"a WebM that is cut":   filmtest.WebM(26)[:len(filmtest.WebM(26))-2],
		"a picture":            filmtest.Photo(),
		"a box without an end": []byte("\x00\x00\x00\x01ftyp\xff\xff\xff\xff\xff\xff\xff\xff"),
	} {
		var bad *ades.MalformedError
		if got, err := film.Read(bytes.NewReader(content)); !errors.As(err, &bad) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	broken := errors.New("line cut")
	if _, err := film.Read(io.MultiReader(bytes.NewReader(filmtest.MP4("vide", 4200)[:60]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("an accident: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, content := range [][]byte{filmtest.MP4("vide", 4200), filmtest.Fragments(5), filmtest.WebM(3)} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := film.Read(bytes.NewReader(content))
		var bad *ades.MalformedError
		if err != nil && !errors.As(err, &bad) || err == nil && (got.Duration <= 0 || got.Format == "") {
			t.Errorf("%+v %v", got, err)
		}
	})
}
