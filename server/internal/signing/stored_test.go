package signing_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/pages/enrol"
	"rogito.dev/rogito/server/internal/store"
)

// stored is the size of the documents in the data folder.
func stored(s *site) (size int64) {
	s.T.Helper()
	err := filepath.WalkDir(filepath.Join(s.Config.Data, "blobs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, infoErr := d.Info()
			size, err = size+info.Size(), infoErr
		}
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return size
}

// A signed PDF takes the room of its signature beside the document that was
// signed, signed at once or later, in a pack and in a file of its own; it is read
// as a whole, found whole by the doctor, and deleted with its record.
func TestSignedPDFIsStoredAsItsTail(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, size := range []int{60_000, 400_000} {
		noise := make([]byte, size/2)
		_, _ = rand.Read(noise)
		pdf := enrol.TextPDF("Tail", strings.ReplaceAll(fmt.Sprintf("%x", noise), "00", "\n"))
		for _, options := range []m{{}, {"asyncSignature": true}} {
			before := stored(s)
			r := s.Wait(s.Sign(b64(pdf), optionsOf(options)).ID, "DONE")
			if grew := stored(s) - before; grew > int64(len(pdf))*5/4+60_000 {
				t.Errorf("%d bytes, %v: %d bytes are stored", len(pdf), options, grew)
			}
			signed := s.Download(r.ID, "signedDocument")
			if !bytes.HasPrefix(signed, pdf) || len(signed) == len(pdf) {
				t.Errorf("%d bytes, %v: the signed document has %d bytes and does not begin with what was signed", len(pdf), options, len(signed))
			}
			if n, err := s.OpenServer().Parts().Signing.Check(t.Context(), false, 0, func(what string) { t.Error(what) }); err != nil || n == 0 {
				t.Errorf("%d files, %v", n, err)
			}
			if a := s.Do("DELETE", "/signatures/"+r.ID, nil); a.Status != 200 {
				t.Errorf("delete: %s", a.Body)
			}
			if resp, _ := s.Raw("GET", "/signatures/"+r.ID+"/signedDocument", nil); resp.Status != 404 {
				t.Errorf("after its end: %d", resp.Status)
			}
		}
	}
}

// A look at the latest records alone counts their documents, and finds what is
// missing among them and nothing of the others.
func TestLatestRecordsAreChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var ids []string
	for range 3 {
		ids = append(ids, s.Wait(s.Sign(b64(enrol.TextPDF("Latest", "one of three")), optionsOf(m{})).ID, "DONE").ID)
	}
	signatures := s.OpenServer().Parts().Signing
	check := func(latest int) (files int, damaged []string) {
		t.Helper()
		n, err := signatures.Check(t.Context(), true, latest, func(what string) { damaged = append(damaged, what) })
		if err != nil {
			t.Fatal(err)
		}
		return n, damaged
	}
	all, _ := check(0)
	for latest, want := range map[int]int{1: all / 3, 2: 2 * all / 3, 3: all, 100: all} {
		if n, damaged := check(latest); n != want || damaged != nil {
			t.Errorf("the latest %d have %d files of %d, %v", latest, n, all, damaged)
		}
	}
	err := s.OpenServer().Parts().DB.Write(t.Context(), func(tx *store.Tx) error {
		return tx.Later(t.Context(), `delete from signature_files where role = 'signed' and signature_id = $1`, ids[0])
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, damaged := check(2); damaged != nil {
		t.Error(damaged)
	}
	if _, damaged := check(3); len(damaged) != 1 || !strings.Contains(damaged[0], ids[0]) {
		t.Error(damaged)
	}
}
