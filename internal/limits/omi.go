package limits

// Bounds on an OMI publication. The national supply of 2018/2 has 7,850 files of
// 400 MB in all; the largest is 25 MB.
const (
	// OMIFiles is how many files a publication may hold.
	OMIFiles = 100_000
	// OMIFile is the largest file of a publication, unpacked.
	OMIFile = 256 << 20
	// OMIBytes is the most that a publication may unpack to.
	OMIBytes = 4 << 30
	// OMIAddresses is the most that the tables of street numbers may unpack to:
	// those of all Italy have some 28 million rows.
	OMIAddresses = 16 << 30
	// OMINesting is how deep archives may lie in archives.
	OMINesting = 3
	// OMILine is the longest line of a table.
	OMILine = 64 << 10
	// OMIText is the longest text of an element of a perimeter file, but for
	// its coordinates.
	OMIText = 64 << 10
	// OMIDepth is how deep elements of a perimeter file may nest.
	OMIDepth = 64
	// OMIRing is how many vertices one ring may have.
	OMIRing = 2_000_000
	// OMICells is how many squares of the lookup grid the polygons of a
	// publication may reach into, counted for each; all of Italy needs 0.6 million.
	OMICells = 32 << 20
	// OMIProblems is how many problems a report spells out.
	OMIProblems = 100
)
