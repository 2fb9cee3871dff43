package xmldsig

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// MaxReferences bounds the references of one signature or manifest, and
// MaxTransforms the transforms of one reference.
const (
	MaxReferences = limits.XMLReferences
	MaxTransforms = limits.XMLTransforms
)

// Signature is a parsed ds:Signature. If SchemeErr is set, the other fields are still filled in.
type Signature struct {
	Doc        *xmldom.Document
	Node       *xmldom.Node
	SignedInfo *xmldom.Node
	ValueNode  *xmldom.Node
	KeyInfo    *xmldom.Node
	Objects    []*xmldom.Node

	C14N       Method
	Scheme     pkix.Scheme
	SchemeErr  error // the signature method is not supported
	Value      []byte
	References []*Reference

	// Context cancels the work; its limits.Budget is charged for data held in memory between
	// transforms. Nil means neither.
	Context context.Context
	// Budget, if not nil, is the work left, in bytes to canonicalise and digest. It is shared by
	// the signatures of a document, each of which may reference all of it many times.
	Budget *int64

	// What the current Write holds between transforms.
	reserved int64
	parsed   []*xmldom.Document
	// blankElements: relationships are written as by LibreOffice.
	blankElements bool
}

// ErrBudget means that checking takes more work than allowed.
var ErrBudget = fmt.Errorf("%w: too much to check", xmldom.ErrLimit)

// checkCost is the minimum charge for checking a signature value; large keys cost more.
const checkCost = 256 << 10

// Charge deducts work from the budget. It also fails if the context has ended.
func (s *Signature) Charge(work int64) error {
	if s.Context != nil {
		if err := s.Context.Err(); err != nil {
			return err
		}
	}
	if s.Budget == nil {
		return nil
	}
	if *s.Budget -= work; *s.Budget < 0 {
		return ErrBudget
	}
	return nil
}

func (s *Signature) context() context.Context {
	if s.Context == nil {
		return context.Background()
	}
	return s.Context
}

func (s *Signature) memory() *limits.Budget { return limits.BudgetOf(s.context()) }

// reserve charges memory until the end of the current Write.
func (s *Signature) reserve(n int64) error {
	s.reserved += n
	return s.memory().Spend(n)
}

// release returns the memory charged beyond held.
func (s *Signature) release(held int64, parsed int) {
	s.memory().Return(s.reserved - held)
	for _, d := range s.parsed[parsed:] {
		d.Release()
	}
	s.reserved, s.parsed = held, s.parsed[:parsed]
}

// Reference is a parsed ds:Reference.
type Reference struct {
	Node      *xmldom.Node
	ID        string
	URI       string
	HasURI    bool
	Type      string
	DigestURI string
	Digest    []byte

	filtered  *data // the nodes after the leading transforms, once known
	filterErr error
}

// Find returns the ds:Signature elements of a document in document order.
func Find(d *xmldom.Document) []*xmldom.Node { return d.Descendants(Space, "Signature") }

// Read parses a ds:Signature element. It is strict, since leniency may make a reader check one
// thing and use another: one SignedInfo, one SignatureValue, at most one KeyInfo, in the order of
// the schema.
func Read(d *xmldom.Document, n *xmldom.Node) (*Signature, error) {
	s := &Signature{Doc: d, Node: n}
	if !n.Is(Space, "Signature") {
		return nil, errors.New("not a ds:Signature element")
	}
	stage := 0
	for c := range n.Elements() {
		if c.Name.Space != Space {
			return nil, fmt.Errorf("unexpected element %s in Signature", clip(c.Name.QName))
		}
		at, field := s.slot(c.Name.Local)
		if at == 0 || at < stage || at == stage && field != nil {
			return nil, fmt.Errorf("element %s out of place in Signature", clip(c.Name.QName))
		}
		stage = at
		if field != nil {
			*field = c
		} else {
			s.Objects = append(s.Objects, c)
		}
	}
	if s.SignedInfo == nil || s.ValueNode == nil {
		return nil, errors.New("SignedInfo or SignatureValue is missing")
	}
	var err error
	if hasElements(s.ValueNode) {
		return nil, errors.New("SignatureValue holds elements")
	}
	if s.Value, err = DecodeBase64(s.ValueNode.Text()); err != nil {
		s.Value = nil // no value verifies, but the rest can be read
	}
	return s, s.readSignedInfo()
}

func (s *Signature) slot(local string) (int, **xmldom.Node) {
	switch local {
	case "SignedInfo":
		return 1, &s.SignedInfo
	case "SignatureValue":
		return 2, &s.ValueNode
	case "KeyInfo":
		return 3, &s.KeyInfo
	case "Object":
		return 4, nil
	}
	return 0, nil
}

func (s *Signature) readSignedInfo() error {
	i := 0
	for c := range s.SignedInfo.Elements() {
		var err error
		switch {
		case i == 0 && c.Is(Space, "CanonicalizationMethod"):
			s.C14N, err = MethodOf(c)
		case i == 1 && c.Is(Space, "SignatureMethod"):
			s.Scheme, s.SchemeErr = schemeOf(c)
		case i >= 2 && c.Is(Space, "Reference"):
			err = s.addReference(c)
		default:
			err = fmt.Errorf("element %s out of place in SignedInfo", clip(c.Name.QName))
		}
		if err != nil {
			return err
		}
		i++
	}
	if len(s.References) == 0 {
		return errors.New("SignedInfo has no reference")
	}
	return nil
}

func (s *Signature) addReference(n *xmldom.Node) error {
	if len(s.References) >= MaxReferences {
		return fmt.Errorf("%w: more than %d references", xmldom.ErrLimit, MaxReferences)
	}
	r, err := ReadReference(n)
	if err != nil {
		return fmt.Errorf("reference %d: %w", len(s.References)+1, err)
	}
	s.References = append(s.References, r)
	return nil
}

// ReadReference parses a ds:Reference in SignedInfo, in a Manifest or an ASiC manifest's
// DataObjectReference.
func ReadReference(n *xmldom.Node) (*Reference, error) {
	r := &Reference{Node: n, ID: n.Attr("Id"), Type: n.Attr("Type")}
	r.URI, r.HasURI = n.LookupAttr("", "URI")
	methods, values := n.Children(Space, "DigestMethod"), n.Children(Space, "DigestValue")
	if len(methods) != 1 || len(values) != 1 || len(n.Children(Space, "Transforms")) > 1 {
		return nil, errors.New("malformed reference")
	}
	if hasElements(values[0]) {
		return nil, errors.New("DigestValue holds elements")
	}
	r.DigestURI = methods[0].Attr("Algorithm")
	var err error
	if r.Digest, err = DecodeBase64(values[0].Text()); err != nil {
		return nil, fmt.Errorf("DigestValue: %w", err)
	}
	return r, nil
}

func hasElements(n *xmldom.Node) bool {
	for range n.Elements() {
		return true
	}
	return false
}

// ToBeSigned is the canonical form of SignedInfo, which the value is over.
func (s *Signature) ToBeSigned() []byte { return Canonical(s.SignedInfo, s.C14N) }

// CheckValue checks the signature value with a key. It returns nil,
// pkix.ErrSignature, or an error wrapping pkix.ErrUnsupported.
func (s *Signature) CheckValue(pub any) error {
	if s.SchemeErr != nil {
		return s.SchemeErr
	}
	if err := s.Charge(max(checkCost, pkix.Cost(pub)<<14)); err != nil {
		return err
	}
	return s.Scheme.Verify(pub, s.ToBeSigned(), s.Value)
}

// DecodeBase64 decodes base64; only white space is allowed between the digits.
func DecodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, " \t\r\n") {
		s = strings.Map(func(r rune) rune {
			switch r {
			case ' ', '\t', '\r', '\n':
				return -1
			}
			return r
		}, s)
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil && strings.TrimRight(s, "=") == s {
		return base64.RawStdEncoding.DecodeString(s)
	}
	return b, err
}
