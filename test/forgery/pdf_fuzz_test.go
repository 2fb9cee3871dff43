package forgery

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/await"
	raw "rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
)

// TestFuzzUpdates writes random updates behind signed documents: it adds,
// nulls, redefines, reorders and re-types objects. Whatever is still valid must
// look like the signed revision, but for fields that the report says were
// filled in or changed and comments that it says were added. It is short by default;
// ROGITO_FUZZ_UPDATES=60m lets it run for an hour, ROGITO_FUZZ_SEED repeats
// one case and ROGITO_KEEP names a folder for what fails.
func TestFuzzUpdates(t *testing.T) {
	await.All(t)
	f := newUpdateFuzzer(t)
	if s := os.Getenv("ROGITO_FUZZ_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f.try(seed)
		return
	}
	until := time.Time{}
	if s := os.Getenv("ROGITO_FUZZ_UPDATES"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		until = time.Now().Add(d)
	}
	// The short form tries the same updates each time, so that a run says
	// something about the change that was made; the long one tries new ones.
	f.corpus()
	start := uint64(8022134954257755000)
	if !until.IsZero() {
		start = rand.Uint64() >> 1
	}
	n := uint64(0)
	for ; n < 300 || time.Now().Before(until); n++ {
		f.try(start + n)
		if t.Failed() && n > 300 {
			break
		}
	}
	t.Logf("%d updates, %d valid, %d of them written with a visible effect that the report names", n, f.valid, f.named)
}

type updateFuzzer struct {
	t            *testing.T
	bases        []fuzzBase
	dir          string
	valid, named int
}

type fuzzBase struct {
	name    string
	data    []byte
	objects []int
	looks   [][]byte // pages as pictures
	text    string
}

func newUpdateFuzzer(t *testing.T) *updateFuzzer {
	f := &updateFuzzer{t: t, dir: t.TempDir()}
	m := &materials{t: t, service: &shared}
	seen := &pades.Appearance{X: 180, Y: 120, Width: 80, Height: 30, Lines: []string{"signed"}}
	again := &pades.Appearance{X: 10, Y: 5, Width: 80, Height: 30, Lines: []string{"signed again"}}
	sign := func(doc []byte, certify int, look *pades.Appearance) []byte {
		return m.signOne("contract.pdf", doc, func(o *rogito.Options) { o.PAdES = pades.Options{Certify: certify, Appearance: look} })
	}
	for name, doc := range map[string][]byte{
		"simple": pdf(), "rich": richPDF(), "a field to fill in": blank(t), "encrypted": reseal(t, pdf()), "encrypted, rich": reseal(t, richPDF()),
		"packed": pack(t, pdf()), "packed, rich": pack(t, richPDF()),
	} {
		for p := range 4 {
			f.base(fmt.Sprintf("%s, P=%d", name, p), sign(doc, p, seen))
		}
		for _, p := range []int{0, 2, 3} {
			f.base(fmt.Sprintf("%s, P=%d, signed twice", name, p), sign(sign(doc, p, seen), 0, again))
		}
	}
	f.base("signed thrice", sign(sign(sign(richPDF(), 0, nil), 0, again), 0, nil))
	for name, doc := range withSlips() {
		signed, err := m.tryUnchecked(doc)
		if err != nil {
			t.Logf("%s: not signed: %v", name, err)
			continue
		}
		f.base("sloppy, "+name, signed)
	}
	slices.SortFunc(f.bases, func(a, b fuzzBase) int { return strings.Compare(a.name, b.name) })
	return f
}

// base adds a signed document that updates are written behind.
func (f *updateFuzzer) base(name string, signed []byte) {
	b := fuzzBase{name: name, data: signed}
	b.looks, b.text = f.look(signed)
	d, err := raw.Open(bytes.NewReader(signed), raw.Options{Repair: true})
	if err != nil {
		f.t.Fatal(err)
	}
	for num := range 200 {
		if _, ok := d.Where(num); ok {
			b.objects = append(b.objects, num)
		}
	}
	f.bases = append(f.bases, b)
}

// reseal encrypts a document and leaves its objects their numbers.
func reseal(t *testing.T, doc []byte) []byte {
	t.Helper()
	d, err := raw.Open(bytes.NewReader(doc), raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := raw.NewFile(&out, "2.0")
	if err := w.Encrypt(""); err != nil {
		t.Fatal(err)
	}
	size, _ := d.Int(d.Trailer().Get("Size"))
	for num := 1; num < int(size); num++ {
		o, err := d.Get(raw.Ref{Num: num})
		if s, ok := o.(*raw.Stream); ok && err == nil {
			dict := s.Dict.Clone()
			dict.Delete("Length")
			var data []byte
			data, err = d.Encoded(s)
			o = &raw.Stream{Dict: dict, Data: data}
		}
		if ref := w.Reserve(); err == nil {
			err = w.Put(ref, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(raw.NewDict(raw.Name("Root"), d.Root(), raw.Name("Info"), d.Trailer().Get("Info"))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pack writes a document with an object stream and a cross-reference stream, and
// leaves its objects their numbers.
func pack(t *testing.T, doc []byte) []byte {
	t.Helper()
	d, err := raw.Open(bytes.NewReader(doc), raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	size, _ := d.Int(d.Trailer().Get("Size"))
	var out, head, body bytes.Buffer
	out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	rows := make([][3]int, size+2)
	n := 0
	for num := 1; num < int(size); num++ {
		o, err := d.Get(raw.Ref{Num: num})
		if err != nil {
			t.Fatal(err)
		}
		s, ok := o.(*raw.Stream)
		if !ok {
			rows[num] = [3]int{2, int(size), n}
			fmt.Fprintf(&head, "%d %d ", num, body.Len())
			body.WriteString(spell(o) + "\n")
			n++
			continue
		}
		data, err := d.Encoded(s)
		if err != nil {
			t.Fatal(err)
		}
		rows[num] = [3]int{1, out.Len(), 0}
		fmt.Fprintf(&out, "%d 0 obj\n%s\nstream\n%s\nendstream\nendobj\n", num, spell(s.Dict), data)
	}
	rows[size] = [3]int{1, out.Len(), 0}
	fmt.Fprintf(&out, "%d 0 obj\n<</Type/ObjStm/N %d/First %d/Length %d>>\nstream\n%s%s\nendstream\nendobj\n", size, n, head.Len(), head.Len()+body.Len(), &head, &body)
	at := out.Len()
	rows[size+1] = [3]int{1, at, 0}
	var table []byte
	for _, r := range rows {
		table = append(table, byte(r[0]), byte(r[1]>>8), byte(r[1]), byte(r[2]))
	}
	fmt.Fprintf(&out, "%d 0 obj\n<</Type/XRef/W[1 2 1]/Size %d/Root %v/Info %v/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		size+1, size+2, d.Root(), d.Trailer().Get("Info"), len(table), table, at)
	return out.Bytes()
}

// withSlips are documents with slips of their producers.
func withSlips() map[string][]byte {
	out := map[string][]byte{}
	for kind, doc := range map[string][]byte{"": pdf(), ", rich": richPDF()} {
		size := map[string]string{"": "/Size 14", ", rich": "/Size 32"}[kind]
		out["size too small"+kind] = bytes.Replace(doc, []byte(size), []byte("/Size 1"), 1)
		out["wrong length"+kind] = bytes.Replace(doc, []byte("/Length 50"), []byte("/Length 40"), 1)
		out["bytes between objects"+kind] = bytes.Replace(doc, []byte("endobj\n2 0 obj"), []byte("endobj 2 0 obj"), 1)
		out["lines of 19 bytes"+kind] = bytes.ReplaceAll(doc, []byte(" n \n"), []byte(" n\n"))
		out["a key twice"+kind] = bytes.Replace(doc, []byte("/Type/Pages/Kids"), []byte("/Count "+map[string]string{"": "1", ", rich": "2"}[kind]+"   /Kids"), 1)
	}
	return out
}

// corpus tries the updates that were found before, of every kind.
func (f *updateFuzzer) corpus() {
	for _, c := range []struct {
		name, base string
		do         func(e *editor)
	}{
		{"a page with kids that are null", "sloppy, a key twice", func(e *editor) { e.put(3, "Kids", "null") }},
		{"a page with kids that are nowhere", "simple, P=0", func(e *editor) { e.put(3, "Kids", "99 0 R") }},
		{"a box that is null where one is inherited", "rich, P=3", func(e *editor) { e.put(3, "MediaBox", "null") }},
		{"a type that is null where one is inherited", "packed, rich, P=0", func(e *editor) { e.put(24, "FT", "null") }},
		{"a tree with resources that are null", "rich, P=0", func(e *editor) { e.put(2, "CropBox", "null") }},
		{"a comment without a rectangle", "rich, P=3", func(e *editor) { e.put(12, "Rect", "") }},
		{"a filter that is null", "rich, P=0", func(e *editor) { e.putStream(4, "/Filter null") }},
		{"a picture whose filter is null", "rich, P=0", func(e *editor) {
			e.putStream(19, "/Type/XObject/Subtype/Image/Width 2/Height 2/BitsPerComponent 8/ColorSpace/DeviceGray/Filter null")
		}},
		{"a state that is nowhere", "rich, P=0, signed twice", func(e *editor) { e.put(9, "AS", "199 0 R") }},
		{"a state that is taken away", "simple, P=0", func(e *editor) { e.put(9, "AS", "") }},
		{"a state that is a stream", "simple, P=2", func(e *editor) {
			e.put(9, "V", "/Yes")
			e.put(9, "AS", "10 0 R")
		}},
	} {
		i := slices.IndexFunc(f.bases, func(b fuzzBase) bool { return b.name == c.base })
		if i < 0 {
			f.t.Fatalf("no document %q", c.base)
		}
		f.judge(c.name, &f.bases[i], change(f.t, f.bases[i].data, c.do))
	}
}

// try makes one file and judges it.
func (f *updateFuzzer) try(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	base := &f.bases[r.IntN(len(f.bases))]
	data := base.data
	for range 1 + r.IntN(2) {
		m := mutator{r: r, base: base}
		var ok bool
		if data, ok = m.update(data); !ok {
			return
		}
	}
	f.judge(fmt.Sprintf("ROGITO_FUZZ_SEED=%d", seed), base, data)
}

// judge wants what is valid to look as it was signed, but for what is named.
func (f *updateFuzzer) judge(name string, base *fuzzBase, data []byte) {
	doc, err := pades.Read(context.Background(), bytes.NewReader(data), ades.ReadOptions{})
	if err != nil || !acceptable(doc) {
		return
	}
	f.valid++
	looks, text := f.look(data)
	masks := f.allowed(doc, base, data)
	if len(masks) > 0 {
		f.named++
	}
	same := len(looks) == len(base.looks)
	for i := 0; same && i < len(looks); i++ {
		same = equalOutside(base.looks[i], looks[i], masks)
	}
	if same && (text == base.text || len(masks) > 0) {
		return
	}
	if folder := os.Getenv("ROGITO_KEEP"); folder != "" {
		_ = os.WriteFile(filepath.Join(folder, strings.Map(func(r rune) rune {
			if r == '=' || r == ' ' {
				return '-'
			}
			return r
		}, name)+".pdf"), data, 0o600)
	}
	var changes []string
	for _, s := range doc.Signatures {
		for _, c := range s.PDF.Changes {
			changes = append(changes, c.Description)
		}
	}
	f.t.Errorf("%s (%s): valid, but it looks otherwise; changes %q", name, base.name, changes)
}

// acceptable reports whether nothing speaks against the signatures.
func acceptable(doc *ades.Document) bool {
	if len(doc.Signatures) == 0 {
		return false
	}
	problems := slices.Clone(doc.Problems)
	for _, s := range doc.Signatures {
		problems = append(problems, s.Problems...)
		if s.Intact() != ades.Yes || !s.PDF.CoversWholeDocument {
			return false
		}
	}
	return !slices.ContainsFunc(problems, func(p ades.Problem) bool { return p.Fatal })
}

// allowed lists the rectangles in which the report names a visible change. An
// icon or a border may stand out of the rectangle of a comment.
func (f *updateFuzzer) allowed(doc *ades.Document, base *fuzzBase, data []byte) (masks []raw.Rect) {
	named := map[string]bool{}
	fields := map[string]bool{}
	for _, s := range doc.Signatures {
		for _, c := range s.PDF.Changes {
			named[c.What] = true
			fields[c.Field] = true
		}
	}
	comments := named["annotation-added"] || named["annotation-changed"] || named["annotation-removed"]
	filled := named["form-fill"] || named["form-fill-anew"] || named["signature-visible"] || named["signature-filled"]
	if !comments && !filled {
		return nil
	}
	for _, b := range [][]byte{base.data, data} {
		d, err := raw.Open(bytes.NewReader(b), raw.Options{Repair: true})
		if err != nil {
			f.t.Fatal(err)
		}
		size, _ := d.Int(d.Trailer().Get("Size"))
		for num := range int(max(size, 200)) {
			w, err := d.Dict(raw.Ref{Num: num})
			rect, ok := d.Rect(w.Get("Rect"))
			if err != nil || !ok {
				continue
			}
			widget := d.Name(w.Get("Subtype")) == "Widget"
			name := "." + d.Text(w.Get("T"))
			ours := func(field string) bool { return strings.HasSuffix("."+field, name) }
			switch {
			case !widget && comments:
				masks = append(masks, raw.Rect{LLX: rect.LLX - 30, LLY: rect.LLY - 30, URX: rect.URX + 30, URY: rect.URY + 30})
			case widget && filled && (name == "." || slices.ContainsFunc(slices.Collect(maps.Keys(fields)), ours)):
				masks = append(masks, rect)
			}
		}
	}
	return masks
}

const fuzzDPI = 36

// look renders every page as a grey map with each reader, and the text.
func (f *updateFuzzer) look(data []byte) (pages [][]byte, text string) {
	path := filepath.Join(f.dir, "fuzz.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		f.t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		page := strconv.Itoa(n)
		mu, _ := exec.Command("mutool", "draw", "-q", "-r", strconv.Itoa(fuzzDPI), "-F", "pgm", "-o", "-", path, page).Output()
		pop, _ := exec.Command("pdftoppm", "-gray", "-r", strconv.Itoa(fuzzDPI), "-f", page, "-l", page, path).Output()
		pages = append(pages, mu, pop, pdfiumGrey(f.t, data, n-1, fuzzDPI))
	}
	out, _ := exec.Command("mutool", "draw", "-q", "-F", "txt", "-o", "-", path).Output()
	// Annotations that do not overlap may be drawn in any order, and their text
	// comes in that order.
	words := strings.Fields(string(out))
	slices.Sort(words)
	return pages, strings.Join(words, " ")
}

// equalOutside compares two grey maps outside some rectangles.
func equalOutside(a, b []byte, masks []raw.Rect) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) != len(b) || len(masks) == 0 {
		return false
	}
	var w, h, most int
	if n, _ := fmt.Sscanf(string(a[:min(len(a), 40)]), "P5\n%d %d\n%d", &w, &h, &most); n != 3 || w*h > len(a) {
		return false
	}
	at := len(a) - w*h
	if !bytes.Equal(a[:at], b[:at]) {
		return false
	}
	for i := range w * h {
		if a[at+i] == b[at+i] {
			continue
		}
		x, y := float64(i%w)*72/fuzzDPI, float64(h-1-i/w)*72/fuzzDPI
		if !slices.ContainsFunc(masks, func(m raw.Rect) bool { return x >= m.LLX-4 && x <= m.URX+4 && y >= m.LLY-4 && y <= m.URY+4 }) {
			return false
		}
	}
	return true
}

// mutator writes one random update.
type mutator struct {
	r    *rand.Rand
	base *fuzzBase
	doc  *raw.Document
	u    *raw.Update
	made []raw.Ref
}

func (m *mutator) update(data []byte) (out []byte, ok bool) {
	defer func() {
		if recover() != nil { // an update that cannot be written
			ok = false
		}
	}()
	doc, err := raw.Open(bytes.NewReader(data), raw.Options{Repair: true})
	if err != nil {
		return nil, false
	}
	m.doc, m.u = doc, doc.Update()
	for range 1 + m.r.IntN(4) {
		m.step()
	}
	more, err := m.u.Bytes()
	if err != nil {
		return nil, false
	}
	return append(bytes.Clone(data), more...), true
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (m *mutator) number() int { return pick(m.r, m.base.objects) }

// copied is the object of a number, free to be changed.
func (m *mutator) copied(num int) raw.Object {
	o, err := m.u.Get(raw.Ref{Num: num})
	if err != nil {
		return nil
	}
	switch v := o.(type) {
	case *raw.Dict:
		return v.Clone()
	case raw.Array:
		return slices.Clone(v)
	case *raw.Stream:
		b, err := m.doc.Data(v)
		if err != nil {
			return nil
		}
		d := v.Dict.Clone()
		d.Delete("Filter")
		d.Delete("DecodeParms")
		d.Delete("Length")
		return &raw.Stream{Dict: d, Data: b}
	}
	return o
}

// step does one thing.
func (m *mutator) step() {
	num := m.number()
	ref := raw.Ref{Num: num}
	switch m.r.IntN(23) {
	case 17, 18: // a comment with a picture
		m.comment()
	case 19: // a button in another state
		m.press()
	case 20: // a field filled in with a picture or a ground
		m.fillOver()
	case 21: // what changes nothing, beside what else is done
		m.harmless()
	case 22: // an entry that is null
		o := m.copied(num)
		if d := dictOf(o); d != nil {
			key := pick(m.r, fuzzKeys)
			if len(d.Entries) > 0 && m.r.IntN(3) == 0 {
				key = pick(m.r, d.Entries).Key
			}
			d.Set(key, raw.Raw(pick(m.r, []string{"null", "199 0 R"})))
			m.u.Set(ref, o)
		}
	case 0: // nothing
		m.u.Set(ref, nil)
	case 1: // written again
		m.u.Set(ref, m.copied(num))
	case 2: // another object's value
		m.u.Set(ref, m.copied(m.number()))
	case 3: // a new object, referred to from somewhere
		n := m.u.New(m.copied(num))
		m.made = append(m.made, n)
		m.insert(n)
	case 4, 5: // one key
		m.key(ref)
	case 6: // an array in another order
		m.shuffle(ref)
	case 7: // a stream with other data
		if s, ok := m.copied(num).(*raw.Stream); ok {
			s.Data = []byte(strings.NewReplacer("100", "900", "Anna", "Mark", " g", " 1 g", "20", "40").Replace(string(s.Data)))
			m.u.Set(ref, s)
		}
	case 8: // a well-formed field or annotation
		m.insert(m.u.New(raw.Raw(m.widget())))
	case 9: // a field filled in
		m.fill()
	case 10: // an entry of a nested dictionary
		m.nested(ref)
	case 12: // a stream encoded in an odd way
		m.recode(ref)
	case 13: // in clear, where the document is encrypted
		m.inClear(ref)
	case 14: // a value behind a reference
		o := m.copied(num)
		if d := dictOf(o); d != nil && len(d.Entries) > 0 {
			e := pick(m.r, d.Entries)
			if _, isRef := e.Value.(raw.Ref); !isRef {
				d.Set(e.Key, m.u.New(e.Value))
				m.u.Set(ref, o)
			}
		}
	case 15: // a default appearance in other words
		o := m.copied(pick(m.r, []int{6, 7}))
		if d := dictOf(o); d != nil {
			d.Set("DA", raw.Text(pick(m.r, []string{"/Helv 12 Tf 1 g 0 g", "/Helv 1 Tf /Helv 12 Tf 0 g", "0 g /Helv 12 Tf", "%1 g\n/Helv 12 Tf 0 g"})))
			m.u.Set(raw.Ref{Num: pick(m.r, []int{6, 7})}, o)
		}
	case 16: // an appearance that is none
		if d := dictOf(m.copied(7)); d != nil {
			d.Set("AP", raw.Raw(pick(m.r, []string{"<<>>", "<</N null>>", "<</D 8 0 R>>", "null", "<</N<</Yes 8 0 R>>>>"})))
			m.u.Set(raw.Ref{Num: 7}, d)
		}
	case 11: // two objects exchanged
		other := m.number()
		a, b := m.copied(num), m.copied(other)
		m.u.Set(ref, b)
		m.u.Set(raw.Ref{Num: other}, a)
	}
}

var fuzzKeys = []raw.Name{
	"Contents", "Resources", "Annots", "MediaBox", "CropBox", "Rotate", "Kids", "Parent", "AP", "AS", "V", "DA", "DR", "MK", "F", "Rect",
	"Subtype", "Type", "FT", "T", "Fields", "Font", "XObject", "ExtGState", "OC", "OCProperties", "Names", "OpenAction", "AA", "A", "Pages",
	"AcroForm", "N", "BBox", "Matrix", "Encoding", "BaseFont", "Opt", "Ff", "Q", "NeedAppearances", "Group", "Metadata", "DSS", "Perms",
	"StructTreeRoot", "Count", "UserUnit", "Border", "C", "Length", "Filter", "SigFlags", "Outlines", "Properties", "D", "OCGs",
}

// value is something to put somewhere.
func (m *mutator) value() raw.Object {
	switch m.r.IntN(9) {
	case 0:
		return nil
	case 1, 2, 3:
		if len(m.made) > 0 && m.r.IntN(2) == 0 {
			return pick(m.r, m.made)
		}
		return raw.Ref{Num: m.number()}
	case 4:
		return raw.Integer(m.r.IntN(400) - 100)
	case 5:
		return pick(m.r, []raw.Object{raw.Name("Yes"), raw.Name("Off"), raw.Name("Widget"), raw.Name("Stamp"), raw.Name("Form"), raw.Name("Tx"), raw.Name("Sig")})
	case 6:
		return raw.Text(pick(m.r, []string{"100", "900", "amount", "agreed", "/Helv 12 Tf 1 g", "/Helv 30 Tf 0 g"}))
	case 7:
		return raw.Array{raw.Integer(0), raw.Integer(0), raw.Integer(m.r.IntN(300)), raw.Integer(m.r.IntN(200))}
	}
	return m.copied(m.number())
}

func dictOf(o raw.Object) *raw.Dict {
	switch v := o.(type) {
	case *raw.Dict:
		return v
	case *raw.Stream:
		return v.Dict
	}
	return nil
}

func (m *mutator) key(ref raw.Ref) {
	o := m.copied(ref.Num)
	d := dictOf(o)
	if d == nil {
		return
	}
	key := pick(m.r, fuzzKeys)
	if len(d.Entries) > 0 && m.r.IntN(2) == 0 {
		key = pick(m.r, d.Entries).Key
	}
	switch v := m.value(); {
	case m.r.IntN(4) == 0:
		d.Delete(key)
	default:
		if s, ok := v.(*raw.Stream); ok {
			v = m.u.New(s)
		}
		d.Set(key, v)
	}
	m.u.Set(ref, o)
}

// recode encodes a stream anew, in a way that some readers take differently.
func (m *mutator) recode(ref raw.Ref) {
	var streams []int
	for _, num := range m.base.objects {
		if _, ok := m.copied(num).(*raw.Stream); ok {
			streams = append(streams, num)
		}
	}
	ref.Num = pick(m.r, streams)
	s, ok := m.copied(ref.Num).(*raw.Stream)
	if !ok {
		return
	}
	keys, data := pick(m.r, append(oddRecodings(), strictRecodings()...)).do(s.Data)
	if m.r.IntN(4) == 0 && len(data) > 0 { // and damaged
		data[m.r.IntN(len(data))] ^= 1 << m.r.IntN(8)
	}
	if keys != "" { // the first key takes the others with it
		end := 1 + strings.IndexAny(keys[1:], "/[")
		s.Dict.Set(raw.Name(keys[1:end]), raw.Raw(keys[end:]))
	}
	s.Data = data
	m.u.Set(ref, s)
}

// inClear writes an object unencrypted, and sometimes says that it is one that
// need not be.
func (m *mutator) inClear(ref raw.Ref) {
	o := m.copied(ref.Num)
	s, ok := o.(*raw.Stream)
	if !ok {
		m.u.Set(ref, raw.Raw(spell(o)))
		return
	}
	more := pick(m.r, []string{"", "/Type/Metadata", "/Type/EmbeddedFile", "/Type/XRef", "/Filter/Crypt"})
	if more != "" && more != "/Filter/Crypt" {
		s.Dict.Delete("Type")
	}
	m.u.Set(ref, raw.Raw(fmt.Sprintf("%s%s/Length %d>>\nstream\n%s\nendstream", strings.TrimSuffix(spell(s.Dict), ">>"), more, len(s.Data), s.Data)))
}

func (m *mutator) nested(ref raw.Ref) {
	o := m.copied(ref.Num)
	d := dictOf(o)
	if d == nil || len(d.Entries) == 0 {
		return
	}
	e := pick(m.r, d.Entries)
	inner, ok := e.Value.(*raw.Dict)
	if !ok {
		return
	}
	inner = inner.Clone()
	key := pick(m.r, fuzzKeys)
	if len(inner.Entries) > 0 {
		key = pick(m.r, inner.Entries).Key
	}
	v := m.value()
	if s, ok := v.(*raw.Stream); ok {
		v = m.u.New(s)
	}
	inner.Set(key, v)
	d.Set(e.Key, inner)
	m.u.Set(ref, o)
}

func (m *mutator) shuffle(ref raw.Ref) {
	o := m.copied(ref.Num)
	if d := dictOf(o); d != nil {
		for _, e := range d.Entries {
			if a, ok := e.Value.(raw.Array); ok && len(a) > 1 {
				a = slices.Clone(a)
				m.r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
				d.Set(e.Key, a)
				m.u.Set(ref, o)
				return
			}
		}
	}
}

// insert makes some object refer to a new one.
func (m *mutator) insert(n raw.Ref) {
	targets := []struct {
		num int
		key raw.Name
	}{{3, "Annots"}, {6, "Fields"}, {3, "Contents"}, {2, "Kids"}, {m.number(), pick(m.r, fuzzKeys)}}
	for range 1 + m.r.IntN(2) {
		at := pick(m.r, targets)
		o := m.copied(at.num)
		d := dictOf(o)
		if d == nil {
			continue
		}
		if a, err := m.doc.Array(d.Get(at.key)); err == nil && a != nil {
			d.Set(at.key, append(slices.Clone(a), n))
		} else if old := d.Get(at.key); old != nil && m.r.IntN(2) == 0 {
			d.Set(at.key, raw.Array{old, n})
		} else {
			d.Set(at.key, n)
		}
		m.u.Set(raw.Ref{Num: at.num}, o)
	}
}

func (m *mutator) widget() string {
	return fmt.Sprintf("<</Type/Annot/Subtype/%s/Rect[%d %d %d %d]/F %d/P 3 0 R/FT/%s/T(%s)/AP<</N %d 0 R>>/MK<</BG[1 0 0]/CA(8)>>>>",
		pick(m.r, []string{"Widget", "Widget", "Stamp", "FreeText", "Square"}), 0, 0, m.r.IntN(2)*200, m.r.IntN(2)*100,
		pick(m.r, []int{0, 2, 4, 132}), pick(m.r, []string{"Sig", "Sig", "Tx", "Btn"}), pick(m.r, []string{"x", "amount", "Signature1"}), m.number())
}

// comment adds an annotation as products write them, with a picture.
func (m *mutator) comment() {
	code := pick(m.r, []string{"1 g 0 0 100 20 re f 0 g ", "", "q 100 0 0 20 0 0 cm /Im Do Q "}) + "BT /Helv 12 Tf 2 5 Td (EUR 900) Tj ET"
	s := m.u.New(raw.Raw(fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[%s]/Matrix[%s]/Resources<</Font<</Helv 5 0 R>>/XObject<</Im 8 0 R>>>>/Length %d>>\nstream\n%s\nendstream",
		pick(m.r, []string{"0 0 100 20", "0 0 100 20", "0 0 1 1", "0 0 0 0", "-100 -100 400 400"}), pick(m.r, []string{"1 0 0 1 0 0", "1 0 0 1 0 0", "5 0 0 5 0 0", "0 1 -1 0 0 0"}), len(code), code)))
	m.insertAt(3, "Annots", m.u.New(raw.Raw(fmt.Sprintf("<</Type/Annot/Subtype/%s/Rect[%d %d %d %d]/F %d/P 3 0 R/Contents(note)/AP<</N %v>>%s>>",
		pick(m.r, []string{"Stamp", "FreeText", "Square", "Highlight", "Ink", "Text", "Popup", "Watermark"}), m.r.IntN(100), m.r.IntN(100), 100+m.r.IntN(200), 100+m.r.IntN(100),
		pick(m.r, []int{0, 2, 4, 28, 132}), s, pick(m.r, []string{"", "/C[1 0 0]", "/BM/Multiply", "/OC 20 0 R", "/Border[0 0 200]", "/DA(/Helv 12 Tf 0 g)"})))))
}

func (m *mutator) insertAt(num int, key raw.Name, n raw.Ref) {
	o := m.copied(num)
	if d := dictOf(o); d != nil {
		a, _ := m.doc.Array(d.Get(key))
		d.Set(key, append(slices.Clone(a), n))
		m.u.Set(raw.Ref{Num: num}, o)
	}
}

// press gives a button another state, drawn as it was or anew.
func (m *mutator) press() {
	num := pick(m.r, []int{9, 24, 25})
	d := dictOf(m.copied(num))
	if d == nil {
		return
	}
	state := raw.Name(pick(m.r, []string{"Yes", "Off", "A", "B"}))
	d.Set("AS", state)
	if d.Has("V") || m.r.IntN(4) == 0 {
		d.Set("V", state)
	} else if up := dictOf(m.copied(23)); up != nil {
		up.Set("V", state)
		m.u.Set(raw.Ref{Num: 23}, up)
	}
	if m.r.IntN(2) == 0 {
		code := pick(m.r, []string{"0 0 20 20 re S 3 3 m 17 17 l S", "0 0 20 20 re f", "0 0 20 20 re S 1 g 2 2 m 18 18 l S", "1 g 0 0 20 20 re f 0 g 5 5 10 10 re f", "4 4 m 16 4 l 16 16 l 4 16 l h 8 8 m 8 2 l S"})
		on := m.u.New(raw.Raw(fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[0 0 20 20]/Length %d>>\nstream\n%s\nendstream", len(code), code)))
		d.Set("AP", raw.NewDict(raw.Name("N"), raw.NewDict(state, on, raw.Name("Off"), raw.Ref{Num: 11})))
	}
	m.u.Set(raw.Ref{Num: num}, d)
}

// fillOver fills a field in with more than text.
func (m *mutator) fillOver() {
	num := pick(m.r, []int{7, 15, 27})
	d := dictOf(m.copied(num))
	if d == nil || d.Get("Rect") == nil {
		return
	}
	value := pick(m.r, []string{"100", "900", "mi"})
	code := pick(m.r, []string{"1 g 0 0 100 20 re f", ".9 g -50 -50 400 400 re f", "0 0 100 20 re S", "1 w 0 5 m 100 5 l S", "q 100 0 0 20 0 0 cm /Im Do Q", "q 0 0 100 20 re W n", "1 0 0 1 0 30 cm", ".5 0 0 .5 0 0 cm", "/Tx BMC"}) +
		" 0 g BT /Helv 12 Tf " + pick(m.r, []string{"2 5 Td", "2 5 Td", "2 5 Td 2 Ts", "200 Tz 2 5 Td", "1 0 0 1 50 5 Tm", "-1 0 0 1 50 5 Tm"}) + " (" + pick(m.r, []string{value, value, "Milano", "900"}) + ") Tj ET"
	box := pick(m.r, []string{"0 0 100 20", "0 0 100 20", "0 0 100 20", "0 0 50 10", "-200 -200 400 400"})
	s := m.u.New(raw.Raw(fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[%s]/Resources<</Font<</Helv 5 0 R>>/XObject<</Im 19 0 R>>>>/Length %d>>\nstream\n%s\nendstream", box, len(code), code)))
	d.Set("V", raw.Text(value))
	d.Set("AP", raw.NewDict(raw.Name("N"), s))
	if m.r.IntN(4) == 0 {
		d.Set("MK", raw.Raw("<</BG[1 1 1]>>"))
	}
	m.u.Set(raw.Ref{Num: num}, d)
}

// harmless does what is always permitted.
func (m *mutator) harmless() {
	root := dictOf(m.copied(1))
	switch m.r.IntN(4) {
	case 0:
		m.u.Set(raw.Ref{Num: 13}, raw.Raw("<</Title(Contract)/ModDate(D:20260101)>>"))
	case 1:
		root.Set("DSS", m.u.New(raw.Raw("<</Certs[]>>")))
		m.u.Set(raw.Ref{Num: 1}, root)
	case 2:
		root.Set("Metadata", m.u.New(raw.Raw("<</Type/Metadata/Subtype/XML/Length 4>>\nstream\n<x/>\nendstream")))
		m.u.Set(raw.Ref{Num: 1}, root)
	case 3:
		m.u.New(raw.Raw("(nobody asks for it)"))
	}
}

// fill fills a text field in, in a way that is right or wrong.
func (m *mutator) fill() {
	num := pick(m.r, []int{7, 15})
	o := m.copied(num)
	d := dictOf(o)
	if d == nil || d.Get("Rect") == nil {
		return
	}
	value, shown := pick(m.r, []string{"100", "900"}), pick(m.r, []string{"100", "900"})
	code := pick(m.r, []string{"", "1 0 0 rg 0 0 100 20 re f ", "q 0 0 100 20 re W n "}) + "/Tx BMC BT /Helv " +
		pick(m.r, []string{"12", "9", "0.5", "40"}) + " Tf " + pick(m.r, []string{"0 g", "1 g", "1 0 0 rg"}) + " 2 5 Td (" + shown + ") Tj ET EMC"
	s := m.u.New(raw.Raw(fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", fieldDict, len(code), code)))
	d.Set("V", raw.Text(value))
	d.Set("AP", raw.NewDict(raw.Name("N"), s))
	m.u.Set(raw.Ref{Num: num}, o)
}

// richPDF has what the simple document lacks: two pages, nested forms, a
// picture, transparency, layers, bookmarks, names, radio buttons, a choice, a
// group of fields, a button, inherited attributes. 1 to 9 are as in pdf.
func richPDF() []byte {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	form := "/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</Helv 5 0 R>>>>"
	box := "/Type/XObject/Subtype/Form/BBox[0 0 20 20]"
	widget := "/Type/Annot/Subtype/Widget/F 4/P 3 0 R"
	return build([]string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R/OCProperties<</OCGs[20 0 R 21 0 R]/D<</ON[20 0 R]/OFF[21 0 R]>>>>/Outlines 22 0 R/Names<</Dests<</Names[(top)[3 0 R/Fit]]>>>>/PageLabels<</Nums[0<</S/D>>]>>>>",
		"<</Type/Pages/Kids[3 0 R 14 0 R]/Count 2/MediaBox[0 0 300 200]/Resources 15 0 R>>",
		"<</Type/Page/Parent 2 0 R/Contents[4 0 R 16 0 R]/Annots[7 0 R 9 0 R 12 0 R 24 0 R 25 0 R 27 0 R 29 0 R]>>",
		stream("", "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Fields[7 0 R 9 0 R 23 0 R 26 0 R 29 0 R]/DR<</Font<</Helv 5 0 R>>>>/DA(/Helv 12 Tf 0 g)>>",
		"<<" + widget + "/FT/Tx/T(amount)/V(100)/DA(/Helv 12 Tf 0 g)/Rect[20 100 120 120]/AP<</N 8 0 R>>>>",
		stream(form, "/Tx BMC BT /Helv 12 Tf 0 g 2 5 Td (100) Tj ET EMC"),
		"<<" + widget + "/FT/Btn/T(agreed)/V/Off/AS/Off/Rect[20 60 40 80]/AP<</N<</Yes 10 0 R/Off 11 0 R>>>>>>",
		stream(box, "0 0 20 20 re S 2 2 m 18 18 l S"),
		stream(box, "0 0 20 20 re S"),
		"<</Type/Annot/Subtype/Text/Contents(a note)/Rect[250 150 270 170]/F 28/P 3 0 R>>",
		"<</Title(Contract)>>",
		"<</Type/Page/Parent 2 0 R/Contents 17 0 R/CropBox[10 10 290 190]>>",
		"<</Font<</F1 5 0 R>>/XObject<</X1 18 0 R/I1 19 0 R/Gone 99 0 R>>/ExtGState<</G1 <</ca 0.5>>>>/Properties<</L1 20 0 R/L2 21 0 R>>>>",
		stream("", "q 60 0 0 40 200 30 cm /I1 Do Q q /G1 gs 1 0 0 1 20 20 cm /X1 Do Q /OC /L1 BDC BT /F1 10 Tf 120 20 Td (layer one) Tj ET EMC /OC /L2 BDC BT /F1 10 Tf 120 40 Td (layer two) Tj ET EMC"),
		stream("", "BT /F1 18 Tf 30 100 Td (Second page, EUR 100) Tj ET"),
		stream("/Type/XObject/Subtype/Form/BBox[0 0 90 20]", "BT /F1 12 Tf 2 5 Td (nested 100) Tj ET"),
		stream("/Type/XObject/Subtype/Image/Width 2/Height 2/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/ASCIIHexDecode", "00FF80C0>"),
		"<</Type/OCG/Name(one)>>",
		"<</Type/OCG/Name(two)>>",
		"<</Type/Outlines/First 28 0 R/Last 28 0 R/Count 1>>",
		"<</T(choice)/FT/Btn/Ff 49152/V/A/Kids[24 0 R 25 0 R]>>",
		"<<" + widget + "/Parent 23 0 R/AS/A/Rect[60 60 80 80]/AP<</N<</A 10 0 R/Off 11 0 R>>>>>>",
		"<<" + widget + "/Parent 23 0 R/AS/Off/Rect[90 60 110 80]/AP<</N<</B 10 0 R/Off 11 0 R>>>>>>",
		"<</T(group)/Kids[27 0 R]>>",
		"<<" + widget + "/Parent 26 0 R/T(city)/FT/Ch/Ff 131072/Opt[[(rm)(Roma)][(mi)(Milano)]]/V(rm)/DA(/Helv 10 Tf 0 g)/Rect[130 60 230 80]/AP<</N 30 0 R>>>>",
		"<</Title(top)/Parent 22 0 R/Dest[3 0 R/Fit]>>",
		"<<" + widget + "/FT/Btn/Ff 65536/T(button)/MK<</CA(Go)/BG[.8 .8 .8]>>/DA(/Helv 10 Tf 0 g)/Rect[240 60 290 80]/AP<</N 31 0 R>>>>",
		stream(form, "/Tx BMC BT /Helv 10 Tf 0 g 2 5 Td (Roma) Tj ET EMC"),
		stream("/Type/XObject/Subtype/Form/BBox[0 0 50 20]/Resources<</Font<</Helv 5 0 R>>>>", ".8 g 0 0 50 20 re f BT /Helv 10 Tf 0 g 15 5 Td (Go) Tj ET"),
	}, "/Info 13 0 R")
}
