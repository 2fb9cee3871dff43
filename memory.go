package rogito

import (
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// DefaultMemory is what work on one document may hold beyond the document itself, if a Verifier or
// Options set no limit.
const DefaultMemory = 128 << 20

func memoryOr(n int64) int64 {
	if n <= 0 {
		return DefaultMemory
	}
	return n
}

// evidenceSize is the size of the facts of a document, nearly all of it evidence.
func evidenceSize(f *report.Facts) (n int64) {
	if f == nil {
		return 0
	}
	var add func(list []*ades.Signature)
	sum := func(list []ades.Evidence) {
		for i := range list {
			n += int64(len(list[i].Raw))
		}
	}
	add = func(list []*ades.Signature) {
		for _, s := range list {
			sum(s.Evidence)
			add(s.CounterSignatures)
		}
	}
	for _, l := range f.Layers {
		if l.Document != nil {
			sum(l.Document.Evidence)
			add(l.Document.Signatures)
		}
	}
	return n
}
