// Package asic creates and reads ASiC containers (EN 319 162-1 and -2): ZIP files with documents
// and the CAdES or XAdES signatures over them.
//
// Most callers call [Prepare] with the files to sign, the signer's parameters ([ades.SignParams])
// and [Options], have the digest signed, and call Finish on the [Draft]. [Parallel] adds a
// signature to a signed container. [Augment] raises a container to T, LT or LTA, any number of
// times. [Read] returns all facts about a container, without a clock, network access or judgement:
// the signatures, the time-stamps of the container, and which files no signature covers. It also
// reads OpenDocument files and those of Word, Excel and PowerPoint, which sign their parts in a
// similar way.
//
// Evidence records (RFC 4998, RFC 6283) are read as time-stamps of the container.
package asic

import (
	"errors"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/xades"
)

// Options of a container; the zero value is ASiC-E with XAdES.
type Options struct {
	// Simple selects ASiC-S (one data object; several files are zipped into one) instead of ASiC-E.
	Simple bool
	// CAdES selects CAdES signatures instead of XAdES.
	CAdES bool
	// ContentStamper time-stamps the content before it is signed; nil for none.
	ContentStamper ades.Stamper
	// MediaTypes of the files by name; the default is text/xml for XML and application/octet-stream
	// otherwise.
	MediaTypes map[string]string
}

// Media types.
const (
	MediaTypeS = "application/vnd.etsi.asic-s+zip"
	MediaTypeE = "application/vnd.etsi.asic-e+zip"
	mimeODF    = "application/vnd.oasis.opendocument."
)

// Namespaces of container files.
const (
	nsASiC     = "http://uri.etsi.org/02918/v1.2.1#"
	nsManifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
)

const metaInf = "META-INF/"

// ErrNotContainer means that the file is a ZIP but not a container or document.
var ErrNotContainer = errors.New("asic: not a signature container")

// Profile is that of a signature in a container, named as DSS does. complete reports whether the
// container has revocation data for the chains of the given certificates.
func Profile(sig *ades.Signature, doc *ades.Document, complete func(certificates ...[]byte) bool) ades.Profile {
	if complete == nil { // unknown: any revocation data counts
		complete = func(...[]byte) bool { return hasRevocation(sig) }
	}
	switch sig.Format {
	case ades.CAdES, ades.PKCS7:
		return cades.Profile(sig, doc, complete)
	}
	return xades.Profile(sig, doc, complete)
}

func hasRevocation(sig *ades.Signature) bool {
	return slices.ContainsFunc(sig.Evidence, func(e ades.Evidence) bool { return e.Kind != ades.EvidenceCertificate }) ||
		slices.ContainsFunc(sig.Timestamps, func(ts *ades.Timestamp) bool { return ts.Signature != nil && hasRevocation(ts.Signature) })
}

// role is the purpose of a file in the container.
type role int

const (
	roleData role = iota
	roleMimetype
	roleXML            // XAdES signatures
	roleCMS            // a CAdES signature
	roleTimestamp      // a time-stamp token
	roleManifest       // ASiCManifest
	roleArchive        // ASiCArchiveManifest
	roleRecord         // an evidence record
	roleRecordManifest // ASiCEvidenceRecordManifest
	roleMeta           // metadata defined by the standards
	roleStray          // anything else in META-INF
	roleFolder
)

// roleOf uses the names defined by EN 319 162-1, ignoring case.
func roleOf(name string) role {
	if strings.HasSuffix(name, "/") {
		return roleFolder
	}
	if name == "mimetype" {
		return roleMimetype
	}
	base, meta := strings.CutPrefix(strings.ToLower(name), strings.ToLower(metaInf))
	if !meta {
		return roleData
	}
	switch {
	case strings.Contains(base, "asicevidencerecordmanifest") && strings.HasSuffix(base, ".xml"):
		return roleRecordManifest
	case strings.Contains(base, "evidencerecord") && (strings.HasSuffix(base, ".xml") || strings.HasSuffix(base, ".ers")):
		return roleRecord
	case strings.Contains(base, "asicarchivemanifest") && strings.HasSuffix(base, ".xml"):
		return roleArchive
	case strings.Contains(base, "asicmanifest") && strings.HasSuffix(base, ".xml"):
		return roleManifest
	case strings.Contains(base, "signature") && strings.HasSuffix(base, ".p7s"):
		return roleCMS
	case strings.Contains(base, "signature") && strings.HasSuffix(base, ".xml"): // signature0.xml in BDOC 1.0
		return roleXML
	case strings.Contains(base, "timestamp") && strings.HasSuffix(base, ".tst"):
		return roleTimestamp
	case metadata[base]:
		return roleMeta
	}
	return roleStray
}

// metadata are the files of META-INF defined by EN 319 162-1, clause 4.4.3, by the OCF of EPUB and
// by OpenDocument, and those added by operating systems. Anything else counts as a document, and so
// do these if they have content, except for the manifest, which is parsed.
var metadata = map[string]bool{
	odfManifestName: true, "container.xml": true, "metadata.xml": true, "rights.xml": true, "encryption.xml": true,
	"relations.xml": true, "manifest.rdf": true, ".ds_store": true, "thumbs.db": true, "desktop.ini": true,
}

const odfManifestName = "manifest.xml"
