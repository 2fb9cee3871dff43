package omi

// The index file, version 2, little-endian throughout:
//
//	magic, version, semester, grid, section table   header
//	the sections, in the order of the constants below
//	SHA-256 of all that stands before it             trailer
//
// The same publication gives the same bytes, so the digest is also its name.
const (
	magic         = "RogitOMI"
	formatVersion = 2
	gridStart     = 16
	tableStart    = 40
	headerSize    = tableStart + sections*16
	trailerSize   = 32
)

// The sections of the file.
const (
	secReport      = iota // the import's report, JSON
	secText               // all texts, end to end
	secTextEnds           // u32: where each text ends
	secPlaces             // municipalities by cadastral code
	secZones              // zones by cadastral code and zone code
	secValues             // values by zone, in the order of the source
	secPolygons           // polygons by rank of their zone: the smaller zone first
	secRings              // rings by polygon, the outer one first
	secBlocks             // block records of package geo
	secDeltas             // coordinates of package geo
	secCells              // u32: where the entries of each square of the grid begin, and where all end
	secEntries            // u32: polygon << 1 | 1 if it fills the square; by square, then polygon
	secOutlines           // outlines of zones, then municipalities, then provinces, as appendOutline codes them
	secOutlineEnds        // u32: where each outline ends
	sections
)

// Record sizes, and where the fields stand.
const (
	placeSize      = 32
	placeCadastral = 0 // five texts follow one another
	placeZones     = 20
	placeZoneCount = 24

	zoneSize         = 48
	zonePlace        = 0
	zoneCodeText     = 4
	zoneDescription  = 8
	zoneKind         = 12
	zoneCondition    = 16 // u8
	zoneInTable      = 17 // u8
	zoneValues       = 20
	zoneValueCount   = 24
	zonePolygons     = 28
	zonePolygonCount = 32
	zoneMicrozone    = 36
	zoneArea         = 40 // u64

	valueSize      = 28
	valueCode      = 0 // u16
	valueFlags     = 2 // u8
	valueKind      = 4
	valueCondition = 8
	valueAmounts   = 12 // sale min, max, rent min, max

	polygonSize  = 32
	polygonZone  = 0
	polygonRings = 4
	polygonCount = 8
	polygonBox   = 12

	ringSize   = 8
	ringBlocks = 0
	ringCount  = 4
)
