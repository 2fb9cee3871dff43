package pdf

import (
	"fmt"

	"rogito.dev/rogito/internal/finding"
)

// Slip is a place of the file that does not conform to the standard, so that readers may interpret
// it in two ways: some follow the tables, some rebuild them from the objects they find; some use
// the first of two definitions, some the last. Whether the signer or someone else made it is
// decided by [Slip.Inside].
type Slip struct {
	Kind   *Kind
	Values []string // for the text; the first is its location
	// End is where the bytes of the slip end, from the header.
	End int64
	// Object is the number of the affected object, or 0.
	Object int
	// Until is the last revision whose meaning is in doubt. The slip affects every signature over
	// that revision or an earlier one.
	Until int
}

// Kind is a kind of slip: a row of the table of findings.
type Kind struct {
	*finding.Kind
	// Others are the ways in which other readers read a file that has it.
	Others Reading
}

// Reading is a set of ways to read a revision other than by its tables.
type Reading uint16

// The ways. A test checks which reader uses which for each kind of slip.
const (
	Rebuilt  Reading = 1 << iota // tables are rebuilt from the objects in the file
	FirstKey                     // the first of two equal keys is used, where poppler finds that one
	Stated                       // a stream is as long as its Length says, whatever follows
	LeftOut                      // objects with such a slip are null
	AnyGen                       // the generation of a reference is ignored
	Found                        // objects in no table are found if something refers to them
	FirstRow                     // the first of two table rows for a number is used
	Sealed                       // a stream is encrypted like the others, whatever its Type and filters
	Owned                        // it is decrypted with the key that the owner's password wraps
	Hinted                       // the linearisation dictionary leads to tables and pages
	endOfWays
)

// Ways returns the single ways of a set.
func (r Reading) Ways() (out []Reading) {
	for w := Reading(1); w < endOfWays; w <<= 1 {
		if r&w != 0 {
			out = append(out, w)
		}
	}
	return out
}

// Inside reports whether the slip is in the first n bytes after the header. In signed bytes it is
// the signer's own, and only matters if readers show different content for it; behind them someone
// else made it.
func (s Slip) Inside(n int64) bool { return s.End <= n }

// Where is the location.
func (s Slip) Where() string { return s.Values[0] }

func (s Slip) String() string { return s.Kind.Sentence("en", s.Values, nil) }

func kind(k *finding.Kind, others Reading) *Kind { return &Kind{k, others} }

// The file and its tables.
var (
	slipHeader       = kind(finding.SlipHeader, 0)
	slipPrefix       = kind(finding.SlipPrefix, 0)
	slipXRef         = kind(finding.SlipXRef, 0)
	slipEnd          = kind(finding.SlipEnd, Rebuilt)
	slipEndUnclear   = kind(finding.SlipEndUnclear, Rebuilt)
	slipEOF          = kind(finding.SlipEOF, 0)
	slipSizeMissing  = kind(finding.SlipSizeMissing, 0)
	slipSize         = kind(finding.SlipSize, 0)
	slipHybrid       = kind(finding.SlipHybrid, Rebuilt)
	slipHybrids      = kind(finding.SlipHybrids, Rebuilt)
	slipHybridPrev   = kind(finding.SlipHybridPrev, Rebuilt)
	slipPrev         = kind(finding.SlipPrev, Rebuilt)
	slipPrevBehind   = kind(finding.SlipPrevBehind, 0)
	slipLinearised   = kind(finding.SlipLinearised, Hinted)
	slipLines        = kind(finding.SlipLines, Rebuilt)
	slipFromOne      = kind(finding.SlipFromOne, Rebuilt)
	slipRowTwice     = kind(finding.SlipRowTwice, FirstRow|Rebuilt)
	slipTableCoding  = kind(finding.SlipTableCoding, Rebuilt)
	slipTableShort   = kind(finding.SlipTableShort, 0)
	slipTableLong    = kind(finding.SlipTableLong, 0)
	slipRowUnknown   = kind(finding.SlipRowUnknown, Rebuilt)
	slipTableComment = kind(finding.SlipTableComment, Rebuilt)
	slipNoTrailer    = kind(finding.SlipNoTrailer, Rebuilt)
	slipEncrypt      = kind(finding.SlipEncrypt, 0)
	slipEncryptDict  = kind(finding.SlipEncryptDict, 0)
)

// Objects and their positions.
var (
	slipSameOffset  = kind(finding.SlipSameOffset, Rebuilt|LeftOut)
	slipOutside     = kind(finding.SlipOutside, Rebuilt|LeftOut)
	slipWithin      = kind(finding.SlipWithin, Rebuilt|LeftOut)
	slipOffset      = kind(finding.SlipOffset, Rebuilt|LeftOut)
	slipRowGen      = kind(finding.SlipRowGen, 0)
	slipEarlier     = kind(finding.SlipEarlier, Rebuilt)
	slipMidNumber   = kind(finding.SlipMidNumber, Rebuilt|LeftOut)
	slipOverlap     = kind(finding.SlipOverlap, 0)
	slipGap         = kind(finding.SlipGap, 0)
	slipUnlisted    = kind(finding.SlipUnlisted, Found)
	slipLongComment = kind(finding.SlipLongComment, 0)
	slipMarker      = kind(finding.SlipMarker, 0)
	slipGeneration  = kind(finding.SlipGeneration, AnyGen)
	slipTaken       = kind(finding.SlipTaken, 0)
	slipFilled      = kind(finding.SlipFilled, 0)
)

// The syntax of objects.
var (
	slipEndobj     = kind(finding.SlipEndobj, 0)
	slipStreamLine = kind(finding.SlipStreamLine, 0)
	slipLength     = kind(finding.SlipLength, Stated)
	slipNoLength   = kind(finding.SlipNoLength, Stated)
	slipLengthAnew = kind(finding.SlipLengthAnew, Stated)
	slipEnds       = kind(finding.SlipEnds, LeftOut)
	slipDelimiter  = kind(finding.SlipDelimiter, LeftOut)
	slipReference  = kind(finding.SlipReference, LeftOut)
	slipHex        = kind(finding.SlipHex, 0)
	slipWord       = kind(finding.SlipWord, 0)
	slipNumber     = kind(finding.SlipNumber, 0)
	slipBounds     = kind(finding.SlipBounds, 0)
	slipDeep       = kind(finding.SlipDeep, 0)
	slipBracket    = kind(finding.SlipBracket, LeftOut)
	slipKey        = kind(finding.SlipKey, LeftOut)
	slipNoValue    = kind(finding.SlipNoValue, LeftOut)
	slipKeyTwice   = kind(finding.SlipKeyTwice, FirstKey)
	slipKeyMany    = kind(finding.SlipKeyMany, FirstKey)
	slipCoding     = kind(finding.SlipCoding, LeftOut)
)

// Object streams.
var (
	slipPackNoData  = kind(finding.SlipPackNoData, LeftOut)
	slipPackUnread  = kind(finding.SlipPackUnread, LeftOut)
	slipPackCoding  = kind(finding.SlipPackCoding, LeftOut)
	slipPackTwice   = kind(finding.SlipPackTwice, 0)
	slipPackMore    = kind(finding.SlipPackMore, 0)
	slipPackExtra   = kind(finding.SlipPackExtra, 0)
	slipPackElse    = kind(finding.SlipPackElse, 0)
	slipPackOrder   = kind(finding.SlipPackOrder, 0)
	slipPackTail    = kind(finding.SlipPackTail, 0)
	slipPackMissing = kind(finding.SlipPackMissing, Rebuilt|LeftOut)
	slipPackNot     = kind(finding.SlipPackNot, LeftOut)
	slipPackAnew    = kind(finding.SlipPackAnew, 0)
)

// skimError is a finding about the syntax; errShort and the like are not.
type skimError struct {
	kind   *Kind
	values []any
}

func (e *skimError) Error() string { return e.kind.Code + fmt.Sprint(e.values...) }

func slip(k *Kind, values ...any) error { return &skimError{k, values} }
