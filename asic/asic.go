// Package asic makes and reads ASiC containers (EN 319 162-1 and -2): ZIP files
// that hold documents beside the CAdES or XAdES signatures over them.
//
// Most callers want [Prepare] with the files to sign, who signs
// ([ades.SignParams]) and [Options], have the digest signed, and call Finish on
// the [Draft]. [Parallel] adds a signature to
// a container that has some. [Augment] raises a container to T, LT or LTA,
// again and again. [Read] states everything that can be found out about a
// container without a clock, a network or an opinion: the signatures, the
// time-stamps of the container, and which files no signature covers. It reads
// OpenDocument files and those of Word, Excel and PowerPoint as well, which sign
// their parts in much the same way.
//
// Evidence records (RFC 4998, RFC 6283) are read as time-stamps of the container.
package asic

import (
	"errors"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/xades"
)

// Options are what a container has to choose from; the zero value is ASiC-E with
// XAdES.
type Options struct {
	// Simple asks for ASiC-S (one data object; several files are zipped into
	// one) in place of ASiC-E.
	Simple bool
	// CAdES asks for CAdES signatures in place of XAdES.
	CAdES bool
	// ContentStamper time-stamps what is signed before it is signed; nil: nobody
	// does.
	ContentStamper ades.Stamper
	// MimeTypes of the files by name; text/xml for XML and
	// application/octet-stream otherwise when there is none.
	MimeTypes map[string]string
}

// Media types.
const (
	MimeS   = "application/vnd.etsi.asic-s+zip"
	MimeE   = "application/vnd.etsi.asic-e+zip"
	mimeODF = "application/vnd.oasis.opendocument."
)

// Namespaces of container files.
const (
	nsASiC     = "http://uri.etsi.org/02918/v1.2.1#"
	nsManifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
)

const metaInf = "META-INF/"

// ErrNotContainer means that the file is a ZIP but no container or document.
var ErrNotContainer = errors.New("asic: not a signature container")

// Level names the level of a signature in a container, as DSS spells it.
// complete is asked whether the container carries revocation data for the
// chains of the given certificates.
func Level(sig *ades.Signature, doc *ades.Document, complete func(certificates ...[]byte) bool) string {
	if complete == nil { // not looked into: some revocation data will do
		complete = func(...[]byte) bool { return hasRevocation(sig) }
	}
	switch sig.Format {
	case ades.CAdES, ades.PKCS7:
		return cades.Level(sig, doc, complete)
	}
	return xades.Level(sig, doc, complete)
}

func hasRevocation(sig *ades.Signature) bool {
	for _, e := range sig.Evidence {
		if e.Kind != ades.EvidenceCertificate {
			return true
		}
	}
	for _, ts := range sig.Timestamps {
		if ts.Signature != nil && hasRevocation(ts.Signature) {
			return true
		}
	}
	return false
}

// role is what a file in the container is for.
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
	roleMeta           // metadata that the standards name
	roleStray          // anything else in META-INF
	roleFolder
)

// roleOf goes by the names that EN 319 162-1 lays down, whatever their case.
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

// metadata are the files of META-INF that EN 319 162-1 clause 4.4.3, the OCF of
// EPUB and OpenDocument name, and what systems leave in folders by themselves.
// Whatever else lies there is taken for a document, and so are these where they
// say anything, but for the manifest, which is read.
var metadata = map[string]bool{
	odfManifestName: true, "container.xml": true, "metadata.xml": true, "rights.xml": true, "encryption.xml": true,
	"relations.xml": true, "manifest.rdf": true, ".ds_store": true, "thumbs.db": true, "desktop.ini": true,
}

const odfManifestName = "manifest.xml"
