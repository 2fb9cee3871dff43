package limits

// Bounds of the PDF reader. A document that needs more is refused, whatever its size: all of them
// are far above what producers write.
const (
	// PDFDepth is the nesting of arrays and dictionaries in one object.
	PDFDepth = 200
	// PDFObjects is the number of entries in all cross-reference sections.
	PDFObjects = 10_000_000
	// PDFSections is the number of cross-reference sections in the Prev chain.
	PDFSections = 10_000
	// PDFObjectSize is the extent of one object without its stream data.
	PDFObjectSize = 64 << 20
	// PDFStream is the extent of one stream after decoding.
	PDFStream = 64 << 20
	// PDFInflate is the sum of all decoded streams of one document: about three
	// seconds of a processor.
	PDFInflate = 384 << 20
	// PDFRatio bounds what one stored byte may inflate to; DEFLATE cannot pass
	// 1032, but filters can be chained.
	PDFRatio = 1100
	// PDFFilters is the length of a filter chain.
	PDFFilters = 8
	// PDFParsed is the sum of all bytes that the parser is given: about four
	// seconds of a processor.
	PDFParsed = 256 << 20
	// PDFBuilt is roughly the memory of all objects parsed: many tiny ones cost more time than
	// their bytes suggest.
	PDFBuilt = 1 << 30
	// PDFLookups is how many sections are searched for objects in total.
	PDFLookups = 50_000_000
	// PDFMemory is what reading a document may hold beyond the document itself, by default.
	PDFMemory = 128 << 20
	// PDFEntries and PDFEntryBytes bound the entries of all cross-reference
	// sections by the size of the file: a fixed part, and one for so many bytes.
	// An object takes more, also when it is packed.
	PDFEntries    = 1 << 18
	PDFEntryBytes = 2
	// PDFFields is the number of form fields and of pages that are visited.
	PDFFields = 1_000_000
	// PDFSignatures is the number of signatures and time-stamps that are read.
	PDFSignatures = 10_000
	// PDFCompared is how many revisions are compared with signed ones, summed
	// over all signatures: enough for 300 signers one after another.
	PDFCompared = 50_000
	// PDFHashed is what may be hashed under all signatures of a document,
	// beyond its own size. What signatures have in common is hashed once.
	PDFHashed = 1 << 30
)
