package asic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

const archiveName = metaInf + "ASiCArchiveManifest.xml"

// Augment raises every signature of a container to a level and writes the container; data files are
// copied unchanged. CAdES signatures of an ASiC-E are archived by a time-stamped
// ASiCArchiveManifest, all others by the archive time-stamp of their own format.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	c, format, err := openToUpdate(ctx, src)
	if err != nil {
		return err
	}
	a := &augmenter{ctx: ctx, c: c, r: r, changed: map[string][]byte{}, renamed: map[string]string{}, simple: format == ades.ASiCS}
	if err := a.run(); err != nil {
		return err
	}
	return a.write(w)
}

type augmenter struct {
	ctx       context.Context
	c         *container
	r         ades.AugmentOptions
	simple    bool
	manifests []*manifest
	changed   map[string][]byte // files with new content
	renamed   map[string]string
	added     []ades.File
}

func (a *augmenter) run() error {
	for _, e := range a.c.of(roleManifest, roleArchive) {
		m, err := readManifest(e)
		if err != nil {
			return err
		}
		a.manifests = append(a.manifests, m)
	}
	if len(a.c.of(roleXML, roleCMS)) == 0 {
		return errNoSignature
	}
	if err := a.raiseXML(); err != nil {
		return err
	}
	if err := a.raiseCMS(); err != nil {
		return err
	}
	if a.r.Level >= ades.LevelLTA && !a.simple && len(a.c.of(roleCMS)) > 0 {
		return a.archive()
	}
	return nil
}

func (a *augmenter) raiseXML() error {
	files := a.c.of(roleXML)
	raised := 0
	for _, e := range files {
		m := &handoff.Member{Source: e, Files: a.c.files(e)}
		var out bytes.Buffer
		switch err := xades.Augment(a.ctx, m, &out, a.r); {
		case errors.Is(err, xades.ErrNothing):
			continue
		case err != nil:
			return fmt.Errorf("asic: %s: %w", e.name, err)
		}
		a.changed[e.name] = out.Bytes()
		raised++
	}
	if len(files) > 0 && raised == 0 {
		return xades.ErrNothing
	}
	return nil
}

// raiseCMS raises CAdES signatures. Those covered by an archive manifest must not change.
func (a *augmenter) raiseCMS() error {
	for _, e := range a.c.of(roleCMS) {
		if a.archived(e.name) {
			continue
		}
		r := a.r
		if !a.simple {
			r.Level = min(r.Level, ades.LevelLT)
		}
		content := a.contentOf(e)
		if content == nil {
			return fmt.Errorf("asic: %s: signed data not found", e.name)
		}
		r.Detached = []ades.File{{Name: content.name, Source: content}}
		var out bytes.Buffer
		if err := cades.Augment(a.ctx, e, &out, r); err != nil {
			return fmt.Errorf("asic: %s: %w", e.name, err)
		}
		a.changed[e.name] = out.Bytes()
	}
	return nil
}

func (a *augmenter) contentOf(e *entry) *entry {
	for _, m := range a.manifests {
		if a.c.lookup(m.sigURI) == e {
			return m.entry
		}
	}
	if data := a.c.of(roleData); len(data) == 1 {
		return data[0]
	}
	return nil
}

// archived reports whether an archive manifest lists a file.
func (a *augmenter) archived(name string) bool {
	for _, m := range a.manifests {
		if m.entry.role != roleArchive {
			continue
		}
		if slices.ContainsFunc(m.objects, func(o *xmldsig.Reference) bool { return decodeName(o.URI) == name }) {
			return true
		}
	}
	return false
}

// archive makes a new ASiCArchiveManifest over everything and time-stamps it. The previous one is
// renamed, and its token is given the validation data that did not exist when it was made.
func (a *augmenter) archive() error {
	if a.r.Stamper == nil || a.r.Gatherer == nil {
		return errors.New("asic: no time-stamping authority or source of validation data")
	}
	if err := oid.CheckHash(a.r.Digest()); err != nil {
		return fmt.Errorf("asic: %w", err)
	}
	if err := a.retire(); err != nil {
		return err
	}
	tsName := a.freeName("timestamp%03d.tst")
	list, err := a.listing()
	if err != nil {
		return err
	}
	h := a.r.Digest()
	m := manifestXML(tsName, "application/vnd.etsi.timestamp-token", h, list)
	token, err := a.r.Stamper.Stamp(a.ctx, h, oid.Sum(h, m))
	if err != nil {
		return fmt.Errorf("asic: archive time-stamp: %w", err)
	}
	a.added = append(a.added, ades.File{Name: archiveName, Source: bytes.NewReader(m)}, ades.File{Name: tsName, Source: bytes.NewReader(token)})
	return nil
}

// retire renames the last archive manifest and completes its time-stamp.
func (a *augmenter) retire() error {
	i := slices.IndexFunc(a.manifests, func(m *manifest) bool { return m.entry.name == archiveName })
	if i < 0 {
		return nil
	}
	a.renamed[archiveName] = a.freeName("ASiCArchiveManifest%03d.xml")
	e := a.c.lookup(a.manifests[i].sigURI)
	if e == nil {
		return fmt.Errorf("asic: %s: time-stamp of the archive manifest not found", a.manifests[i].sigURI)
	}
	token, err := e.bytes()
	if err != nil {
		return err
	}
	ts, err := tsp.Read(token, nil)
	if err != nil {
		return err
	}
	if ts.Signature == nil || ts.Signature.SigningCertificate == nil {
		return fmt.Errorf("asic: %s: certificate of the time-stamp not found", e.name)
	}
	a.changed[e.name], err = a.complete(token, ts)
	return err
}

// complete adds validation data to the SignedData of a token, in an unsigned place.
func (a *augmenter) complete(token []byte, ts *ades.Timestamp) ([]byte, error) {
	carried := ades.Bundle{}
	for _, ev := range ts.Signature.Evidence {
		if ev.Kind == ades.EvidenceCertificate {
			carried.Certificates = append(carried.Certificates, ev.Raw)
		}
	}
	got, err := a.r.Gatherer.Gather(a.ctx, [][]byte{ts.Signature.SigningCertificate}, carried)
	if err != nil {
		return nil, fmt.Errorf("asic: validation data: %w", err)
	}
	sd, err := cms.ParseBytes(token)
	if err != nil {
		return nil, err
	}
	sd.AddBundle(got)
	return sd.Bytes()
}

// freeName is an unused name in META-INF.
func (a *augmenter) freeName(form string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf(metaInf+form, n)
		if a.c.byName[name] == nil && a.renamed[archiveName] != name {
			return name
		}
	}
}

// listing returns every file that the new manifest covers, in its new state.
func (a *augmenter) listing() ([]listed, error) {
	mimes := map[role]string{
		roleCMS: "application/pkcs7-signature", roleTimestamp: "application/vnd.etsi.timestamp-token",
		roleManifest: "text/xml", roleArchive: "text/xml", roleData: "application/octet-stream",
	}
	var list []listed
	for _, e := range a.c.of(roleData, roleCMS, roleManifest, roleArchive, roleTimestamp) {
		h := a.r.Digest()
		l := listed{name: e.name, mime: mimes[e.role]}
		var err error
		if b, ok := a.changed[e.name]; ok {
			l.digest = oid.Sum(h, b)
		} else if l.digest, err = e.digest(h); err != nil {
			return nil, fmt.Errorf("asic: read %s: %w", e.name, err)
		}
		if to := a.renamed[e.name]; to != "" {
			l.name, l.root = to, true
		}
		list = append(list, l)
	}
	return list, nil
}

func (a *augmenter) write(w io.Writer) error {
	mime := a.c.mime
	if mime == "" {
		mime = MediaTypeE
		if a.simple {
			mime = MediaTypeS
		}
	}
	z, err := newWriter(w, mime, a.r.Time)
	if err != nil {
		return err
	}
	if err := z.copyAll(a.c, a.changed, a.renamed); err != nil {
		return err
	}
	for _, f := range a.added {
		if err := z.file(f); err != nil {
			return err
		}
	}
	return z.close()
}
