package upload

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"os"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
)

type request struct {
	Title string `json:"title"`
	Docs  []Text `json:"docs"`
	One   *Text  `json:"one"`
}

// small limits make everything long.
var small = Limits{Long: 16, Held: 16, Memory: 4096}

func TestLongStringsGoToDiskAndComeBack(t *testing.T) {
	s := New(t.TempDir(), small)
	defer s.Close()
	long := "long é😀 \" \\ / \b\f\n\r\t " + strings.Repeat("x", 100)
	escaped := `long \u00e9\ud83d\ude00 \" \\ \/ \b\f\n\r\t ` + strings.Repeat("x", 100)
	v, err := s.ReadJSON(strings.NewReader(`{"title":"short","docs":["` + escaped + `","tiny"],"one":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.file == nil {
		t.Error("nothing is on disk")
	}
	var r request
	if err := s.Unmarshal(v, &r); err != nil {
		t.Fatal(err)
	}
	got, _ := r.Docs[0].String(1000)
	tiny, _ := r.Docs[1].String(1000)
	if got != long || tiny != "tiny" || r.One != nil || r.Title != "short" {
		t.Errorf("%q %q %+v", got, tiny, r)
	}
}

// A usual document never touches the disk, nor the shared memory once its
// spool is closed; where all spools hold too much it does.
func TestUsualDocumentsStayInMemory(t *testing.T) {
	plain := bytes.Repeat([]byte("%PDF "), 40_000)
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(plain), base64.RawURLEncoding.EncodeToString(plain),
		strings.ReplaceAll(base64.StdEncoding.EncodeToString(plain), "QQ", "Q\\nQ"),
	} {
		for _, full := range []bool{false, true} {
			if full && !held.TryAcquire(heldTotal) {
				t.Fatal("some memory is held already")
			}
			s := New(t.TempDir(), Limits{})
			v, err := s.ReadJSON(strings.NewReader(`{"docs":["` + text + `"]}`))
			var r request
			if err == nil {
				err = s.Unmarshal(v, &r)
			}
			if err != nil {
				t.Fatal(err)
			}
			doc, err := r.Docs[0].Document(int64(len(plain)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(doc, 0, doc.Size()))
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if full != (s.file != nil) {
				t.Errorf("full %v: on disk %v", full, s.file != nil)
			}
			if _, err := r.Docs[0].Document(int64(len(plain)) - 1); !errors.Is(err, ErrTooLong) {
				t.Errorf("one byte over the limit: %v", err)
			}
			s.Close()
			if full {
				held.Release(heldTotal)
			}
			allFree(t)
		}
	}
}

func TestNothingIsLeftOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, small)
	if _, err := s.ReadJSON(strings.NewReader(`["` + strings.Repeat("y", 1000) + `"]`)); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("a spooled file has a name: %v", names)
	}
	s.Close()
}

func TestMarkCannotBeForged(t *testing.T) {
	s := New(t.TempDir(), Limits{Long: 100})
	defer s.Close()
	v, err := s.ReadJSON(strings.NewReader(`{"docs":["` + strings.Repeat("z", 200) + `","spooled:00000000000000000000000000000000:0"]}`))
	if err != nil {
		t.Fatal(err)
	}
	var r request
	if err := s.Unmarshal(v, &r); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Docs[1].String(100); !strings.HasPrefix(got, "spooled:0000") {
		t.Errorf("a client's string was taken for a mark: %q", got)
	}
}

func TestLongStringInAShortField(t *testing.T) {
	s := New(t.TempDir(), small)
	defer s.Close()
	v, err := s.ReadJSON(strings.NewReader(`{"title":"` + strings.Repeat("t", 100) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	var fe *FieldError
	if err := s.Unmarshal(v, &request{}); !errors.As(err, &fe) || fe.Field != "title" {
		t.Errorf("got %v", err)
	}
}

func TestWrongTypesNameTheField(t *testing.T) {
	for in, want := range map[string]string{
		`{"title":5}`:       "title must be a string",
		`{"docs":{}}`:       "docs must be an array",
		`{"docs":["a",7]}`:  "docs[1] must be a string",
		`[]`:                "body must be an object",
		`{"title":["long"]`: "body is not valid JSON: it ends too early",
	} {
		s := New(t.TempDir(), Limits{})
		v, err := s.ReadJSON(strings.NewReader(in))
		if err == nil {
			err = s.Unmarshal(v, &request{})
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
		s.Close()
	}
}

func TestBadLongStrings(t *testing.T) {
	pad := strings.Repeat("p", 50)
	for _, in := range []string{
		`"` + pad + "\xff" + `"`, `"` + pad + "\xc3\"", `"` + pad + `\ud800"`, `"` + pad + `\ud800\u0041"`,
		`"` + pad + `\udc00"`, `"` + pad + `\x"`, `"` + pad + `\u00g0"`, `"` + pad + "\n" + `"`, `"` + pad,
		`{"` + pad + `" :1}`, `"` + pad + "\xed\xa0\x80" + `"`, `"` + pad + `\`, `"` + pad + `\u12`, `"` + pad + "\xf0\x9f\x98",
	} {
		s := New(t.TempDir(), small)
		_, err := s.ReadJSON(strings.NewReader(in))
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%q: %v", in, err)
		}
		s.Close()
	}
}

func TestBase64(t *testing.T) {
	raw := make([]byte, 100_000)
	rand.NewChaCha8([32]byte{1}).Read(raw)
	for n := range 10 {
		data := raw[:len(raw)-n]
		wrapped := &strings.Builder{}
		for i, c := range base64.StdEncoding.EncodeToString(data) {
			if i%76 == 0 {
				wrapped.WriteString("\r\n ")
			}
			wrapped.WriteRune(c)
		}
		for _, text := range []string{
			base64.StdEncoding.EncodeToString(data), base64.RawStdEncoding.EncodeToString(data),
			base64.URLEncoding.EncodeToString(data), base64.RawURLEncoding.EncodeToString(data), wrapped.String(),
		} {
			got, err := io.ReadAll(NewBase64Reader(strings.NewReader(text)))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes: %v", len(data), err)
			}
		}
	}
	for _, bad := range []string{"a", "a===", "YQ=", "YQ==YQ==", "Y*==", "YWJj=", "=", "YQ==x", "é"} {
		if _, err := io.ReadAll(NewBase64Reader(strings.NewReader(bad))); !errors.Is(err, ErrBase64) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got, err := io.ReadAll(NewBase64Reader(strings.NewReader(" \n"))); err != nil || len(got) != 0 {
		t.Errorf("white space: %q %v", got, err)
	}
}

func TestForm(t *testing.T) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	f, _ := w.CreateFormFile("inputDocument", `C:\docs\a.pdf`)
	f.Write(bytes.Repeat([]byte("%"), 1000))
	w.WriteField("recursive", "true")
	w.Close()
	s := New(t.TempDir(), small)
	defer s.Close()
	parts, err := s.ReadForm(bytes.NewReader(b.Bytes()), w.Boundary())
	if err != nil || len(parts) != 2 {
		t.Fatal(parts, err)
	}
	doc, err := parts[0].Text.Document(0)
	if err != nil || doc.Size() != 1000 || parts[0].Text.Name() != "a.pdf" || !parts[0].File {
		t.Errorf("%+v %v", parts[0], err)
	}
	if v, _ := parts[1].Text.String(10); v != "true" || parts[1].File {
		t.Errorf("%q", v)
	}
	if _, err := parts[0].Text.Document(999); !errors.Is(err, ErrTooLong) {
		t.Errorf("limit not kept: %v", err)
	}
	var se *SyntaxError
	if _, err := New(t.TempDir(), small).ReadForm(bytes.NewReader(b.Bytes()[:300]), w.Boundary()); !errors.As(err, &se) {
		t.Errorf("truncated: %v", err)
	}
}

// repeated is n bytes of base64, made while it is read so that it takes no memory.
type repeated struct{ n int64 }

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.n)]
	for i := range p {
		p[i] = "QUJD"[i%4]
	}
	r.n -= int64(len(p))
	return len(p), nil
}

func TestLargeDocumentDoesNotSitInMemory(t *testing.T) {
	const size = 64 << 20
	s := New(t.TempDir(), Limits{})
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	v, err := s.ReadJSON(io.MultiReader(strings.NewReader(`{"docs":["`), &repeated{size}, strings.NewReader(`"]}`)))
	if err != nil {
		t.Fatal(err)
	}
	var r request
	if err := s.Unmarshal(v, &r); err != nil {
		t.Fatal(err)
	}
	doc, err := r.Docs[0].Document(0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if doc.Size() != size/4*3 {
		t.Errorf("%d bytes", doc.Size())
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes were allocated for a document of %d", grown, size)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(doc, 0, doc.Size())); err != nil {
		t.Fatal(err)
	}
}

func TestMiddlingStringsAreALargeBodyToo(t *testing.T) {
	s := New(t.TempDir(), Limits{Long: 1000, Held: 1, Memory: 20_000})
	defer s.Close()
	in := "[" + strings.Repeat(`"`+strings.Repeat("m", 900)+`",`, 50) + `1]`
	v, err := s.ReadJSON(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	if len(v) > 20_000 || s.file == nil {
		t.Errorf("%d bytes held, on disk %v", len(v), s.file != nil)
	}
}

// FuzzJSON: what we accept, the standard library accepts, and means the same.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `["` + strings.Repeat("é", 40) + `"]`, `"\ud83d\ude00` + strings.Repeat("x", 30) + `"`, ` [1 , 2]`, `1 2`, `{"a":1,"a":2}`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := New(t.TempDir(), small)
		defer s.Close()
		if len(in)%2 == 0 { // in one piece, or not
			s.Expect(int64(len(in)))
		}
		v, err := s.ReadJSON(bytes.NewReader(in))
		if err != nil {
			return
		}
		if !utf8.Valid(in) || !json.Valid(in) {
			t.Fatalf("accepted %q", in)
		}
		if got, want := plain(s, v), generic(in); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: %v, want %v", in, got, want)
		}
	})
}

func generic(in []byte) any {
	var v any
	json.Unmarshal(in, &v)
	return v
}

// plain puts the long strings back.
func plain(s *Spool, v jsontext.Value) any {
	switch v.Kind() {
	case '"':
		t, _ := s.Text(v)
		str, _ := t.String(1 << 20)
		return str
	case '[':
		var list []jsontext.Value
		s.Unmarshal(v, &list)
		out := make([]any, 0, len(list))
		for _, e := range list {
			out = append(out, plain(s, e))
		}
		return out
	case '{':
		m, err := Members(v)
		if err != nil {
			return err
		}
		out := map[string]any{}
		for k, e := range m {
			t, _ := s.Text(jsontext.Value(must(jsontext.AppendQuote(nil, k))))
			name, _ := t.String(1 << 20)
			out[name] = plain(s, e)
		}
		return out
	}
	return generic(v)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func FuzzBase64(f *testing.F) {
	for _, s := range []string{"YQ==", "YWI=", "YWJj", "Y W_-", "a", "=", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := io.ReadAll(NewBase64Reader(iotestOneByte{strings.NewReader(in)}))
		whole, werr := io.ReadAll(NewBase64Reader(strings.NewReader(in)))
		if (err == nil) != (werr == nil) || err == nil && !bytes.Equal(got, whole) {
			t.Fatalf("%q: by bytes %q %v, at once %q %v", in, got, err, whole, werr)
		}
		if want, serr := base64.StdEncoding.DecodeString(in); serr == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%q: %q %v, want %q", in, got, err, want)
		}
	})
}

type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func BenchmarkReadJSON(b *testing.B) {
	const size = 16 << 20
	b.SetBytes(size)
	for b.Loop() {
		s := New(b.TempDir(), Limits{})
		if _, err := s.ReadJSON(io.MultiReader(strings.NewReader(`["`), &repeated{size}, strings.NewReader(`"]`))); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// Pieces that are written in turn share one file and come back whole.
func TestPiecesShareAFile(t *testing.T) {
	s := New(t.TempDir(), small)
	defer s.Close()
	writers := make([]*Writer, 5)
	want := make([][]byte, len(writers))
	for i := range writers {
		writers[i] = s.Write()
	}
	for range 200 {
		i := rand.IntN(len(writers))
		p := make([]byte, rand.IntN(100))
		for k := range p {
			p[k] = byte(rand.Int())
		}
		want[i] = append(want[i], p...)
		if _, err := writers[i].Write(p); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range writers {
		src := w.Source()
		got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
		if err != nil || !bytes.Equal(got, want[i]) {
			t.Errorf("piece %d: %d bytes of %d, %v", i, len(got), len(want[i]), err)
		}
		from := rand.IntN(len(want[i]))
		part := make([]byte, min(33, len(want[i])-from))
		if _, err := src.ReadAt(part, int64(from)); err != nil || !bytes.Equal(part, want[i][from:from+len(part)]) {
			t.Errorf("piece %d at %d: %v", i, from, err)
		}
	}
}

// Many bodies of many small values take no more than the memory that all share:
// the next is told that there is none. It is given back at the end.
func TestSmallValuesShareMemory(t *testing.T) {
	body := "[" + strings.Repeat(`"0123456789012345678901234567890123456789",`, 90_000) + "0]"
	var open []*Spool
	var err error
	for range 100 {
		s := New(t.TempDir(), Limits{})
		open = append(open, s)
		if _, err = s.ReadJSON(strings.NewReader(body)); err != nil {
			break
		}
	}
	if !errors.Is(err, fault.Unavailable) {
		t.Errorf("%d bodies of %d bytes: %v", len(open), len(body), err)
	}
	for _, s := range open {
		s.Close()
	}
	allFree(t)
}

// allFree fails where memory that all share is still held.
func allFree(t *testing.T) {
	t.Helper()
	if !held.TryAcquire(heldTotal) {
		t.Error("memory is still held")
		return
	}
	held.Release(heldTotal)
}

// A string is taken as far as it is ordinary, wherever the next other byte stands.
func FuzzOrdinary(f *testing.F) {
	for n := range 20 {
		for _, c := range []string{"", "\"", "\\", "\x1f", "\x00", "\x7f", "\x80", "\xff", " "} {
			f.Add([]byte(strings.Repeat("a", n) + c + strings.Repeat("~", 10)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > 0x7f })
		if want < 0 {
			want = len(text)
		}
		if got := ordinary(text); got != want {
			t.Fatalf("%q: %d, not %d", text, got, want)
		}
	})
}

// What the body was said to be long is a hint: it means the same whatever it is.
func TestKnownLengthMeansTheSame(t *testing.T) {
	long := strings.Repeat("QUJD", 30_000)
	doc, err := base64.StdEncoding.DecodeString(long)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"one":     `{"docs":["` + long + `"]}`,
		"several": `{"docs":["` + long + `", "short", "` + long + `"]}`,
		"escaped": `{"docs":["` + long[:80_000] + `\u0051` + long[80_001:] + `"]}`,
		"last":    `["` + long + `"]`,
	} {
		for _, expect := range []int{-1, 1, len(body) - 1, len(body), 2 * len(body), 1 << 20} {
			s := New(t.TempDir(), Limits{})
			s.Expect(int64(expect))
			v, err := s.ReadJSON(strings.NewReader(body))
			if err != nil {
				t.Fatalf("%s, %d: %v", name, expect, err)
			}
			if len(v) > 1000 || len(s.texts) == 0 {
				t.Errorf("%s, %d: %d bytes in the skeleton, %d set aside", name, expect, len(v), len(s.texts))
			}
			for i, text := range s.texts {
				src, err := text.Document(0)
				if err != nil {
					t.Fatalf("%s, %d: %v", name, expect, err)
				}
				got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
				if err != nil || !bytes.Equal(got, doc) {
					t.Errorf("%s, %d: text %d has %d bytes (%v)", name, expect, i, len(got), err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	allFree(t)
}

// A body that ends before its length says so.
func TestBodyShorterThanItSays(t *testing.T) {
	s := New(t.TempDir(), Limits{})
	defer s.Close()
	s.Expect(200_000)
	if _, err := s.ReadJSON(strings.NewReader(`{"docs":["` + strings.Repeat("A", 100_000))); err == nil {
		t.Error("half a body was taken")
	}
}
