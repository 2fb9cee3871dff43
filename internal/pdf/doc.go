// Package pdf reads PDF files byte-exactly, revision by revision, and appends incremental updates
// to them (ISO 32000-1:2008 and ISO 32000-2:2020).
//
// It is made for signatures: it reads lazily, keeps the position of every value it parsed, knows
// which revision defined which object, and never rewrites an existing byte. It renders nothing.
// [Build] and [WinAnsi] are just enough to write reports as PDFs.
//
// [Open] follows the cross-reference chain strictly. A file whose chain is broken is opened only if
// [Options].Repair allows scanning for its objects, and [Document].Repaired then reports it.
//
// Offsets are counted from the header (%PDF-), which is where the file begins unless there is other
// data before it; [Document].Base is the length of that data.
package pdf
