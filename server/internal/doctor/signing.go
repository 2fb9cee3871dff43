package doctor

import (
	"context"
	"fmt"
	"strings"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/sentence"
)

// mostNamed is how many damages of a part are named; the others are counted.
const mostNamed = 10

// damages collects what is wrong with a part.
type damages struct {
	named []string
	n     int
}

func (d *damages) add(text string) {
	if d.n++; len(d.named) < mostNamed {
		d.named = append(d.named, text)
	}
}

func (d *damages) finding(advice sentence.Sentence, good Finding) Finding {
	if d.n == 0 {
		return good
	}
	text := strings.Join(d.named, "; ")
	if more := d.n - len(d.named); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return bad(advice, "%s", text)
}

// examineAuthority looks at the authority's keys, certificates and lists.
func (s *Installation) examineAuthority(ctx context.Context) Finding {
	var d damages
	if err := s.Authority.Examine(ctx, d.add); err != nil {
		return bad(do("look at the database"), "cannot be examined: %v", err)
	}
	return d.finding(do("bring the tables authority_keys and authority_crl back from a backup (rogito restore), or set the clock"),
		fine("keys open, certificates and lists are in time"))
}

// examineKeys holds every credential against the master key and its
// certificate. No password is asked for.
func (s *Installation) examineKeys(ctx context.Context) Finding {
	var d damages
	n, err := s.Enroll.Examine(ctx, d.add)
	if err != nil {
		return bad(do("look at the database"), "cannot be examined: %v", err)
	}
	return d.finding(do("bring the credentials back from a backup (rogito restore), with the master key of its time; else revoke these certificates (rogito cert revoke) and buy new ones"),
		fine("%d certificates can sign: their keys open under the master key", n))
}

// examineAudit verifies the audit log, as rogito audit verify does; in a hurry
// only what is behind its last checkpoint.
func (s *Installation) examineAudit(ctx context.Context, quick bool) Finding {
	advice := do("rogito audit verify tells more; compare with an export or a backup, and find out who changed the database")
	extent := audit.Whole
	if quick {
		extent = audit.SinceCheckpoint
	}
	res, err := s.VerifyAudit(ctx, extent)
	switch {
	case err != nil:
		return bad(advice, "cannot be verified: %v", err)
	case res.Bad != nil:
		return bad(advice, "%v", res.Bad)
	}
	for _, w := range res.Witnesses {
		if w.Configured && w.Checkpoints == 0 {
			return warn(do("start the server: it witnesses a checkpoint within a minute; else check the data folder and the bucket"),
				"%d entries verify, and the %s holds no checkpoint: a database that was put back would not be noticed", res.Entries, w.Name)
		}
	}
	if quick {
		return fine("nothing was changed: %d entries since the last checkpoint were read, and those before it have the sum that it names; rogito audit verify reads all of them", res.Entries)
	}
	return fine("%d entries and %d checkpoints verify; not proved: %s", res.Entries, res.Checkpoints, res.Unproved)
}

// examineRecords reads the files of all records, or of the latest, or, in a hurry,
// only looks for them.
func (s *Installation) examineRecords(ctx context.Context, o Options) Finding {
	var d damages
	n, err := s.Signing.Check(ctx, o.Quick, o.Latest, d.add)
	if err != nil {
		return bad(do("check the folder or bucket"), "cannot be examined: %v", err)
	}
	good := fine("%d files are what they were", n)
	switch {
	case o.Quick && o.Latest > 0:
		good = fine("%d files of the latest records are there (their bytes were not read)", n)
	case o.Quick:
		good = fine("%d files are there (their bytes were not read)", n)
	}
	return d.finding(do("bring the blobs back from a backup: what cannot be had again is lost, and its record says what it was"), good)
}
