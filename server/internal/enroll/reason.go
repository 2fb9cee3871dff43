package enroll

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// Reason is why a reviewer refused what an applicant handed in. The holder reads it; the
// word is what a review sends and what is stored.
type Reason struct{ Word, English, Italian string }

// Reasons that a reviewer chooses from.
var Reasons = []Reason{
	{"video-unusable", "The video cannot be seen or heard well enough.", "Il video non si vede o non si sente abbastanza bene."},
	{"words-missing", "The text was not read aloud, or not all of it.", "Il testo non è stato letto ad alta voce, o non per intero."},
	{"face-hidden", "Your face cannot be seen well enough.", "Il tuo viso non si vede abbastanza bene."},
	{"face-differs", "The face in the video is not the one on the document.", "Il viso nel video non è quello del documento."},
	{"document-unreadable", "The photo of the document cannot be read.", "La foto del documento non si può leggere."},
	{"document-expired", "The document has expired, or is none that proves identity.", "Il documento è scaduto, o non è un documento d'identità."},
	{"data-differ", "Names, fiscal code or date of birth of the order are not those on the document.", "Nome, codice fiscale o data di nascita dell'ordine non sono quelli del documento."},
	{"organization-unproven", "It is not proven that you may act for the organisation.", "Non è dimostrato che puoi agire per l'organizzazione."},
	{otherReason.Word, otherReason.English, otherReason.Italian},
}

var otherReason = Reason{"other", "Ask whoever ordered the certificate for the reason.", "Chiedi il motivo a chi ha ordinato il certificato."}

// reasonOf is the reason of a stored decision: its first word. What the reviewer wrote
// beside that is for the log; what was written in its place is said as it is.
func reasonOf(stored string) *Reason {
	word, _, _ := strings.Cut(stored, ":")
	for i := range Reasons {
		if Reasons[i].Word == word {
			return &Reasons[i]
		}
	}
	if own := strings.Join(strings.Fields(stored), " "); own != "" {
		r := []rune(own)
		own = string(r[:min(len(r), 500)])
		return &Reason{otherReason.Word, "The reviewer wrote: \"" + own + "\"", "Chi ha esaminato ha scritto: «" + own + "»"}
	}
	return &otherReason
}

// RefusedBecause is why a reviewer refused the order of a link, for its holder; nil where
// none did.
func (s *Service) RefusedBecause(ctx context.Context, id, secret string) (*Reason, error) {
	c, err := s.ByID(ctx, id)
	if err != nil || c.State != Cancelled || !equal(c.linkSecret, secret) {
		return nil, err
	}
	return s.refusalOf(ctx, c)
}

// refusalOf is the last decision of a reviewer on an order; nil where it is no refusal.
func (s *Service) refusalOf(ctx context.Context, c *Certificate) (*Reason, error) {
	rows, err := evidenceRows(ctx, s.db.Read(), `where certificate_id = $1 order by id desc limit 1`, c.ID)
	if err != nil || len(rows) == 0 || rows[0].state != refused || rows[0].reason == otherwise {
		return nil, err
	}
	return reasonOf(rows[0].reason), nil
}

// VideoCode is what the holder reads aloud, and a reviewer listens for: a film made for
// another order has another.
func (c *Certificate) VideoCode() string {
	sum := sha256.Sum256([]byte("rogito video\x00" + c.ID + "\x00" + c.linkSecret))
	return fmt.Sprintf("%04d", binary.BigEndian.Uint32(sum[:])%10_000)
}
