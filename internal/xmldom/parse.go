package xmldom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"rogito.dev/rogito/internal/limits"
)

// Parse parses a document, given as its octets. Errors are a *SyntaxError, which may wrap ErrDoctype,
// ErrEntity or ErrLimit.
func Parse(octets string, lim Limits) (*Document, error) {
	return ParseContext(context.Background(), octets, lim)
}

// ParseContext is Parse with a context: the tree is charged to its limits.Budget until Release, and
// parsing stops when it ends. The error then wraps limits.ErrBudget, or is the context's.
func ParseContext(ctx context.Context, octets string, lim Limits) (*Document, error) {
	lim = lim.withDefaults()
	if len(octets) > lim.Size || len(octets) > math.MaxInt32/2 {
		return nil, &SyntaxError{Line: 1, Err: fmt.Errorf("%w: %d bytes", ErrLimit, len(octets))}
	}
	text, enc, err := decode(octets)
	if err != nil {
		return nil, &SyntaxError{Line: 1, Err: err}
	}
	p := parser{ctx: ctx, s: text, lim: lim, names: make(map[string]*Name, min(64, len(text)/32))}
	p.d = &Document{text: text, enc: enc, octets: octets, ids: map[string][]*Node{}, budget: limits.BudgetOf(ctx)}
	p.origin = &Origin{Text: text}
	p.d.origin = p.origin
	p.d.Node = &Node{Kind: DocumentNode, End: uint32(len(text)), InnerEnd: uint32(len(text)), extra: &extra{origin: p.origin}}
	if !p.d.Same() {
		err = p.d.spend(len(text)) // a second copy
	}
	if err == nil {
		err = p.run()
	}
	if err != nil {
		p.d.Release()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at := min(p.i, len(text))
		return nil, &SyntaxError{Offset: at, Line: 1 + strings.Count(text[:at], "\n"), Err: err}
	}
	return p.d, nil
}

type parser struct {
	ctx context.Context
	s   string
	i   int
	d   *Document
	lim Limits

	cur, last *Node // the open element and its last child so far
	depth     int
	count     int
	expected  int  // estimated number of nodes
	weight    int  // of attributes that are not charged yet
	noCR      bool // the text has no carriage return
	noCDEnd   bool // the text has no ]]> outside CDATA sections, as far as known
	origin    *Origin

	names map[string]*Name
	scope []Binding
	marks []int // len(scope) before each open element with declarations, else -1
	raw   []rawAttr

	nodes  []Node
	attrs  []Attr
	binds  []Binding
	extras []extra
}

type rawAttr struct {
	qname, value string
	pos          int
}

func (p *parser) run() error {
	if at, err := checkChars(p.s); err != nil {
		p.i = at
		return err
	}
	p.noCR = strings.IndexByte(p.s, '\r') < 0
	p.noCDEnd = !strings.Contains(p.s, "]]>")
	p.expected = strings.Count(p.s, "<")*5/4 + 4
	p.cur = p.d.Node
	if err := p.declaration(); err != nil {
		return err
	}
	for p.i < len(p.s) {
		var err error
		if p.s[p.i] == '<' {
			err = p.markup()
		} else {
			err = p.text()
		}
		if err != nil {
			return err
		}
	}
	if p.cur != p.d.Node {
		return fmt.Errorf("element %s is not closed", clip(p.cur.Name.QName))
	}
	if p.d.Root() == nil {
		return errors.New("no root element")
	}
	return nil
}

// xmlDecl is the XMLDecl production, after "<?xml".
var xmlDecl = regexp.MustCompile(`^\s+version\s*=\s*(?:"(1\.\d+)"|'(1\.\d+)')` +
	`(?:\s+encoding\s*=\s*(?:"([A-Za-z][\w.-]*)"|'([A-Za-z][\w.-]*)'))?` +
	`(?:\s+standalone\s*=\s*(?:"(?:yes|no)"|'(?:yes|no)'))?\s*$`)

// declaration skips <?xml …?>.
func (p *parser) declaration() error {
	if !strings.HasPrefix(p.s, "<?xml") || len(p.s) < 6 || class[p.s[5]]&space == 0 {
		return nil
	}
	end := strings.Index(p.s[:min(len(p.s), maxDeclaration)], "?>")
	if end < 0 {
		return errors.New("XML declaration does not end")
	}
	m := xmlDecl.FindStringSubmatch(p.s[5:end])
	if m == nil {
		return errors.New("malformed XML declaration")
	}
	if m[1]+m[2] == "1.1" && strings.ContainsAny(p.s, "\u0085\u2028") {
		return errors.New("line ends of XML 1.1, which XML 1.0 does not have")
	}
	p.i = end + 2
	return nil
}

func (p *parser) markup() error {
	if p.i+1 >= len(p.s) {
		return errors.New("unexpected end after <")
	}
	switch p.s[p.i+1] {
	case '/':
		return p.endTag()
	case '?':
		p.d.marked = p.d.marked || p.cur != p.d.Node
		return p.procInst()
	case '!':
		p.d.marked = p.d.marked || p.cur != p.d.Node
		return p.bang()
	}
	return p.startTag()
}

func (p *parser) bang() error {
	rest := p.s[p.i:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		return p.comment()
	case strings.HasPrefix(rest, "<![CDATA["):
		return p.cdata()
	case strings.HasPrefix(rest, "<!DOCTYPE"):
		return ErrDoctype
	}
	return errors.New("unknown markup")
}

// add appends a node to the open element.
func (p *parser) add(kind Kind, start, end int) (*Node, error) {
	if p.count++; p.count > p.lim.Nodes {
		return nil, fmt.Errorf("%w: more than %d nodes", ErrLimit, p.lim.Nodes)
	}
	if len(p.nodes) == 0 {
		if err := p.growNodes(); err != nil {
			return nil, err
		}
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	n.Kind, n.Start, n.End, n.Parent = kind, uint32(start), uint32(end), p.cur
	if p.last == nil {
		p.cur.First = n
	} else {
		p.last.Next = n
	}
	p.last = n
	return n, nil
}

func (p *parser) comment() error {
	body := p.s[p.i+4:]
	end := strings.Index(body, "--")
	if end < 0 || end+2 >= len(body) || body[end+2] != '>' {
		return errors.New("malformed comment")
	}
	n, err := p.add(Comment, p.i, p.i+4+end+3)
	if err != nil {
		return err
	}
	n.Data = p.lineEnds(body[:end])
	p.i = int(n.End)
	return nil
}

func (p *parser) cdata() error {
	if p.cur == p.d.Node {
		return errors.New("CDATA section outside the root element")
	}
	body := p.s[p.i+9:]
	end := strings.Index(body, "]]>")
	if end < 0 {
		return errors.New("CDATA section does not end")
	}
	stop := p.i + 9 + end + 3
	if end > 0 {
		n, err := p.add(Text, p.i, stop)
		if err != nil {
			return err
		}
		n.Data = p.lineEnds(body[:end])
	}
	p.i = stop
	return nil
}

func (p *parser) procInst() error {
	start := p.i
	end := strings.Index(p.s[start:], "?>")
	if end < 0 {
		return errors.New("processing instruction does not end")
	}
	p.i += 2
	target, err := p.name()
	if err != nil {
		return err
	}
	if strings.EqualFold(target, "xml") || strings.Contains(target, ":") {
		return fmt.Errorf("processing instruction %q is reserved", clip(target))
	}
	data := p.s[p.i : start+end]
	if data != "" && class[data[0]]&space == 0 {
		return errors.New("malformed processing instruction")
	}
	n, err := p.add(ProcInst, start, start+end+2)
	if err != nil {
		return err
	}
	n.Name = &Name{Local: target, QName: target}
	n.Data = p.lineEnds(strings.TrimLeft(data, " \t\r\n"))
	p.i = int(n.End)
	return nil
}

func (p *parser) text() error {
	end := strings.IndexByte(p.s[p.i:], '<')
	if end < 0 {
		end = len(p.s) - p.i
	}
	raw := p.s[p.i : p.i+end]
	if p.cur == p.d.Node {
		if strings.Trim(raw, " \t\r\n") != "" {
			return errors.New("text outside the root element")
		}
		p.i += end
		return nil
	}
	if !p.noCDEnd && strings.Contains(raw, "]]>") {
		return errors.New("]]> in text")
	}
	data, err := p.unescape(p.lineEnds(raw))
	if err != nil {
		return err
	}
	n, err := p.add(Text, p.i, p.i+end)
	if err != nil {
		return err
	}
	n.Data = data
	p.i += end
	return nil
}

// lineEnds converts CR LF and lone CR to LF.
func (p *parser) lineEnds(s string) string {
	if p.noCR || strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// name scans a qualified name.
func (p *parser) name() (string, error) {
	s, i := p.s, p.i
	if i >= len(s) || class[s[i]]&nameStart == 0 {
		return "", errors.New("name expected")
	}
	high := s[i]
	for i++; i < len(s) && class[s[i]]&nameChar != 0; i++ {
		high |= s[i]
	}
	name := s[p.i:i]
	if high >= 0x80 && !validName(name) {
		return "", errors.New("character not allowed in a name")
	}
	p.i = i
	return name, nil
}

func (p *parser) skipSpace() bool {
	i := p.i
	for i < len(p.s) && class[p.s[i]]&space != 0 {
		i++
	}
	skipped := i > p.i
	p.i = i
	return skipped
}
