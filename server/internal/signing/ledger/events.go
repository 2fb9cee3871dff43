package ledger

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// Events carry what is needed to repeat each step by technical means: digests,
// certificates, algorithms, tokens. They never carry a secret.

// Events makes the log's entries for one record.
type Events struct {
	Record      *Record
	Certificate *enroll.Certificate // nil until it is known

	alike *audit.Recurring // nil until one is written
}

// recurring is what the events of all records of a certificate repeat: 4 of the 6 kB of a record's
// events.
func (e *Events) recurring() *audit.Recurring {
	if c := e.Certificate; e.alike == nil && c != nil && len(c.DER) > 0 {
		text := fmt.Appendf(nil, `"certificateSerialNumber":"%s","number":0,"certificate":"%s","credential":"`, c.Serial, c.ID)
		for _, der := range append([][]byte{c.DER}, c.Chain...) {
			text = append(base64.StdEncoding.AppendEncode(text, der), `","`...)
		}
		sum := sha256.Sum256(c.DER) // in signed attributes
		text = base64.StdEncoding.AppendEncode(text, sum[:])
		e.alike = audit.NewRecurring(text)
	}
	return e.alike
}

func (e *Events) Event(kind, text string, detail any) audit.Event {
	return audit.Event{Account: e.Record.AccountID, Record: e.Record.ID, Kind: kind, Log: text, Detail: detail, Recurring: e.recurring()}
}

// Requested logs a request and its documents; place is where a remote one is.
func (e *Events) Requested(place func(i int) string) []audit.Event {
	r := e.Record
	asked := map[string]any{
		"address": r.Address, "token": r.TokenID, "requestId": r.RequestID, "certificateType": r.CertificateType,
		"certificate": r.CertificateID, "documents": len(r.Inputs), "options": &r.Options, // without what is secret
		"terms": r.terms(),
	}
	if r.Person != "" {
		asked["person"] = r.Person
	}
	all := []audit.Event{e.Event("request", fmt.Sprintf("new signature request from %s", r.Address), asked)}
	for _, f := range r.Inputs {
		if f.Blob == "" && f.SHA256 == "" {
			all = append(all, e.Event("input", fmt.Sprintf("input document %d is remote", f.Position), map[string]any{"index": f.Position, "url": place(f.Position)}))
			continue
		}
		all = append(all, e.inputEvent(f))
	}
	return all
}

func (e *Events) inputEvent(f *File) audit.Event {
	return e.Event("input", fmt.Sprintf("input document %d with MD5 %s and SHA-256 %s", f.Position, f.MD5, f.SHA256), detailOf(f))
}

// fileDetail is the log's entry for a document.
type fileDetail struct {
	ID        string `json:"id"`
	Index     int    `json:"index"`
	MD5       string `json:"md5"`
	MediaType string `json:"mimetype"`
	SHA256    string `json:"sha256"`
	Size      int64  `json:"size"`
}

func detailOf(f *File) fileDetail {
	return fileDetail{ID: f.ID, Index: f.Position, MD5: f.MD5, MediaType: f.MediaType, SHA256: f.SHA256, Size: f.Size}
}

// Validated logs what is to be signed, and the inputs that were fetched since the record was
// stored.
func (e *Events) Validated(fetched []*File) []audit.Event {
	r := e.Record
	var all []audit.Event
	for _, f := range fetched {
		if r.Stored {
			all = append(all, e.inputEvent(f))
		}
	}
	now := validated{Type: string(r.Type), UpdatedAt: store.Millis(r.UpdatedAt)}
	if v := r.Validated; v != nil {
		detail := detailOf(v)
		now.fileDetail = &detail
		return append(all, e.Event("validation", fmt.Sprintf("validated document with MD5 %s and SHA-256 %s", v.MD5, v.SHA256), now))
	}
	return append(all, e.Event("validation", fmt.Sprintf("%d documents validated", len(r.Inputs)), now))
}

// validated is the log's entry for a record that was validated.
type validated struct {
	*fileDetail
	Type      string `json:"type"`
	UpdatedAt int64  `json:"updatedAt"`
}

// KeyUsed logs one use of a key, which is at a provider where one is named.
func (e *Events) KeyUsed(to intent.Intent, credential, provider string) audit.Event {
	text := "private key used"
	if provider != "" {
		text = "digest sent to the provider " + provider + " to be signed"
	}
	return e.Event("key-use", text, keyUse{
		Intent: to.ID, Digest: hexOf(to.Digest), Serial: e.Certificate.Serial, Number: to.Position, Certificate: to.Certificate,
		Credential: credential, Provider: provider, At: store.Millis(to.At),
	})
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
	At          int64  `json:"at"` // when it was permitted
}

// ending is the log's entry for a record that has ended, beside its text.
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
	all := []any{string(r.State), string(r.Type), r.Achieved, r.ErrorNumber, r.ErrorMessage, store.Millis(r.UpdatedAt)}
	if r.State == Done {
		all = append(all, r.Signer)
		for _, f := range r.files() {
			all = append(all, f.traits())
		}
	}
	if r.Tally.Of > 0 {
		all = append(all, r.Results, r.Tally)
	}
	return digestOf(all...)
}

// Signed logs the signed document, and how many uses of the key led to it; intents where others had
// the record before.
func (e *Events) Signed(uses int, intents []string) audit.Event {
	r := e.Record
	s := r.Signed
	return e.Event("signed", fmt.Sprintf("signed document with MD5 %s and SHA-256 %s", s.MD5, s.SHA256), signedDetail{detailOf(s), ending{r.ended(), uses, intents}})
}

// Failed logs a record that ended in error.
func (e *Events) Failed() audit.Event {
	r := e.Record
	return e.Event("error", fmt.Sprintf("ended in error %d: %s", r.ErrorNumber, r.ErrorMessage), ending{Ended: r.ended()})
}

// signedDetail is the log's entry for a signed document.
type signedDetail struct {
	fileDetail
	ending
}

// Signature logs the signature over one document and its time-stamps.
func (e *Events) Signature(out *rogito.Signed, level *ades.Level, achieved string, index int) []audit.Event {
	text := "signed with " + out.Signature.Algorithm.Name
	if achieved != "" {
		text += ", level " + achieved
	}
	all := []audit.Event{e.Event("signature", text, e.signatureDetail(out, level, index))}
	for _, t := range allTimestamps(out) {
		all = append(all, e.Event("timestamp", fmt.Sprintf("time-stamped at %s", t.Time.UTC().Format("2006-01-02 15:04:05.000+00:00")), map[string]any{
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
	Remarks          []Remark       `json:"remarks,omitempty"`
	Revocation       []evidence     `json:"revocation"`
	ToBeSigned       []byte         `json:"toBeSigned,omitempty"`
	ToBeSignedDigest string         `json:"toBeSignedDigest,omitempty"`
	Value            []byte         `json:"value"`
}

// Remark is what a signature was asked for and came otherwise: a row of findings with
// its values, and its English text.
type Remark struct {
	Code   string   `json:"code"`
	Text   string   `json:"text"`
	Values []string `json:"values,omitempty"`
}

type evidence struct {
	Kind   ades.EvidenceKind `json:"kind"`
	Raw    []byte            `json:"raw"`
	SHA256 string            `json:"sha256"`
}

func (e *Events) signatureDetail(out *rogito.Signed, level *ades.Level, index int) signatureDetail {
	d := signatureDetail{
		Algorithm: out.Signature.Algorithm, Certificates: append([][]byte{e.Certificate.DER}, e.Certificate.Chain...), Index: index,
		Revocation: revocation(out), ToBeSigned: out.Signature.ToBeSigned, Value: out.Signature.Value,
	}
	if level != nil {
		d.Level = level.String()
	}
	for _, r := range out.Remarks {
		d.Remarks = append(d.Remarks, Remark{r.Code, r.Text, r.Values})
	}
	if len(d.ToBeSigned) > 0 {
		d.ToBeSignedDigest = ades.FactID(d.ToBeSigned)
	}
	if out.Format == ades.JAdES {
		d.ToBeSigned = nil // it may hold the document itself
	}
	return d
}

// revocation data that the document carries, whole: it outlives the document.
func revocation(out *rogito.Signed) []evidence {
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

func allTimestamps(out *rogito.Signed) []*ades.Timestamp {
	all := append([]*ades.Timestamp{}, out.Signature.Timestamps...)
	return append(all, out.Document.Timestamps...)
}
