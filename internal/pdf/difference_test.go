package pdf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/corpus"
)

// others are the programs that a file must mean the same to.
func others(t *testing.T) {
	t.Helper()
	for _, name := range []string{"qpdf", "pdftotext", "mutool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %s is not installed: what other readers see cannot be compared", name)
		}
	}
}

// TestDifference: whatever we call unambiguous reads the same elsewhere: our
// objects are those of qpdf, and the text that poppler and MuPDF show is the
// text of a clean file written from our objects. ROGITO_TEST_SOAK=1 runs for
// ten minutes, ROGITO_TEST_SEED begins elsewhere.
func TestDifference(t *testing.T) {
	others(t)
	long := os.Getenv("ROGITO_TEST_SOAK") != ""
	var seed uint64 = 1
	if s := os.Getenv("ROGITO_TEST_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	until, most := time.Now().Add(10*time.Minute), uint64(120)
	if long {
		most = 1 << 40
	}
	clean, agreed := 0, 0
	for n := range most {
		if time.Now().After(until) {
			break
		}
		m := &mutant{rnd: rand.New(rand.NewPCG(seed+n, 7)), odds: int([]uint64{0, 25, 60, 150, 12}[n%5])}
		b := m.file()
		d, err := Open(bytes.NewReader(b), Options{})
		if err != nil {
			if m.odds == 0 {
				t.Fatalf("seed %d: a right file is not read: %v", seed+n, err)
			}
			continue
		}
		list, err := d.Audit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(list) > 0 {
			if m.odds == 0 {
				t.Errorf("seed %d: a right file is called ambiguous: %v", seed+n, list)
			}
			continue
		}
		clean++
		if text := differs(t, d, b); text != "" {
			name := filepath.Join(os.TempDir(), fmt.Sprintf("rogito-difference-%d.pdf", seed+n))
			_ = os.WriteFile(name, b, 0o600)
			t.Errorf("seed %d (%s): %s", seed+n, strings.Join(m.done, ", "), text)
			continue
		}
		agreed++
	}
	t.Logf("%d files without ambiguity, %d read the same by all", clean, agreed)
}

// TestDifferenceCorpus does the same with the documents of the corpus that
// others find intact.
func TestDifferenceCorpus(t *testing.T) {
	others(t)
	checked := 0
	for _, c := range corpus.Manifest(t) {
		if c.Format != "PAdES" && !strings.HasSuffix(c.File, ".pdf") || c.Expect.Integrity != "intact" {
			continue
		}
		src, in := c.Source(t), c.Reading(t)
		d, err := Open(src, Options{Password: in.Password})
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		list, err := d.Audit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.Until == len(d.Revisions()) {
				t.Errorf("%s: %v", c.ID, a)
			}
		}
		checked++
		if src.Size() > 400<<10 || in.Password != "" || d.Encrypted() {
			continue // for the time that it takes, and for want of the password
		}
		b := make([]byte, src.Size())
		if _, err := src.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if text := objectsDiffer(t, d, b); text != "" {
			t.Errorf("%s: %s", c.ID, text)
		}
	}
	t.Logf("%d documents", checked)
}

// differs tells where other readers see something else.
func differs(t *testing.T, d *Document, b []byte) string {
	t.Helper()
	if text := objectsDiffer(t, d, b); text != "" {
		return text
	}
	dir := t.TempDir()
	original, rewritten := filepath.Join(dir, "a.pdf"), filepath.Join(dir, "b.pdf")
	clean, err := rewrite(d)
	if err != nil {
		return err.Error()
	}
	for name, data := range map[string][]byte{original: b, rewritten: clean} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, reader := range [][]string{{"pdftotext", "", "-"}, {"mutool", "draw", "-q", "-F", "txt", ""}} {
		show := func(path string) string {
			args := append([]string{}, reader[1:]...)
			for i := range args {
				if args[i] == "" {
					args[i] = path
				}
			}
			out, _ := exec.Command(reader[0], args...).Output()
			return string(bytes.TrimSpace(out))
		}
		if a, b := show(original), show(rewritten); a != b {
			return fmt.Sprintf("%s shows %q, of our objects %q", reader[0], a, b)
		}
	}
	return ""
}

// rewrite writes what we see as a file of one revision.
func rewrite(d *Document) ([]byte, error) {
	var b bytes.Buffer
	f := NewFile(&b, "1.7")
	for num := 1; num < 64; num++ {
		ref := f.Reserve()
		def, ok := d.Where(num)
		if !ok || ref.Num != num {
			continue
		}
		o, err := d.Get(def.Ref)
		if err != nil {
			return nil, err
		}
		switch x := o.(type) {
		case nil:
			continue
		case *Stream:
			data, err := d.Encoded(x)
			if err != nil {
				return nil, err
			}
			if err := f.PutStream(ref, x.Dict, bytes.NewReader(data), int64(len(data))); err != nil {
				return nil, err
			}
		default:
			if err := f.Put(ref, x); err != nil {
				return nil, err
			}
		}
	}
	err := f.Close(NewDict(Name("Root"), d.Root()))
	return b.Bytes(), err
}

// objectsDiffer compares all objects with those of qpdf.
func objectsDiffer(t *testing.T, d *Document, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "q.pdf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("qpdf", "--json=2", "--json-key=qpdf", path)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if strings.Contains(complaints.String(), "reconstruct") {
		return "qpdf rebuilds the table: " + strings.ReplaceAll(complaints.String(), path, "")
	}
	var answer struct {
		QPDF []json.RawMessage `json:"qpdf"`
	}
	if json.Unmarshal(out, &answer) != nil || len(answer.QPDF) < 2 {
		return fmt.Sprintf("qpdf cannot read it: %v %s", err, strings.ReplaceAll(complaints.String(), path, ""))
	}
	var objects map[string]struct {
		Value  any
		Stream *struct{ Dict any }
	}
	dec := json.NewDecoder(bytes.NewReader(answer.QPDF[1]))
	dec.UseNumber()
	if err := dec.Decode(&objects); err != nil {
		t.Fatal(err)
	}
	for key, theirs := range objects {
		var ref Ref
		if n, _ := fmt.Sscanf(key, "obj:%d %d R", &ref.Num, &ref.Gen); n != 2 {
			continue
		}
		ours, err := d.Get(ref)
		if err != nil {
			return fmt.Sprintf("%s: %v", key, err)
		}
		want := theirs.Value
		if theirs.Stream != nil {
			want = theirs.Stream.Dict
			if m, ok := want.(map[string]any); ok && m["/Type"] == "/XRef" {
				continue // need not be in a table, its own or another
			}
			s, ok := ours.(*Stream)
			if !ok {
				return key + " is a stream to qpdf"
			}
			ours = s.Dict
			if m, ok := want.(map[string]any); ok {
				delete(m, "/Length") // what qpdf would write
			}
		}
		if text := same(d, ours, want, theirs.Stream != nil); text != "" {
			return key + ": " + text
		}
	}
	return ""
}

// same compares an object with the JSON of qpdf.
func same(d *Document, o Object, want any, stream bool) string {
	switch x := o.(type) {
	case *Dict:
		m, ok := want.(map[string]any)
		if !ok {
			return fmt.Sprintf("dictionary, qpdf has %v", want)
		}
		n, seen := 0, map[Name]bool{}
		for _, e := range x.Entries {
			if v, err := d.Resolve(e.Value); err == nil && v == nil || stream && e.Key == "Length" || x.Get(e.Key) == nil {
				delete(m, "/"+string(e.Key)) // null is absent
				continue
			}
			if seen[e.Key] {
				continue // again, with the same value
			}
			seen[e.Key] = true
			n++
			theirs, ok := m["/"+string(e.Key)]
			if !ok {
				return fmt.Sprintf("key %q is not there for qpdf", e.Key)
			}
			if text := same(d, x.Get(e.Key), theirs, false); text != "" {
				return string(e.Key) + "/" + text
			}
		}
		if n < len(m) {
			return fmt.Sprintf("%d keys, qpdf has %d", n, len(m))
		}
		return ""
	case Array:
		list, ok := want.([]any)
		if !ok || len(list) != len(x) {
			return fmt.Sprintf("array of %d, qpdf has %v", len(x), want)
		}
		for i := range x {
			if text := same(d, x[i], list[i], false); text != "" {
				return fmt.Sprintf("%d/%s", i, text)
			}
		}
		return ""
	case String:
		s, _ := want.(string)
		if text, ok := strings.CutPrefix(s, "u:"); ok && text == DecodeText(x.Bytes) {
			return ""
		}
		if text, ok := strings.CutPrefix(s, "b:"); ok && text == hex.EncodeToString(x.Bytes) {
			return ""
		}
		return "another string than qpdf's"
	}
	var ours any
	switch x := o.(type) {
	case Bool:
		ours = bool(x)
	case Name:
		ours = "/" + string([]rune(string(x))) // JSON has no other bytes
	case Ref:
		ours = x.String()
	case Integer:
		if n, ok := want.(json.Number); ok {
			if i, err := n.Int64(); err == nil && i == int64(x) {
				return ""
			}
		}
		ours = int64(x)
	case Real:
		if n, ok := want.(json.Number); ok {
			if f, err := n.Float64(); err == nil && f == x.Float() {
				return ""
			}
		}
		ours = string(x)
	}
	if ours != want {
		return fmt.Sprintf("%v, qpdf has %v", ours, want)
	}
	return ""
}
