package ledger

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/store"
)

// kept is a file of a record, as its row has it.
type kept struct {
	account, record string
	*File
}

func (k *kept) String() string { return fmt.Sprintf("%s document of record %s", k.Role, k.record) }

// Check checks the files of every record, or of so many of the latest, and calls tell for those
// that are missing or changed. Quick only asks whether they exist; otherwise every byte is read. It
// returns the number of files.
func (s *Ledger) Check(ctx context.Context, quick bool, latest int, tell func(string)) (int, error) {
	n, after := 0, kept{File: &File{}}
	if latest > 0 {
		err := s.DB.Read().QueryRow(ctx, `select id from signatures order by id desc limit 1 offset $1`, latest).Scan(&after.record)
		if err != nil && !errors.Is(err, store.ErrNoRows) {
			return 0, fmt.Errorf("signing: read records: %w", err)
		}
		after.Role = "~" // behind its own
	}
	if err := errors.Join(s.checkDone(ctx, after.record, tell), s.checkOrphans(ctx, after.record, tell)); err != nil {
		return 0, err
	}
	if quick {
		return s.checkThere(ctx, after.record, tell)
	}
	for {
		page, err := s.keptAfter(ctx, &after)
		if err != nil {
			return n, err
		}
		if len(page) == 0 {
			return n, nil
		}
		for _, k := range page {
			after = k
			n++
			what, err := s.damage(ctx, &k)
			if err != nil {
				return n, err
			}
			if what != "" && s.still(ctx, &k) {
				tell(fmt.Sprintf("%v: %s", &k, what))
			}
		}
	}
}

// checkDone finds records behind one that claim to be done and have no signed document.
func (s *Ledger) checkDone(ctx context.Context, after string, tell func(string)) error {
	rows, err := s.DB.Read().Query(ctx, `select id from signatures r where id > $1 and `+stateIs(func(s State) bool { return s == Done })+`
		and not exists (select 1 from signature_files f where f.signature_id = r.id and f.role = 'signed') order by id`, after)
	ids, err := store.All("signing: read records", rows, err, store.Column[string])
	for _, id := range ids {
		tell(fmt.Sprintf("record %s is DONE and has no signed document", id))
	}
	return err
}

// checkOrphans finds documents and uses of keys that belong to no record. The unsettled use of
// an erased record stays.
func (s *Ledger) checkOrphans(ctx context.Context, after string, tell func(string)) error {
	for _, table := range []string{"signature_files", "signing_intents"} {
		rows, err := s.DB.Read().Query(ctx, `select distinct o.signature_id from `+table+` o where o.signature_id > $1 and not exists (select 1 from signatures r where r.id = o.signature_id)
			and not exists (select 1 from audit_events e where e.record_id = o.signature_id and e.kind = '`+audit.KindErased+`')`, after)
		ids, err := store.All("signing: read records", rows, err, store.Column[string])
		if err != nil {
			return err
		}
		for _, id := range ids {
			tell(fmt.Sprintf("%s has rows of the record %s, which is not there", table, id))
		}
	}
	return nil
}

const (
	checkPage = 500
	// therePage is for looking only: a page is listed in a request for each of the
	// bucket's folders, and one more for every thousand files.
	therePage = 100_000
)

// checkThere finds files of the records behind one that are not there, in the order in
// which they were stored.
func (s *Ledger) checkThere(ctx context.Context, record string, tell func(string)) (n int, err error) {
	for after := ""; ; {
		rows, err := s.DB.Read().Query(ctx, `select signature_id, role, position, blob from signature_files
			where deleted_at = 0 and blob <> '' and signature_id > $1 and substr(blob, 1, 24) > $2 order by substr(blob, 1, 24) limit $3`, record, after, therePage)
		files := map[string][]kept{}
		page, err := store.All("signing: read files", rows, err, func(r store.Row) (k kept, err error) {
			k.File = &File{}
			err = r.Scan(&k.record, &k.Role, &k.Position, &k.Blob)
			files[k.Blob] = append(files[k.Blob], k)
			return k, err
		})
		if err != nil || len(page) == 0 {
			return n, err
		}
		n += len(page)
		last := page[len(page)-1].Blob
		after = last[:min(24, len(last))]
		missing, err := s.Blobs.Missing(ctx, slices.Collect(maps.Keys(files)))
		if err != nil {
			return n, err
		}
		for _, id := range missing {
			for _, k := range files[id] {
				if s.still(ctx, &k) {
					tell(fmt.Sprintf("%v: it is not there", &k))
				}
			}
		}
	}
}

func (s *Ledger) keptAfter(ctx context.Context, after *kept) ([]kept, error) {
	rows, err := s.DB.Read().Query(ctx, `select r.account_id, r.id, f.role, f.position, f.blob, f.md5, f.sha256, f.size from signature_files f join signatures r on r.id = f.signature_id
		where f.deleted_at = 0 and f.blob <> '' and (f.signature_id, f.role, f.position) > ($1, $2, $3) order by f.signature_id, f.role, f.position limit $4`,
		after.record, after.Role, after.Position, checkPage)
	return store.All("signing: read files", rows, err, func(r store.Row) (kept, error) {
		k := kept{File: &File{}}
		var md5, sha256 []byte
		err := r.Scan(&k.account, &k.record, &k.Role, &k.Position, &k.Blob, &md5, &sha256, &k.Size)
		k.MD5, k.SHA256 = hexOf(md5), hexOf(sha256)
		return k, err
	})
}

// damage says what is wrong with a file; the error is that the storage cannot
// be asked.
func (s *Ledger) damage(ctx context.Context, k *kept) (string, error) {
	r := Record{ID: k.record, AccountID: k.account}
	b, err := s.Blobs.For(r.Owner()).Open(ctx, k.Blob)
	if err == nil {
		defer b.Close()
		sha, sum := sha256.New(), md5.New()
		_, err = io.Copy(io.MultiWriter(sha, sum), b)
		got := [2]string{hex.EncodeToString(sha.Sum(nil)), hex.EncodeToString(sum.Sum(nil))}
		if err == nil && (got != [2]string{k.SHA256, k.MD5} || b.Info.Size != k.Size) {
			return "its digests are not those of its record", nil
		}
	}
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, blob.ErrNotFound):
		return "it is not there", nil
	case errors.Is(err, blob.ErrCorrupt):
		return "it was changed in its storage, or is another record's", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return fmt.Sprintf("it cannot be read: %v", err), nil
}

// still reports whether a file that was not found should exist: it may have been deleted
// meanwhile.
func (s *Ledger) still(ctx context.Context, k *kept) bool {
	var deleted int64
	err := s.DB.Read().QueryRow(ctx, `select deleted_at from signature_files where signature_id = $1 and role = $2 and position = $3`, k.record, k.Role, k.Position).Scan(&deleted)
	return err == nil && deleted == 0
}
