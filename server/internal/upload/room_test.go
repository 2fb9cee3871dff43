package upload

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"testing"
)

// What a closed spool held is unreadable through what was handed out of it, and
// gone from the memory that the next one is given.
func TestRoomsAreCleared(t *testing.T) {
	secret := []byte("canary-in-a-room")
	doc := bytes.Repeat(secret, 6000)
	body := fmt.Sprintf(`{"password":%q,"doc":%q}`, secret, base64.StdEncoding.EncodeToString(doc))
	s := New(t.TempDir(), Limits{})
	s.Expect(int64(len(body)))
	v, err := s.ReadJSON(bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Doc Text `json:"doc"`
	}
	if err := s.Unmarshal(v, &in); err != nil {
		t.Fatal(err)
	}
	src, err := in.Doc.Document(0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size())); err != nil || !bytes.Equal(got, doc) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	held := s.rooms
	if len(held) != 2 {
		t.Fatalf("%d rooms for a body and its document", len(held))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, room := range held {
		if bytes.Contains(room[:cap(room)], secret) {
			t.Error("a room was given back as it was")
		}
	}
	for name, from := range map[string]interface {
		ReadAt([]byte, int64) (int, error)
	}{"the document": src, "its text": in.Doc.src} {
		if n, err := from.ReadAt(make([]byte, 10), 0); n != 0 || !errors.Is(err, errTakenBack) {
			t.Errorf("%s of a closed spool: %d bytes, %v", name, n, err)
		}
	}
}
