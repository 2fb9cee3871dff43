package jades

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/oid"
)

// Errors of [Augment].
var (
	// ErrCompact: the compact form has no place for unsigned components.
	ErrCompact = errors.New("jades: a signature in the compact form cannot be raised")
	// ErrClear: the unsigned components are not base64url-encoded, so what an archive time-stamp
	// would be over is undefined.
	ErrClear = errors.New("jades: a signature whose etsiU is in clear cannot be raised")
)

// Augment raises every signature of a file to the level asked for and writes the file; all its
// octets are kept, only components are added. A signature already at the level does not change,
// except that LTA adds another archive time-stamp.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	f, err := open(ctx, src)
	if err != nil {
		return err
	}
	a := &augmenter{ctx: ctx, r: r, file: f}
	for a.index = range f.sigs {
		if err := a.raise(); err != nil {
			return fmt.Errorf("jades: %w", err)
		}
	}
	_, err = w.Write(a.file.text)
	return err
}

// mayGrow returns why unsigned components cannot be added to a signature.
func (f *file) mayGrow(j *jws) error {
	if j.node == nil {
		return ErrCompact
	}
	if list := j.header.Get("etsiU"); list.Is(jsontree.Array) && slices.ContainsFunc(list.Items, func(v *jsontree.Value) bool { return !v.Is(jsontree.String) }) {
		return ErrClear
	}
	return nil
}

// etsiUComponent is a component in base64url, as an element of etsiU.
func etsiUComponent(name string, value []byte) []byte {
	var o object
	o.raw(name, value)
	return jsontree.Quote(encode(o.end()))
}

// add appends components to those of a signature.
func (f *file) add(j *jws, components ...[]byte) ([]byte, error) {
	if err := f.mayGrow(j); err != nil {
		return nil, err
	}
	list := bytes.Join(components, []byte{','})
	etsiU := j.header.Get("etsiU")
	var at int
	var text []byte
	switch {
	case etsiU.Is(jsontree.Array) && len(etsiU.Items) > 0:
		at, text = etsiU.End-1, append([]byte{','}, list...)
	case etsiU != nil:
		return nil, errors.New("jades: etsiU is no list of components")
	case j.header != nil && len(j.header.Members) > 0:
		at, text = j.header.End-1, slices.Concat([]byte(`,"etsiU":[`), list, []byte{']'})
	case j.header != nil:
		at, text = j.header.End-1, slices.Concat([]byte(`"etsiU":[`), list, []byte{']'})
	default:
		at, text = j.node.End-1, slices.Concat([]byte(`,"header":{"etsiU":[`), list, []byte(`]}`))
	}
	return slices.Concat(f.text[:at], text, f.text[at:]), nil
}

// augmenter raises the signatures one by one, reading the file again after each change.
type augmenter struct {
	ctx   context.Context
	r     ades.AugmentOptions
	file  *file
	index int

	s *sigReader
}

// load reads the current facts of the signature.
func (a *augmenter) load() {
	rd := newReader(a.ctx, a.file, ades.ReadOptions{Detached: a.r.Detached})
	a.s = rd.signature(a.file, a.file.sigs[a.index], nil, 0)
}

func (a *augmenter) raise() error {
	if err := a.file.mayGrow(a.file.sigs[a.index]); err != nil {
		return err
	}
	a.load()
	if a.s.err != nil {
		return a.s.err
	}
	// A time-stamp would make a broken signature look valid.
	if a.s.sig.Intact() == ades.No || ades.Fatal(a.s.sig.Problems) {
		return fmt.Errorf("signature %s does not verify", a.s.sig.ID)
	}
	if a.r.Level >= ades.LevelT && !a.has(ades.SignatureTimestamp) {
		if err := a.stamp(ades.SignatureTimestamp, "sigTst"); err != nil {
			return err
		}
	}
	if a.r.Level >= ades.LevelLT {
		if err := a.addValidationData(); err != nil {
			return err
		}
	}
	if a.r.Level >= ades.LevelLTA {
		return a.stamp(ades.ArchiveTimestamp, "arcTst")
	}
	return nil
}

func (a *augmenter) has(kind ades.TimestampKind) bool {
	return slices.ContainsFunc(a.s.sig.Timestamps, func(t *ades.Timestamp) bool { return t.Kind == kind })
}

// add appends components and reads the signature again.
func (a *augmenter) add(components ...[]byte) error {
	text, err := a.file.add(a.file.sigs[a.index], components...)
	if err != nil {
		return err
	}
	if a.file, err = parse(text); err != nil {
		return err
	}
	a.load()
	return a.s.err
}

// stamp appends a time-stamp.
func (a *augmenter) stamp(kind ades.TimestampKind, name string) error {
	if a.r.Stamper == nil {
		return errors.New("no time-stamping authority given")
	}
	h := a.r.Digest()
	if err := oid.CheckHash(h); err != nil {
		return err
	}
	sum := h.New()
	if err := a.s.stamped(&meteredWriter{w: sum, s: a.s}, kind, nil, len(a.s.etsi)); err != nil {
		return fmt.Errorf("%s time-stamp: %w", kind, err)
	}
	token, err := a.r.Stamper.Stamp(a.ctx, h, sum.Sum(nil))
	if err != nil {
		return fmt.Errorf("%s time-stamp: %w", kind, err)
	}
	return a.add(etsiUComponent(name, tokens(token)))
}

// addValidationData gathers the validation data of every chain of the signature and adds what is
// missing.
func (a *augmenter) addValidationData() error {
	fresh, err := carried.Missing(a.ctx, a.r.Gatherer, a.s.sig)
	if err != nil {
		return err
	}
	if list := a.validationData(fresh); len(list) > 0 {
		return a.add(list...)
	}
	return nil
}

// validationData puts new data into xVals and rVals, or, if the signature has these already, into
// tstVD: only one of each is allowed.
func (a *augmenter) validationData(b ades.Bundle) [][]byte {
	var certs [][]byte
	for _, der := range b.Certificates {
		var val, one object
		val.text("val", base64.StdEncoding.EncodeToString(der))
		one.raw("x509Cert", val.end())
		certs = append(certs, one.end())
	}
	var revocation object
	if len(b.CRLs) > 0 {
		revocation.raw("crlVals", pkiObjects(b.CRLs))
	}
	if len(b.OCSPs) > 0 {
		revocation.raw("ocspVals", pkiObjects(b.OCSPs))
	}
	again := a.has(ades.ArchiveTimestamp) || slices.ContainsFunc(a.s.etsi, func(c *component) bool { return c.name == "xVals" || c.name == "rVals" })
	var list [][]byte
	var both object
	put := func(name string, value []byte) {
		if again {
			both.raw(name, value)
		} else {
			list = append(list, etsiUComponent(name, value))
		}
	}
	if len(certs) > 0 {
		put("xVals", array(certs...))
	}
	if revocation.Len() > 0 {
		put("rVals", revocation.end())
	}
	if both.Len() > 0 {
		list = append(list, etsiUComponent("tstVD", both.end()))
	}
	return list
}
