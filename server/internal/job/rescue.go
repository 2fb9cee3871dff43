package job

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/store"
)

// A process says every few seconds that it is alive. The jobs of one that no
// longer does are taken up by the others, or by its successor: a killed
// process costs its jobs seconds, not the time until they count as stuck.
func (c Config) beatEvery() time.Duration { return c.DeadAfter / 5 }

func (q *Queue) keepAlive() {
	defer close(q.beating)
	tick := time.NewTicker(q.cfg.beatEvery())
	defer tick.Stop()
	for {
		select {
		case <-q.quit:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), max(time.Second, q.cfg.beatEvery()))
		if err := q.beat(ctx); err != nil {
			q.cfg.Log.Warn("queue: say that this process is alive", "error", err)
		} else if n, err := q.rescue(ctx); err != nil {
			q.cfg.Log.Warn("queue: look for jobs of dead processes", "error", err)
		} else if n > 0 {
			q.cfg.Log.Warn("queue: took over jobs of a dead process", "jobs", n)
		}
		cancel()
	}
}

func (q *Queue) beat(ctx context.Context) error {
	now := time.Now()
	return q.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into nodes (id, seen_at) values ($1, $2)
			on conflict (id) do update set seen_at = excluded.seen_at`, q.node, now.UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `delete from nodes where seen_at < $1`, now.Add(-time.Hour).UnixMilli())
		return err
	})
}

func (q *Queue) leave(ctx context.Context) {
	err := q.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from nodes where id = $1`, q.node)
		return err
	})
	if err != nil {
		q.cfg.Log.Warn("queue: sign off", "error", err)
	}
}

// rescue makes the running jobs of dead processes available again. A job that
// has used up its attempts is left to River, which ends it: it may be what
// kills us.
func (q *Queue) rescue(ctx context.Context) (n int64, err error) {
	worker := `json_extract(attempted_by, '$[#-1]')`
	if q.db.Dialect() == store.PostgreSQL {
		worker = `attempted_by[array_upper(attempted_by, 1)]`
	}
	alive := time.Now().Add(-q.cfg.DeadAfter).UnixMilli()
	orphan := ` state = 'running' and attempt < max_attempts
		and not exists (select 1 from nodes where nodes.id = ` + worker + ` and nodes.seen_at > $1)`
	var some bool
	err = q.db.Read().QueryRow(ctx, `select exists (select 1 from river_job where`+orphan+`)`, alive).Scan(&some)
	if err != nil || !some {
		return 0, err // most of the time: nothing is written
	}
	err = q.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		n, err = tx.Exec(ctx, `update river_job set state = 'available' where`+orphan, alive)
		return err
	})
	return n, err
}
