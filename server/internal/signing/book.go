package signing

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// Book is the table of signature records, as the audit log is held against it.
type Book struct{}

// Owns says that an event of a kind is about a signature.
func (Book) Owns(kind string) bool {
	return slices.Contains([]string{
		"request", "input", "validation", "approval", "key-use", "signature", "timestamp", "signed", "error", "retention", "download", audit.KindErased,
	}, kind)
}

// Has returns those of the ids that are records.
func (Book) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	return audit.HasIn(ctx, q, "signatures", ids)
}

// bookRow is what a record says of itself.
type bookRow struct {
	id, account, certificate, certificateType, request, address string
	state                                                       State
	approval                                                    string
	number, deleted                                             int64
	intents                                                     []string    // digests
	files                                                       [][2]string // role and SHA-256
}

// Page returns the records that follow an id.
func (Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows := map[string]*bookRow{}
	var ids []any
	answer, err := q.Query(ctx, `select id, account_id, certificate_id, certificate_type, request_id, caller_address, state, approval, error_number, deleted_at
		from signatures where id > $1 order by id limit $2`, after, limit)
	err = store.Each("signing: read records", answer, err, func(r store.Row) error {
		b := &bookRow{}
		err := r.Scan(&b.id, &b.account, &b.certificate, &b.certificateType, &b.request, &b.address, &b.state, &b.approval, &b.number, &b.deleted)
		rows[b.id], ids = b, append(ids, b.id)
		return err
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	in := audit.In(len(ids))
	answer, err = q.Query(ctx, `select signature_id, digest from signing_intents where signature_id`+in, ids...)
	err = store.Each("signing: read records", answer, err, func(r store.Row) error {
		var id, digest string
		if err := r.Scan(&id, &digest); err != nil {
			return err
		}
		rows[id].intents = append(rows[id].intents, digest)
		return nil
	})
	if err != nil {
		return nil, err
	}
	answer, err = q.Query(ctx, `select signature_id, role, sha256 from signature_files where signature_id`+in, ids...)
	err = store.Each("signing: read records", answer, err, func(r store.Row) error {
		var id, role, sum string
		if err := r.Scan(&id, &role, &sum); err != nil {
			return err
		}
		rows[id].files = append(rows[id].files, [2]string{role, sum})
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]audit.Record, len(ids))
	for i, id := range ids {
		b := rows[id.(string)]
		all[i] = audit.Record{ID: b.id, Account: b.account, Fits: b.fits}
	}
	return all, nil
}

// told is what the events of a record say.
type told struct {
	kinds   map[string]int
	digests []string            // of key uses; without those whose text is gone
	sums    map[string][]string // kind of event → SHA-256 of documents
	request struct{ Address, RequestID, CertificateType, Certificate string }
	error   string // line of the last error
	order   string // what stands where it cannot
}

func tell(events []*audit.Entry) *told {
	t := &told{kinds: map[string]int{}, sums: map[string][]string{}}
	for i, e := range events {
		if t.kinds[e.Kind]++; (e.Kind == "request") != (i == 0) || t.kinds["signed"] > 0 && slices.Contains([]string{"input", "validation", "key-use", "signature"}, e.Kind) ||
			e.Kind == "key-use" && t.kinds["validation"] == 0 {
			t.order = e.Kind
		}
		log, detail := e.Text()
		var d struct{ Digest, SHA256 string }
		_ = json.Unmarshal(detail, &d) // of our own making, or erased
		switch e.Kind {
		case "request":
			_ = json.Unmarshal(detail, &t.request)
		case "key-use":
			t.digests = append(t.digests, d.Digest)
		case "error":
			t.error = log
		}
		t.sums[e.Kind] = append(t.sums[e.Kind], d.SHA256)
	}
	return t
}

// fits says what is wrong between a record and its events.
func (b *bookRow) fits(events []*audit.Entry) string {
	t := tell(events)
	has := func(kind string) bool { return t.kinds[kind] > 0 }
	validated := b.state == WaitSign || b.state == Done
	switch {
	case t.kinds["request"] != 1:
		return fmt.Sprintf("%d requests for it are in the log", t.kinds["request"])
	case t.order != "":
		return fmt.Sprintf("its events are not in the order in which they can happen (%s)", t.order)
	case has("signed") != (b.state == Done), has("error") != (b.state == Error):
		return fmt.Sprintf("it is %s, and its events say otherwise", b.state)
	case validated && !has("validation"), b.state == WaitValidation && has("validation"):
		return fmt.Sprintf("it is %s, and its events say otherwise", b.state)
	case has(audit.KindErased) != (b.deleted != 0):
		return "its tombstone and the erasures in the log do not agree"
	case len(b.intents) != t.kinds["key-use"]:
		return fmt.Sprintf("the key was used %d times for it, and the log says %d", len(b.intents), t.kinds["key-use"])
	case b.deleted != 0:
		return ""
	case !b.approvalFits(has("approval"), t.error):
		return "it was approved, or not, and its events say otherwise"
	case t.request.Certificate != b.certificate || t.request.CertificateType != b.certificateType || t.request.RequestID != b.request || t.request.Address != b.address:
		return "it names another certificate, request or caller than its events"
	case b.state == Error && !strings.HasPrefix(t.error, fmt.Sprintf("ended in error %d: ", b.number)):
		return "its error is another than in its events"
	}
	slices.Sort(b.intents)
	slices.Sort(t.digests)
	if !slices.Equal(b.intents, t.digests) {
		return "the key was used for another digest than its events say"
	}
	return b.documents(t)
}

// approvalFits holds the approval against the event of one and the error that
// the record ended in. One that was withdrawn has its event, and between the
// refusal and the end of the record nothing can be said.
func (b *bookRow) approvalFits(given bool, ended string) bool {
	switch {
	case b.approval != approvalRefused:
		return given == (b.approval == approvalGiven)
	case b.state == Error:
		return given == strings.HasSuffix(ended, approvalWithdrawn)
	}
	return b.state != Done
}

// documents holds the digests of the documents of a record that was signed
// against its events.
func (b *bookRow) documents(t *told) string {
	if b.state != Done {
		return ""
	}
	kinds := map[string]string{roleInput: "input", roleValidated: "validation", roleSigned: "signed"}
	signed := false
	for _, f := range b.files {
		// A picture is in the signed document, and has no event of its own.
		if f[0] != roleImage && !slices.Contains(t.sums[kinds[f[0]]], f[1]) {
			return fmt.Sprintf("its %s document is another than in its events", f[0])
		}
		signed = signed || f[0] == roleSigned
	}
	if !signed {
		return "its signed document is gone"
	}
	return ""
}
