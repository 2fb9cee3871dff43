package tsl

import (
	_ "embed"
	"encoding/pem"
	"sync"
)

// EULOTL is where the Commission publishes the list of lists, according to notice C/2026/1944.
const EULOTL = "https://ec.europa.eu/tools/lotl/eu-lotl.xml"

// The certificates of C/2026/1944 of 15 April 2026
// (https://eur-lex.europa.eu/eli/C/2026/1944/oj), which replaced C 276 of 16
// August 2019.
//
//go:embed journal.pem
var journalPEM []byte

// OfficialJournal returns the certificates (DER) of the signers of the list of lists named in the
// notice. Later ones are learnt from pivots: lists of lists signed by these, which name the next
// signers.
var OfficialJournal = sync.OnceValue(func() [][]byte {
	var out [][]byte
	for block, rest := pem.Decode(journalPEM); block != nil; block, rest = pem.Decode(rest) {
		out = append(out, block.Bytes)
	}
	return out
})
