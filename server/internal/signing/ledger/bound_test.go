package ledger

import (
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/signing/request"
)

// The conditions of SQL say what the table of states says.
func TestStates(t *testing.T) {
	if isWaiting != "state in ('WAIT_VALIDATION', 'WAIT_SIGNERS', 'WAIT_SIGN')" || isEnded != "state in ('DONE', 'ERROR')" {
		t.Errorf("%s, %s", isWaiting, isEnded)
	}
	for _, s := range States {
		for _, to := range s.Next() {
			if s.Final() || to == s {
				t.Errorf("%s is followed by %s", s, to)
			}
		}
	}
	if WaitValidation.Final() || !Done.Final() || !Error.Final() {
		t.Error("ends")
	}
}

// Secrets are good for what they were given for: whatever of it changes in the
// rows of a record, it is signed no more.
func TestBound(t *testing.T) {
	file := func(id, role string) *File {
		return &File{ID: id, Role: role, Label: "a.pdf", MediaType: "application/pdf", Extension: "pdf", Size: 1, MD5: "m", SHA256: "s", Name: "n", Blob: "b", CreatedAt: time.UnixMilli(5)}
	}
	made := func() *Record {
		return &Record{
			ID: "r", AccountID: "a", TokenID: "t", Options: request.Options{SignerImage: &request.SignerImage{Reason: "seen"}}, Inputs: []*File{file("1", RoleInput), file("2", RoleInput)},
			Validated: file("3", RoleValidated), Image: file("4", RoleImage), Callback: &callback.Target{URL: "https://a.example"}, CreatedAt: time.UnixMilli(5), ApprovalUntil: time.UnixMilli(6),
		}
	}
	before := made().bound()
	if made().bound() != before {
		t.Fatal("the same record is bound twice")
	}
	variants := map[string]func(r *Record){
		"id": func(r *Record) { r.ID = "x" }, "account": func(r *Record) { r.AccountID = "x" }, "token": func(r *Record) { r.TokenID = "x" },
		"request": func(r *Record) { r.RequestID = "x" }, "address": func(r *Record) { r.Address = "x" }, "kind": func(r *Record) { r.CertificateType = "x" },
		"certificate": func(r *Record) { r.CertificateID = "x" }, "title": func(r *Record) { r.Title = "x" }, "description": func(r *Record) { r.Description = "x" },
		"time": func(r *Record) { r.CreatedAt = time.UnixMilli(7) }, "approval until": func(r *Record) { r.ApprovalUntil = time.UnixMilli(7) },
		"level": func(r *Record) { r.Options.Level = "LTA" }, "format": func(r *Record) { r.Options.Asked = "cades" }, "batch": func(r *Record) { r.Options.Batch = true },
		"reason": func(r *Record) { r.Options.SignerImage.Reason = "approved" }, "no appearance": func(r *Record) { r.Options.SignerImage = nil },
		"fields": func(r *Record) { r.Options.SignerImage.Fields = []string{"f"} }, "authority": func(r *Record) { r.Options.TimestampURL = "https://b.example" },
		"callback": func(r *Record) { r.Callback.URL = "https://b.example" }, "callback's headers": func(r *Record) { r.Callback.Headers = map[string]string{"a": "b"} }, "no callback": func(r *Record) { r.Callback = nil },
		"picture": func(r *Record) { r.Image.SHA256 = "x" }, "no picture": func(r *Record) { r.Image = nil }, "picture's blob": func(r *Record) { r.Image.Blob = "x" },
		"document": func(r *Record) { r.Inputs[0].SHA256 = "x" }, "blob": func(r *Record) { r.Inputs[1].Blob = "x" }, "name": func(r *Record) { r.Inputs[0].Label = "b.pdf" },
		"order": func(r *Record) { r.Inputs[0], r.Inputs[1] = r.Inputs[1], r.Inputs[0] }, "one less": func(r *Record) { r.Inputs = r.Inputs[:1] },
		"one more": func(r *Record) { r.Inputs = append(r.Inputs, file("5", RoleInput)) }, "source": func(r *Record) { r.Inputs[0].Source = []byte("x") },
		"validated": func(r *Record) { r.Validated.Blob = "x" }, "not validated": func(r *Record) { r.Validated = nil },
	}
	for name, change := range variants {
		r := made()
		if change(r); r.bound() == before {
			t.Errorf("%s: another record is bound to the same", name)
		}
	}
}
