package publication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/store"
)

// shared is what this server and the database agreed on last. A difference on one
// side is a change that was made there: it is carried to the other.
type shared struct {
	Publications map[string]string `json:"publications"` // semester → id
	Active       string            `json:"active"`
}

// sharedFile keeps it beside the index files.
const sharedFile = "shared.json"

// row is a publication in the database.
type row struct{ semester, id, blob string }

// Share carries changes of publications between the folder and the database, both
// ways. It does nothing where there is no database to share.
func (k *Service) Share(ctx context.Context) error {
	if k.cfg.DB == nil || k.cfg.Blobs == nil {
		return nil
	}
	k.sharing.Lock()
	defer k.sharing.Unlock()
	base := k.agreed()
	rows, active, err := k.rows(ctx)
	if err != nil {
		return err
	}
	next := shared{Publications: map[string]string{}}
	for _, semester := range k.semesters(base, rows) {
		id, err := k.reconcile(ctx, semester, base.Publications[semester], rows[semester])
		if err != nil {
			return err
		}
		if id != "" {
			next.Publications[semester] = id
		}
	}
	if next.Active, err = k.reconcileActive(ctx, base.Active, active); err != nil {
		return err
	}
	return k.agree(base, next)
}

// semesters are all that either side knows.
func (k *Service) semesters(base shared, rows map[string]row) []string {
	var all []string
	for s := range base.Publications {
		all = append(all, s)
	}
	for s := range rows {
		all = append(all, s)
	}
	for _, ix := range k.Current().All() {
		if !ix.Report().Sample {
			all = append(all, ix.Semester().String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reconcile brings one semester to the same publication on both sides and returns its
// id. What changed here goes there; otherwise what is there comes here.
func (k *Service) reconcile(ctx context.Context, semester, agreed string, there row) (string, error) {
	here := k.here(semester)
	switch here {
	case there.id:
		return here, nil
	case agreed:
		return there.id, k.pull(ctx, semester, there)
	case "":
		return "", k.withdraw(ctx, there)
	}
	return here, k.push(ctx, semester, there.blob)
}

// here is the id of the publication of a semester in the folder; empty: none.
func (k *Service) here(semester string) string {
	s, err := omi.ParseSemester(semester)
	if err != nil {
		return ""
	}
	ix, ok := k.Current().Semester(s)
	if !ok || ix.Report().Sample {
		return ""
	}
	return ix.ID()
}

// rows is what the database holds.
func (k *Service) rows(ctx context.Context) (map[string]row, string, error) {
	list, err := k.cfg.DB.Read().Query(ctx, `select semester, id, blob_id from omi_publications`)
	if err != nil {
		return nil, "", fmt.Errorf("list shared publications: %w", err)
	}
	defer list.Close()
	rows := map[string]row{}
	for list.Next() {
		var r row
		if err := list.Scan(&r.semester, &r.id, &r.blob); err != nil {
			return nil, "", fmt.Errorf("list shared publications: %w", err)
		}
		rows[r.semester] = r
	}
	if err := list.Err(); err != nil {
		return nil, "", fmt.Errorf("list shared publications: %w", err)
	}
	var active string
	err = k.cfg.DB.Read().QueryRow(ctx, `select coalesce((select semester from omi_active where one = 1), '')`).Scan(&active)
	if err != nil {
		return nil, "", fmt.Errorf("read the shared choice: %w", err)
	}
	return rows, active, nil
}

// push sends a publication of the folder to all.
func (k *Service) push(ctx context.Context, semester, old string) error {
	f, ix, err := k.openFile(semester)
	if err != nil {
		return err
	}
	defer f.Close()
	blob, err := k.cfg.Blobs.Put(ctx, f)
	if err != nil {
		return fmt.Errorf("store publication: %w", err)
	}
	err = k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into omi_publications (semester, id, blob_id, size, created_at) values ($1, $2, $3, $4, $5)
			on conflict (semester) do update set id = excluded.id, blob_id = excluded.blob_id, size = excluded.size, created_at = excluded.created_at`,
			semester, ix.ID(), blob.ID, blob.Size, store.Millis(time.Now()))
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("share publication: %w", err), k.cfg.Blobs.Delete(context.WithoutCancel(ctx), blob.ID))
	}
	k.cfg.Log.Info("publication shared", "semester", semester)
	if old == "" {
		return nil
	}
	return k.cfg.Blobs.Delete(ctx, old)
}

func (k *Service) openFile(semester string) (*os.File, *omi.Index, error) {
	s, err := omi.ParseSemester(semester)
	if err != nil {
		return nil, nil, err
	}
	ix, ok := k.Current().Semester(s)
	if !ok {
		return nil, nil, omi.ErrUnknownSemester
	}
	f, err := os.Open(k.library.Path(ix))
	if err != nil {
		return nil, nil, fmt.Errorf("share publication: %w", err)
	}
	return f, ix, nil
}

// pull makes the folder hold what the database names: another publication, or none.
func (k *Service) pull(ctx context.Context, semester string, there row) error {
	if there.id == "" {
		s, err := omi.ParseSemester(semester)
		if err != nil {
			return err
		}
		return k.library.Remove(s)
	}
	r, err := k.cfg.Blobs.Open(ctx, there.blob)
	if err != nil {
		return fmt.Errorf("fetch publication: %w", err)
	}
	defer r.Close()
	if err := k.library.Receive(r); err != nil {
		return err
	}
	k.cfg.Log.Info("publication received", "semester", semester)
	return nil
}

// withdraw removes from the database what was removed from the folder.
func (k *Service) withdraw(ctx context.Context, there row) error {
	err := k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from omi_publications where semester = $1 and id = $2`, there.semester, there.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("withdraw publication: %w", err)
	}
	return k.cfg.Blobs.Delete(ctx, there.blob)
}

// reconcileActive brings the chosen semester to the same on both sides.
func (k *Service) reconcileActive(ctx context.Context, agreed, there string) (string, error) {
	here := ""
	if s := k.Current().Pinned(); s != (omi.Semester{}) {
		here = s.String()
	}
	switch here {
	case there:
		return here, nil
	case agreed:
		return there, k.choose(there)
	}
	return here, k.cfg.DB.Write(ctx, func(tx *store.Tx) error {
		if here == "" {
			_, err := tx.Exec(ctx, `delete from omi_active where one = 1`)
			return err
		}
		_, err := tx.Exec(ctx, `insert into omi_active (one, semester, changed_at) values (1, $1, $2)
			on conflict (one) do update set semester = excluded.semester, changed_at = excluded.changed_at`, here, store.Millis(time.Now()))
		return err
	})
}

func (k *Service) choose(semester string) error {
	if semester == "" {
		return k.library.Use(omi.Semester{})
	}
	s, err := omi.ParseSemester(semester)
	if err != nil {
		return err
	}
	return k.library.Use(s)
}

// agreed is what both sides had last; nothing where they never met.
func (k *Service) agreed() shared {
	var s shared
	if b, err := os.ReadFile(filepath.Join(k.cfg.Dir, sharedFile)); err == nil {
		_ = json.Unmarshal(b, &s) // damaged: as if they had never met
	}
	if s.Publications == nil {
		s.Publications = map[string]string{}
	}
	return s
}

func (k *Service) agree(before, next shared) error {
	was, _ := json.Marshal(before)
	b, err := json.Marshal(next)
	if err != nil || string(was) == string(b) {
		return err
	}
	if err := os.MkdirAll(k.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("remember shared publications: %w", err)
	}
	return atomicfile.WriteBytes(filepath.Join(k.cfg.Dir, sharedFile), 0o640, b)
}

// HoldsBlobs returns those of some blobs that are publications; it is a
// blob.Holder.
func HoldsBlobs(ctx context.Context, q store.Querier, ids []string) ([]string, error) {
	rows, err := q.Query(ctx, `select substr(blob_id, 1, 24) from omi_publications where substr(blob_id, 1, 24)`+store.In(len(ids)), store.Args(ids)...)
	return store.All("look for publications", rows, err, store.Column[string])
}
