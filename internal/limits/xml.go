package limits

// Bounds on XML and its signatures.
const (
	// XMLSize is the largest text that is parsed into a tree.
	XMLSize = 256 << 20
	// XMLDepth is how deep elements may nest.
	XMLDepth = 1000
	// XMLNodes is how many nodes a tree may have, of about 80 bytes each;
	// attributes count by their weight.
	XMLNodes = 4 << 20
	// XMLAttributes is how many attributes one element may have, namespace
	// declarations included.
	XMLAttributes = 1000
	// XMLNamespaces is how many namespace declarations may be in scope at once.
	XMLNamespaces = 1000
	// XPathLength is the longest XPath expression, in bytes.
	XPathLength = 1024
	// XPathSteps is how many steps through the tree one expression may take;
	// about half a second.
	XPathSteps = 2_000_000
	// XMLReferences is how many references a signature or manifest may have.
	XMLReferences = 1000
	// XMLTransforms is how many transforms one reference may have.
	XMLTransforms = 8
	// XMLSignatures is how many signatures one document may have.
	XMLSignatures = 1000
	// XMLEvidence is how many pieces of validation data one signature may carry.
	XMLEvidence = 4096
	// XMLTimestamps is how many time-stamps one signature may carry.
	XMLTimestamps = 64
	// XMLWork and XMLWorkTimes bound the bytes that are digested for one
	// document, whose signatures may each ask for all of it many times over: a
	// fixed part, and a multiple of its size and that of the detached files.
	XMLWork      = 512 << 20
	XMLWorkTimes = 8
)

// Bounds on containers.
const (
	// ZIPEntries is how many files a container may hold.
	ZIPEntries = 20_000
	// ZIPMeta is the largest signature, manifest or token file.
	ZIPMeta = 64 << 20
	// ZIPInflate and ZIPInflateTimes bound the inflated bytes that one reading
	// may ask for: a fixed part and a multiple of the container's own size, so
	// that real files never get there and bombs end in seconds.
	ZIPInflate      = 512 << 20
	ZIPInflateTimes = 8
)
