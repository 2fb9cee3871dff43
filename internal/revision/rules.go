package revision

import (
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
)

// Rules are what the signatures of the document permit.
type Rules struct {
	// DocMDP is the permission of the certification, 0 if there is none.
	DocMDP int
	// Certifies: the signature is itself the certification. With P=2 or 3 its signer permits values
	// to change.
	Certifies bool
	// Locked reports whether a field may no longer change; nil locks none.
	Locked func(field string) bool
	// Seal says what a signature field was given in a revision, or in any after the signed one if
	// revision is 0; nil takes every signature dictionary for a signature.
	Seal func(field string, revision int) Seal
}

// Seal is what was found in a signature field.
type Seal int

// The kinds of seal.
const (
	NoSeal    Seal = iota // nothing that covers a revision of the file
	Signature             // a signature, which has a verdict of its own
	Timestamp             // a document time-stamp that verifies
	Void                  // a document time-stamp that does not verify
)

// Permissions of a certification (ISO 32000-2, table 257).
const (
	noChanges   = 1
	formFilling = 2
	annotations = 3
)

type outcome byte

const (
	yes outcome = 'y' // permitted
	no  outcome = 'n' // forbidden
	odd outcome = '?' // unexplained
)

// rule is how a difference is judged.
type rule struct {
	kind string // the groups of the API
	// outcomes without a certification, and under P=1, P=2, P=3.
	outcomes string
	// lock: a FieldMDP or a field lock forbids it for its fields.
	lock bool
	text string // English; {page}, {field}, {name} are filled in
}

// table is everything that may differ between two revisions. A certification never forbids
// validation data and document time-stamps (ISO 32000-2, 12.8.2.2.2). What is not in the table
// cannot be reported, so a new kind of difference needs a line here, and one in package report for
// its Italian.
var table = map[string]rule{
	"dss":                  {"dss", "yyyy", false, "validation data was added"},
	"timestamp":            {"document-timestamp", "yyyy", false, "a document time-stamp was added: {field}"},
	"timestamp-void":       {"document-timestamp", "?n??", false, "a document time-stamp that does not verify was added: {field}"},
	"timestamp-visible":    {"document-timestamp", "?n??", false, "a document time-stamp that shows something on page {page} was added: {field}"},
	"signature":            {"signature", "ynyy", false, "a signature was added: {field}"},
	"signature-visible":    {"signature", "ynyy", false, "a signature was added, with a picture of its own on page {page}: {field}"},
	"signature-covers":     {"signature", "?n??", true, "the picture of the signature {field} covers too much of what page {page} shows"},
	"signature-filled":     {"signature", "ynyy", true, "a signature was put into the field {field}"},
	"signature-void":       {"form", "nnnn", false, "the field {field} was given something that is no signature of this file"},
	"signature-changed":    {"signature", "nnnn", false, "the signature in the field {field} was changed ({name})"},
	"signature-removed":    {"signature", "nnnn", false, "the signature was taken out of the field {field}"},
	"signature-field":      {"form", "ynyy", false, "an empty signature field was added: {field}"},
	"signature-field-look": {"form", "nnnn", false, "a signature field that shows something without being signed was added: {field}"},
	"signature-field-odd":  {"form", "????", false, "the new signature field {field} has something that cannot be explained ({name})"},
	"signature-field-runs": {"action", "nnnn", false, "the new signature field {field} carries an action"},
	"signature-field-note": {"form", "nnnn", false, "the new signature field {field} is drawn as something else ({name})"},

	"field-shared":     {"form", "????", false, "the appearance that the field {field} had is used elsewhere too"},
	"form-fill":        {"form-fill", "ynyy", true, "the field {field} was filled in"},
	"form-fill-other":  {"form-fill", "nnnn", true, "the field {field} shows something else than its value"},
	"form-fill-odd":    {"form-fill", "?n??", true, "it cannot be told whether the field {field} shows its value ({name})"},
	"form-fill-again":  {"form-fill", "?n??", true, "the field {field} had or showed something when it was signed, and now has or shows something else"},
	"form-fill-anew":   {"form-fill", "?nyy", true, "the field {field} had or showed something when the document was certified, and now has or shows something else, which the certification permits"},
	"form-fill-locked": {"form-fill", "?n??", true, "the field {field} was filled in, although it is read-only"},
	"form-resources":   {"form", "yyyy", false, "resources for the form were added ({name})"},
	"form-replaced":    {"form", "nnnn", false, "resources that fields of the form are drawn with were changed ({name})"},
	"form-changed":     {"form", "nnnn", false, "the form was changed ({name})"},
	"form-odd":         {"form", "????", false, "the form has something that cannot be explained ({name})"},
	"form-appearances": {"form", "????", false, "the form now asks viewers to draw its fields in another way"},
	"xfa":              {"form", "nnnn", false, "the dynamic form (XFA) was changed"},
	"field-added":      {"form", "nnnn", false, "a form field was added: {field}"},
	"field-removed":    {"form", "nnnn", false, "the form field {field} was taken out"},
	"field-twice":      {"form", "nnnn", false, "a second form field of the name {field} was added"},
	"field-changed":    {"form", "nnnn", false, "the form field {field} was changed ({name})"},
	"field-odd":        {"form", "????", false, "the form field {field} has something that cannot be explained ({name})"},
	"field-runs":       {"action", "nnnn", false, "an action of the form field {field} was changed"},
	"field-widgets":    {"form", "nnnn", false, "the places where the form field {field} is shown were changed"},
	"field-moved":      {"annotation", "nnnn", false, "an existing form field was put on page {page}"},

	"annotation-added":   {"annotation", "nnny", false, "an annotation was added on page {page} ({name})"},
	"annotation-covers":  {"annotation", "nnny", false, "an annotation on page {page} covers what the page shows there ({name})"},
	"annotation-changed": {"annotation", "nnny", false, "an annotation on page {page} was changed ({name})"},
	"annotation-removed": {"annotation", "nnny", false, "an annotation was taken away from page {page} ({name})"},
	"annotation-runs":    {"action", "nnnn", false, "an annotation on page {page} was given an action ({name})"},
	"annotation-other":   {"annotation", "nnnn", false, "an annotation that is no comment was added, changed or taken away on page {page} ({name})"},
	"annotation-order":   {"annotation", "nnnn", false, "the annotations of page {page} were put into another order"},
	"annotation-odd":     {"annotation", "????", false, "page {page} lists something as an annotation that is none"},
	"widget-added":       {"annotation", "nnnn", false, "a form field that is not in the form was drawn on page {page}"},
	"widget-removed":     {"annotation", "nnnn", false, "a form field was taken away from page {page}"},

	"pages":           {"page", "nnnn", false, "pages were added, taken out or put into another order"},
	"page-tree":       {"page", "nnnn", false, "the tree of pages was written so that readers do not agree which pages there are"},
	"page-content":    {"content", "nnnn", false, "the content of page {page} was changed"},
	"page-resources":  {"content", "nnnn", false, "what the content of page {page} is drawn with was changed ({name})"},
	"page-resources+": {"content", "yyyy", false, "resources that its content does not use were added to page {page} ({name})"},
	"page-box":        {"page", "nnnn", false, "the size of page {page}, or the part of it that is shown, was changed ({name})"},
	"page-changed":    {"page", "nnnn", false, "page {page} was changed ({name})"},
	"page-runs":       {"action", "nnnn", false, "an action of page {page} was changed"},
	"page-odd":        {"page", "????", false, "page {page} has something that cannot be explained ({name})"},

	"info":          {"metadata", "yyyy", false, "the document information was changed"},
	"metadata":      {"metadata", "yyyy", false, "the metadata were changed"},
	"version":       {"metadata", "yyyy", false, "the version that the document claims was changed"},
	"permissions":   {"signature", "nnnn", false, "the permissions of the document were changed"},
	"permissions+":  {"signature", "ynyy", false, "a signature was entered among the permissions of the document"},
	"encryption":    {"undefined", "nnnn", false, "the encryption of the document was changed"},
	"actions":       {"action", "nnnn", false, "what runs when the document is opened or used was changed ({name})"},
	"names":         {"content", "nnnn", false, "named parts of the document were changed ({name})"},
	"names+":        {"form", "yyyy", false, "named appearances that nothing asks for were added"},
	"attachments":   {"attachment", "nnnn", false, "the attached files were changed"},
	"layers":        {"content", "nnnn", false, "the layers that are shown were changed"},
	"display":       {"content", "nnnn", false, "the way in which the document is shown was changed ({name})"},
	"outlines":      {"content", "nnnn", false, "the bookmarks were changed"},
	"structure":     {"structure", "????", false, "the logical structure was changed"},
	"structure+":    {"structure", "yyyy", false, "new signature fields were entered in the logical structure"},
	"catalog-odd":   {"undefined", "????", false, "the document has something that cannot be explained ({name})"},
	"trailer-odd":   {"undefined", "????", false, "the trailer has something that cannot be explained ({name})"},
	"unreadable":    {"undefined", "nnnn", false, "what follows the signature cannot be read: {name}"},
	"too-much":      {"undefined", "????", false, "the revisions are too large to be compared"},
	"field-locked":  {"form", "nnnn", false, "the field {field} is locked by a signature and was changed"},
	"trailing-data": {"trailing-data", "nnnn", false, "data after the end of the document"},
	"repaired":      {"undefined", "nnnn", false, "the cross-reference table is broken: what follows the signature cannot be told"},
	"too-many":      {"undefined", "????", false, "more signatures and revisions than can be compared"},
}

// difference is one difference between two revisions.
type difference struct {
	what  string
	page  int
	field string
	name  string
	shows bool // for a new signature: it is visible
	// covers, for a new signature: together with earlier ones, it covers too much of the page.
	covers bool
	again  bool // for a field that was filled in: it had a value
}

// judge converts a difference to a change by the table.
func (r Rules) judge(d difference, revision int) ades.Change {
	what := d.what
	if what == "signature" || what == "signature-filled" {
		what = r.seal(d, revision)
	}
	if d.again {
		what = "form-fill-again"
		if r.Certifies {
			what = "form-fill-anew"
		}
	}
	if table[what].lock && r.Locked != nil && r.Locked(d.field) {
		what = "field-locked"
	}
	return Change(what, r.DocMDP, revision, d.page, d.field, d.name)
}

// seal distinguishes a further signature, a time-stamp, and neither.
func (r Rules) seal(d difference, revision int) string {
	s := Signature
	if r.Seal != nil {
		s = r.Seal(d.field, revision)
	}
	switch {
	case s == Void:
		return "timestamp-void"
	case s == NoSeal:
		return "signature-void"
	case s == Timestamp && d.shows:
		return "timestamp-visible"
	case s == Timestamp:
		return "timestamp"
	case d.covers:
		return "signature-covers"
	case d.shows && d.what == "signature":
		return "signature-visible"
	}
	return d.what
}

// Change makes a change of the table. An unknown word is unexplained.
func Change(what string, docMDP, revision, page int, field, name string) ades.Change {
	r, ok := table[what]
	if !ok {
		r = table["catalog-odd"]
	}
	o := outcome(r.outcomes[min(max(docMDP, 0), annotations)])
	text := r.text
	if strings.Contains(text, "{") {
		text = strings.NewReplacer("{page}", strconv.Itoa(page), "{field}", strconv.Quote(field), "{name}", name).Replace(text)
	}
	return ades.Change{
		Kind: r.kind, What: what, Permitted: o == yes, Unexplained: o == odd,
		Description: text, Revision: revision, Page: page, Field: field, Name: name,
	}
}
