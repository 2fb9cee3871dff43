package fake

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const envelope = "http://schemas.xmlsoap.org/soap/envelope/"

func (s *Service) namespace() string {
	if s.Kind == ARSS {
		return "http://arubasignservice.arubapec.it/"
	}
	return "http://service.ws.nam/"
}

// node is an element of a request.
type node struct {
	name xml.Name
	text string
	kids []*node
}

// kid is the first child of a name; an empty one where there is none.
func (n *node) kid(name string) *node {
	for _, k := range n.kids {
		if k.name.Local == name {
			return k
		}
	}
	return &node{}
}

func (n *node) has(name string) bool { return n.kid(name).name.Local != "" }

func (n *node) all(name string) (out []*node) {
	for _, k := range n.kids {
		if k.name.Local == name {
			out = append(out, k)
		}
	}
	return out
}

func (n *node) bytes() []byte {
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.text), ""))
	if err != nil {
		return nil
	}
	return b
}

func tree(b []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	var stack []*node
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it ends early")
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.Directive:
			return nil, errors.New("it has a DTD")
		case xml.StartElement:
			n := &node{name: t.Name}
			if len(stack) > 0 {
				top := stack[len(stack)-1]
				top.kids = append(top.kids, n)
			}
			stack = append(stack, n)
		case xml.CharData:
			if len(stack) > 0 {
				stack[len(stack)-1].text += string(t)
			}
		case xml.EndElement:
			n := stack[len(stack)-1]
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return n, nil
			}
		}
	}
}

// call is a request, read.
type call struct {
	op   string
	body *node
}

// read reads a request and holds it against the description. The words say what
// is wrong where there is no call.
func (s *Service) read(r *http.Request, body []byte) (*call, string) {
	_, action := r.Header["Soapaction"]
	switch {
	case r.Method != http.MethodPost:
		return nil, "the method is " + r.Method
	case !strings.HasPrefix(s.URL(), "http") || !strings.HasSuffix(s.URL(), r.URL.Path):
		return nil, "the path is " + r.URL.Path
	case !strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "text/xml"):
		return nil, "the Content-Type is " + r.Header.Get("Content-Type")
	case !action || strings.Trim(r.Header.Get("SOAPAction"), `"`) != "":
		return nil, "there is no empty SOAPAction"
	}
	root, err := tree(body)
	if err != nil {
		return nil, "the request cannot be read: " + err.Error()
	}
	if root.name != (xml.Name{Space: envelope, Local: "Envelope"}) {
		return nil, "the root is " + root.name.Local
	}
	b := root.kid("Body")
	if b.name.Space != envelope || len(b.kids) != 1 {
		return nil, "there is no Body with one operation"
	}
	op := b.kids[0]
	if op.name.Space != s.namespace() {
		return nil, fmt.Sprintf("%s is in the namespace %q", op.name.Local, op.name.Space)
	}
	form, ok := s.forms()[op.name.Local]
	if !ok {
		return nil, "no operation is called " + op.name.Local
	}
	if words := op.fits(form); words != "" {
		return nil, words
	}
	return &call{op.name.Local, op}, ""
}

// form says what may stand in an element, in its order; "*" several times, "!"
// obligatory.
type form []struct {
	name string
	in   form
}

func (n *node) fits(f form) string {
	at := 0
	for _, k := range n.kids {
		if k.name.Space != "" {
			return fmt.Sprintf("%s has a namespace", k.name.Local)
		}
		found := false
		for ; at < len(f); at++ {
			name, many := strings.CutSuffix(strings.TrimSuffix(f[at].name, "!"), "*")
			if name != k.name.Local {
				if strings.HasSuffix(f[at].name, "!") && !n.has(name) {
					return fmt.Sprintf("%s has no %s", n.name.Local, name)
				}
				continue
			}
			if words := k.fits(f[at].in); words != "" {
				return words
			}
			if found = true; !many {
				at++
			}
			break
		}
		if !found {
			return fmt.Sprintf("%s is not expected in %s, or not there", k.name.Local, n.name.Local)
		}
	}
	for _, want := range f {
		if name, must := strings.CutSuffix(want.name, "!"); must && !n.has(name) {
			return fmt.Sprintf("%s has no %s", n.name.Local, name)
		}
	}
	return ""
}

// field is an element of an answer.
type field struct {
	name   string
	text   string
	binary []byte
	kids   []field
}

// answer is what a call comes to.
type answer struct {
	fields []field // below the element of the answer
	fault  *faultOf
	status int // zero: 200, or 500 for a fault
}

type faultOf struct {
	code, words string
	error       int // zero: none
	message     string
}

func fault(code, words string, number int, message string) *answer {
	return &answer{fault: &faultOf{code, words, number, message}}
}

// style is how an answer is written.
type style struct {
	soap, op   string // prefixes
	bare       bool   // no prefixes at all
	lines      string // line breaks in base64
	mtom       string // "", xop, inline, last, escaped
	header     bool
	comments   bool
	extra      bool // unexpected elements
	cdata      bool
	bom        bool
	indent     bool
	encoding   string
	reversed   bool // other order of elements
	whole      func([]byte) []byte
	chunked    bool
	closing    bool
	mediaType  string
	attributes bool
}

type writer struct {
	style
	b     bytes.Buffer
	parts []part
}

type part struct {
	id string
	b  []byte
}

func (w *writer) write(fields []field) {
	if w.reversed {
		for i := len(fields) - 1; i >= 0; i-- {
			w.one(fields[i])
		}
	} else {
		for _, f := range fields {
			w.one(f)
		}
	}
	if w.extra {
		w.b.WriteString("<unheardOf><deep>1</deep></unheardOf>")
	}
}

func (w *writer) one(f field) {
	if w.indent {
		w.b.WriteString("\n   ")
	}
	if w.comments {
		w.b.WriteString("<!-- " + f.name + " --><?next one?>")
	}
	open := f.name
	if w.bare {
		open += ` xmlns=""`
	}
	if w.attributes {
		open += ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xs="http://www.w3.org/2001/XMLSchema" xsi:type="xs:anyType" id="_1"`
	}
	w.b.WriteString("<" + open + ">")
	switch {
	case f.kids != nil:
		w.write(f.kids)
	case f.binary != nil && w.mtom != "" && w.mtom != "inline":
		id := fmt.Sprintf("%d-ab%%cd@example.org", len(w.parts))
		w.parts = append(w.parts, part{id, f.binary})
		href := strings.ReplaceAll(id, "%", "%25")
		if w.mtom == "escaped" {
			href = strings.ReplaceAll(href, "@", "%40")
		}
		fmt.Fprintf(&w.b, `<xop:Include xmlns:xop="http://www.w3.org/2004/08/xop/include" href="cid:%s"/>`, href)
	case f.binary != nil:
		text := base64.StdEncoding.EncodeToString(f.binary)
		if w.lines != "" {
			for len(text) > 0 {
				n := min(76, len(text))
				w.b.WriteString(text[:n] + w.lines)
				text = text[n:]
			}
			break
		}
		w.b.WriteString(text)
	case w.cdata:
		w.b.WriteString("<![CDATA[" + f.text + "]]>")
	default:
		_ = xml.EscapeText(&w.b, []byte(f.text))
	}
	w.b.WriteString("</" + f.name + ">")
}

// write writes an answer in a style.
func (s *Service) write(out http.ResponseWriter, _ *http.Request, c *call, a *answer, st style) {
	w := &writer{style: st}
	e, o := "soap", "ns2"
	if st.soap != "" {
		e, o = st.soap, st.op
	}
	if st.bom {
		w.b.WriteString("\ufeff")
	}
	if st.encoding != "" {
		fmt.Fprintf(&w.b, "<?xml version='1.0' encoding='%s'?>", st.encoding)
	}
	pre := e + ":"
	if st.bare {
		pre = ""
		fmt.Fprintf(&w.b, `<Envelope xmlns="%s">`, envelope)
	} else {
		fmt.Fprintf(&w.b, `<%s:Envelope xmlns:%s="%s">`, e, e, envelope)
	}
	if st.header {
		fmt.Fprintf(&w.b, `<%sHeader><w:Action xmlns:w="http://www.w3.org/2005/08/addressing"><return>x</return></w:Action></%sHeader>`, pre, pre)
	}
	fmt.Fprintf(&w.b, "<%sBody>", pre)
	status := http.StatusOK
	if f := a.fault; f != nil {
		status = http.StatusInternalServerError
		fmt.Fprintf(&w.b, "<%sFault><faultcode", pre)
		if st.bare {
			w.b.WriteString(` xmlns="">` + f.code)
		} else {
			w.b.WriteString(">" + pre + f.code)
		}
		w.b.WriteString("</faultcode>")
		w.one(field{name: "faultstring", text: f.words})
		if f.error != 0 {
			fmt.Fprintf(&w.b, `<detail><%s:WSException xmlns:%s="%s">`, o, o, s.namespace())
			w.write([]field{{name: "error", text: fmt.Sprint(f.error)}, {name: "message", text: f.message}})
			fmt.Fprintf(&w.b, `</%s:WSException></detail>`, o)
		}
		fmt.Fprintf(&w.b, "</%sFault>", pre)
	} else {
		name := o + ":" + c.op + "Response"
		decl := fmt.Sprintf(`%s xmlns:%s="%s"`, name, o, s.namespace())
		if st.bare {
			name = c.op + "Response"
			decl = fmt.Sprintf(`%s xmlns="%s"`, name, s.namespace())
		}
		fmt.Fprintf(&w.b, "<%s>", decl)
		w.write(a.fields)
		fmt.Fprintf(&w.b, "</%s>", name)
	}
	fmt.Fprintf(&w.b, "</%sBody></%sEnvelope>", pre, pre)
	body, media := w.b.Bytes(), "text/xml;charset=UTF-8"
	if st.mtom != "" {
		body, media = w.multipart()
	}
	if st.mediaType != "" {
		media = st.mediaType
	}
	if st.whole != nil {
		body = st.whole(body)
	}
	if a.status != 0 {
		status = a.status
	}
	h := out.Header()
	h.Set("Content-Type", media)
	if st.closing {
		h.Set("Connection", "close")
	}
	if !st.chunked {
		h.Set("Content-Length", fmt.Sprint(len(body)))
	}
	out.WriteHeader(status)
	if st.chunked {
		for len(body) > 0 {
			n := min(97, len(body))
			_, _ = out.Write(body[:n])
			_ = http.NewResponseController(out).Flush()
			body = body[n:]
		}
		return
	}
	_, _ = out.Write(body)
}

// multipart is an answer by MTOM.
func (w *writer) multipart() ([]byte, string) {
	const boundary = "uuid:4a5b=_6?c"
	var b bytes.Buffer
	root := func() {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: application/xop+xml; charset=UTF-8; type=\"text/xml\"\r\nContent-Transfer-Encoding: binary\r\nContent-ID: <root.message@cxf.apache.org>\r\n\r\n%s\r\n", boundary, w.b.Bytes())
	}
	b.WriteString("\r\n")
	if w.mtom != "last" {
		root()
	}
	for _, p := range w.parts {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\nContent-ID: <%s>\r\n\r\n", boundary, p.id)
		b.Write(p.b)
		b.WriteString("\r\n")
	}
	if w.mtom == "last" {
		root()
	}
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	return b.Bytes(), fmt.Sprintf(`multipart/related; type="application/xop+xml"; boundary="%s"; start="<root.message@cxf.apache.org>"; start-info="text/xml"`, boundary)
}
