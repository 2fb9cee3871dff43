package tsl

import (
	_ "embed"
	"encoding/pem"
	"sync"
)

// EULOTL is where the Commission publishes the list of lists, as the notice
// C/2026/1944 says.
const EULOTL = "https://ec.europa.eu/tools/lotl/eu-lotl.xml"

// The certificates of C/2026/1944 of 15 April 2026
// (https://eur-lex.europa.eu/eli/C/2026/1944/oj), which replaced C 276 of 16
// August 2019.
//
//go:embed journal.pem
var journalPEM []byte

// OfficialJournal returns the certificates (DER) that the notice names as
// signers of the list of lists. Later ones are learnt from pivots: lists of
// lists that these signed and that name the next.
var OfficialJournal = sync.OnceValue(func() [][]byte {
	var out [][]byte
	for block, rest := pem.Decode(journalPEM); block != nil; block, rest = pem.Decode(rest) {
		out = append(out, block.Bytes)
	}
	return out
})
