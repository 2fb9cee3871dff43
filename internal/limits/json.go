package limits

// Bounds on JSON and its signatures.
const (
	// JSONSize is the largest text that is parsed into a tree.
	JSONSize = 256 << 20
	// JSONDepth is how deep values may nest.
	JSONDepth = 64
	// JSONValues is how many values a tree may have, of about 100 bytes each.
	JSONValues = 1 << 20
	// JWSHeader is the largest protected header, in its encoded form: it may
	// carry certificates and time-stamps.
	JWSHeader = 16 << 20
	// JWSSignatures is how many signatures one JWS may have.
	JWSSignatures = 1000
	// JWSEvidence is how many pieces of validation data one signature may carry.
	JWSEvidence = 4096
	// JWSTimestamps is how many time-stamps one signature may carry.
	JWSTimestamps = 64
	// JWSComponents is how many components etsiU may have.
	JWSComponents = 1024
	// JWSReferences is how many contents sigD may name.
	JWSReferences = 1000
	// JWSWork and JWSWorkTimes bound the bytes that are digested for one document,
	// as XMLWork does.
	JWSWork      = 512 << 20
	JWSWorkTimes = 8
)
