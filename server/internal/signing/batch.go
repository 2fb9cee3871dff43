package signing

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// signAll signs items into a zip, in their order. In a batch a failure does not
// stop the rest, and a report goes along; the several values of pkcs1 are all or
// nothing.
func (x *run) signAll(ctx context.Context, params ades.SignParams) (*signedDocument, error) {
	batch := x.record.Options.Batch
	w := x.docs.Spool().Write()
	z := zip.NewWriter(w)
	var report []ledger.DocumentResult
	out := &signedDocument{media: documents.Zip}
	err := x.signEach(ctx, params, func(it *documents.Item, signed *signedDocument, uses int, err error) error {
		e := ledger.DocumentResult{Index: it.Index, Name: it.Label, State: ledger.Error}
		var no *ledger.Refusal
		switch {
		case errors.As(err, &no) && batch && !ends(no):
			e.ErrorNumber, e.ErrorMessage = &no.Number, &no.Text
		case err != nil:
			return err
		default:
			if err := addSigned(z, it, signed, &e, params.Time); err != nil {
				return err
			}
			out.count += uses
			if len(out.parts) == 0 {
				out.level = signed.level
			}
			out.level, out.parts = lowest(out.level, signed.level), append(out.parts, x.signatureEvents(signed, it.Index)...)
		}
		report = append(report, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out.count == 0 {
		return nil, allFailed(report)
	}
	if batch {
		out.results = report
		if err := addReport(z, report, params.Time); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	out.src = w.Source()
	return out, nil
}

// ends says that a refusal is about the whole request, not one document.
func ends(no *ledger.Refusal) bool {
	return no.Number == fault.WrongCredentials || no.Number == fault.CertificateLocked || no.Number == fault.CertificateNotUsable || no.Number == fault.SigningFailed || no.Number == fault.NotApproved
}

// signOne signs one item of several. A failure that is due to a document of a batch, and not
// ours, is that document's error.
func (x *run) signOne(ctx context.Context, it *documents.Item, params ades.SignParams, value valueFunc) (*signedDocument, error) {
	if it.Refused != nil {
		return nil, it.Refused
	}
	out, err := x.signItem(ctx, it, params, value)
	var no *ledger.Refusal
	var f *fault.Error
	if err == nil || errors.As(err, &no) || errors.As(err, &f) || errors.Is(err, ledger.ErrLost) || errors.Is(err, limits.ErrCrowded) || ctx.Err() != nil || x.intents == 0 || !x.record.Options.Batch {
		return out, err
	}
	x.config.Log.WarnContext(ctx, "a document of a batch", "record", x.record.ID, "index", it.Index, "error", err)
	return nil, &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] cannot be signed", it.Index), Err: err}
}

func addSigned(z *zip.Writer, it *documents.Item, signed *signedDocument, e *ledger.DocumentResult, at time.Time) error {
	name := documents.EntryName(it.Index, it.Label, signed.media.Ext)
	h := sha256.New()
	f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: at})
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.MultiWriter(f, h), io.NewSectionReader(signed.src, 0, signed.src.Size())); err != nil {
		return err
	}
	sum := hex.EncodeToString(h.Sum(nil))
	e.File, e.State, e.SHA256 = &name, ledger.Done, &sum
	if it.Anew {
		n := finding.PDFWrittenAnew
		e.Findings = []ledger.DocumentNote{{Code: n.Code, Severity: n.Severity.String(), Text: n.English}}
	}
	return nil
}

func addReport(z *zip.Writer, report []ledger.DocumentResult, at time.Time) error {
	f, err := z.CreateHeader(&zip.FileHeader{Name: "report.json", Method: zip.Deflate, Modified: at})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}

// allFailed is the record's error when no document could be signed: that of
// the first.
func allFailed(report []ledger.DocumentResult) error {
	if len(report) == 0 || report[0].ErrorNumber == nil {
		return errors.New("signing: nothing to sign")
	}
	return &ledger.Refusal{Number: *report[0].ErrorNumber, Text: "no document could be signed; the first: " + *report[0].ErrorMessage, Results: report}
}

// lowest of two levels, so that a record claims no more than all have.
func lowest(a, b *ades.Level) *ades.Level {
	if a == nil || b != nil && *a <= *b {
		return a
	}
	return b
}
