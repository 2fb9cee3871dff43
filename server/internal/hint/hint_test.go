package hint

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	members := []string{"inputDocuments", "certificateUsername", "certificatePassword", "options.level", "options.page", "title", "callback"}
	for word, want := range map[string]string{
		"documents": "inputDocuments", "inputdocuments": "inputDocuments", "input_documents": "inputDocuments", "inputDocumets": "inputDocuments",
		"level": "options.level", "tilte": "title", "callBack": "callback", "certificatUsername": "certificateUsername",
		"file": "", "x": "", "": "", "colour": "", strings.Repeat("inputDocuments", 1000): "",
	} {
		if got := Near(word, members); got != want {
			t.Errorf("%.40q: %q, want %q", word, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	for got, want := range map[string]string{
		OneOf("level", "lta", []string{"B", "T", "LT", "LTA"}): "level must be one of B, T, LT, LTA; did you mean LTA?",
		OneOf("level", "max", []string{"B", "T", "LT", "LTA"}): "level must be one of B, T, LT, LTA",
		Unknown("documents", []string{"inputDocuments"}):       "documents is unknown: did you mean inputDocuments?",
		Unknown("file", []string{"inputDocument", "language"}): "file is unknown: known are inputDocument, language",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Unknown(strings.Repeat("é", 1000), nil); len(got) > 200 {
		t.Errorf("an answer repeats all that a client wrote: %d bytes", len(got))
	}
}
