// Package pdf reads PDF files byte-exactly, revision by revision, and appends
// incremental updates to them (ISO 32000-1:2008 and ISO 32000-2:2020).
//
// It is made for signatures: it looks only at what it is asked for, keeps the
// place of every value it parsed, knows which revision defined which object,
// and never rewrites a byte that was there. It renders nothing. [Build] and
// [WinAnsi] are the little that reports need to be PDFs themselves.
//
// [Open] follows the cross-reference chain strictly. A file whose chain is
// broken is opened only when [Options].Repair allows a scan for its objects,
// and then says so in [Document].Repaired.
//
// Offsets count from the header (%PDF-), which is where the file begins unless
// there is junk before it; [Document].Base is the length of that junk.
package pdf
