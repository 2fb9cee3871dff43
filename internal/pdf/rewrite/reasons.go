package rewrite

import (
	"context"
	"fmt"

	"rogito.dev/rogito/internal/pdf"
)

// Reasons lists why a document has to be rewritten before it is signed: the places that readers can
// interpret in two ways, since no signature over them would be valid. There is none for a document
// that can be signed as it is.
func Reasons(ctx context.Context, d *pdf.Document) ([]string, error) {
	slips, err := d.Audit(ctx)
	if err != nil {
		return nil, err
	}
	var why []string
	for _, s := range slips {
		why = append(why, s.String())
	}
	if text, err := crookedTree(d); err != nil {
		return nil, err
	} else if text != "" {
		why = append(why, text)
	}
	if n := d.Prefix(); n > 0 { // some readers count byte ranges from the header, others from the first byte
		why = append(why, fmt.Sprintf("the header has %d bytes before it", n))
	}
	return why, nil
}
