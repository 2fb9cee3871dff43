package signing

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// Events carry what is needed to repeat each step by technical means: digests,
// certificates, algorithms, tokens. They never carry a secret.

// recurring is what the events of all records of a certificate repeat: 4 of the
// 6 kB that a record has to tell.
func (x *run) recurring() *audit.Recurring {
	if x.alike == nil && x.cert != nil && len(x.cert.DER) > 0 {
		text := fmt.Appendf(nil, `"certificateSerialNumber":"%s","number":0,"certificate":"%s","credential":"`, x.cert.Serial, x.cert.ID)
		for _, der := range append([][]byte{x.cert.DER}, x.cert.Chain...) {
			text = append(base64.StdEncoding.AppendEncode(text, der), `","`...)
		}
		sum := sha256.Sum256(x.cert.DER) // in signed attributes
		text = base64.StdEncoding.AppendEncode(text, sum[:])
		x.alike = audit.NewRecurring(text)
	}
	return x.alike
}

func (x *run) requestEvents() []audit.Event {
	r := x.record
	all := []audit.Event{x.event("request", fmt.Sprintf("new signature request from %s", r.Address), map[string]any{
		"address": r.Address, "token": r.TokenID, "requestId": r.RequestID, "certificateType": r.CertificateType,
		"certificate": r.CertificateID, "documents": len(r.Inputs), "options": &r.Options, // without what is secret
		"terms": r.terms(),
	})}
	for _, f := range r.Inputs {
		if f.blob == "" && f.SHA256 == "" {
			all = append(all, x.event("input", fmt.Sprintf("input document %d is remote", f.Position), map[string]any{"index": f.Position, "url": x.remotePlace(f.Position)}))
			continue
		}
		all = append(all, x.inputEvent(f))
	}
	return all
}

// remotePlace is where a document comes from, without what may be secret in an
// address.
func (x *run) remotePlace(i int) string {
	if i >= len(x.docs) || x.docs[i].remote == nil {
		return ""
	}
	u, err := url.Parse(x.docs[i].remote.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (x *run) inputEvent(f *File) audit.Event {
	return x.event("input", fmt.Sprintf("input document %d with MD5 %s and SHA-256 %s", f.Position, f.MD5, f.SHA256), detailOf(f))
}

// fileDetail is what the log tells of a document.
type fileDetail struct {
	ID       string `json:"id"`
	Index    int    `json:"index"`
	MD5      string `json:"md5"`
	MimeType string `json:"mimetype"`
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"`
}

func detailOf(f *File) fileDetail {
	return fileDetail{ID: f.ID, Index: f.Position, MD5: f.MD5, MimeType: f.MimeType, SHA256: f.SHA256, Size: f.Size}
}

func (x *run) validationEvents() []audit.Event {
	r := x.record
	var all []audit.Event
	for _, f := range x.fetched {
		if r.stored {
			all = append(all, x.inputEvent(f))
		}
	}
	if v := r.Validated; v != nil {
		return append(all, x.event("validation", fmt.Sprintf("validated document with MD5 %s and SHA-256 %s", v.MD5, v.SHA256), detailOf(v)))
	}
	return append(all, x.event("validation", fmt.Sprintf("%d documents validated", len(x.docs)), nil))
}

// keyUse is the detail of the event of one use of a key.
type keyUse struct {
	Intent      string `json:"intent"`
	Digest      string `json:"digest"`
	Serial      string `json:"certificateSerialNumber"`
	Number      int    `json:"number"`
	Certificate string `json:"certificate"`
	Credential  string `json:"credential"` // version of password and device
	Provider    string `json:"provider,omitempty"`
}

// ending is what the log tells of a record that has ended, beside its text.
type ending struct {
	Ended string `json:"ended"` // digest of what the record is from then on
	Uses  int    `json:"uses"`  // of the key that led to it
	// Intents of them, where others had the record before and may have used the key
	// too; else they are the last ones.
	Intents []string `json:"intents,omitempty"`
}

// ended is the digest of what never changes after the end of a record. One in
// ERROR may keep more or fewer of its documents.
func (r *Record) ended() string {
	all := []any{string(r.State), r.Type, r.Achieved, r.ErrorNumber, r.ErrorMessage, store.Millis(r.UpdatedAt)}
	if r.State == Done {
		all = append(all, r.Signer)
		for _, f := range r.files() {
			all = append(all, f.traits())
		}
	}
	return digestOf(all...)
}

func (x *run) signedEvents(out *signedDocument) []audit.Event {
	r := x.record
	all := out.parts
	if all == nil {
		all = x.signatureEvents(out, 0)
	}
	s := r.Signed
	return append(all, x.event("signed", fmt.Sprintf("signed document with MD5 %s and SHA-256 %s", s.MD5, s.SHA256), signedDetail{detailOf(s), x.ending()}))
}

func (x *run) ending() ending {
	e := ending{Ended: x.record.ended(), Uses: x.intents}
	if x.tookOver {
		e.Intents = x.made
	}
	return e
}

// signedDetail is what the log tells of a signed document.
type signedDetail struct {
	fileDetail
	ending
}

// signatureEvents tell of the signature over one document and its time-stamps.
func (x *run) signatureEvents(out *signedDocument, index int) []audit.Event {
	if out.Signed == nil {
		return nil
	}
	text := "signed with " + out.Signature.Algorithm.Name
	if level := x.achieved(out); level != "" {
		text += ", level " + level
	}
	all := []audit.Event{x.event("signature", text, x.signatureDetail(out, index))}
	for _, t := range allTimestamps(out) {
		all = append(all, x.event("timestamp", fmt.Sprintf("time-stamped at %s", t.Time.UTC().Format("2006-01-02 15:04:05.000+00:00")), map[string]any{
			"index": index, "kind": t.Kind, "serialNumber": t.SerialNumber, "imprint": hex.EncodeToString(t.Imprint), "token": base64.StdEncoding.EncodeToString(t.Token),
		}))
	}
	return all
}

// signatureDetail is what is needed to check one signature again; binary values
// are written in base64.
type signatureDetail struct {
	Algorithm        ades.Algorithm `json:"algorithm"`
	Certificates     [][]byte       `json:"certificates"`
	Index            int            `json:"index"`
	Level            string         `json:"level"`
	Revocation       []evidence     `json:"revocation"`
	ToBeSigned       []byte         `json:"toBeSigned,omitempty"`
	ToBeSignedDigest string         `json:"toBeSignedDigest,omitempty"`
	Value            []byte         `json:"value"`
}

type evidence struct {
	Kind   ades.EvidenceKind `json:"kind"`
	Raw    []byte            `json:"raw"`
	SHA256 string            `json:"sha256"`
}

func (x *run) signatureDetail(out *signedDocument, index int) signatureDetail {
	d := signatureDetail{
		Algorithm: out.Signature.Algorithm, Certificates: append([][]byte{x.cert.DER}, x.cert.Chain...), Index: index, Level: out.level,
		Revocation: revocation(out), ToBeSigned: out.Signature.ToBeSigned, Value: out.Signature.Value,
	}
	if len(d.ToBeSigned) > 0 {
		d.ToBeSignedDigest = ades.FactID(d.ToBeSigned)
	}
	return d
}

// revocation data that the document carries, whole: it outlives the document.
func revocation(out *signedDocument) []evidence {
	var all []evidence
	found := append([]ades.Evidence{}, out.Signature.Evidence...)
	found = append(found, out.Document.Evidence...)
	for _, e := range found {
		if e.Kind != ades.EvidenceCertificate {
			all = append(all, evidence{Kind: e.Kind, Raw: e.Raw, SHA256: e.ID()})
		}
	}
	return all
}

func allTimestamps(out *signedDocument) []*ades.Timestamp {
	all := append([]*ades.Timestamp{}, out.Signature.Timestamps...)
	return append(all, out.Document.Timestamps...)
}
