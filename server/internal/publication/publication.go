// Package publication keeps the publications of real-estate quotations that a
// server answers from: it takes over what other processes imported, imports what
// appears in the watched folder or is sent by an administrator, and, where several
// servers share a database, lets all of them end on the same publications.
package publication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// Config says what the service works with.
type Config struct {
	Dir      string        // of the index files
	WatchDir string        // imported from; empty: none
	Partial  bool          // partial publications are taken from there too
	Official bool          // the sample is not used where nothing is imported
	Interval time.Duration // between looks; zero: two seconds
	Log      *slog.Logger

	// DB and Blobs make the publications common to all servers on them; without
	// either, the folder alone counts.
	DB    *store.DB
	Blobs blob.Store
}

// Service keeps the publications that this server answers from.
type Service struct {
	cfg       Config
	library   *omi.Library
	watcher   *omi.Watcher
	trouble   string     // with the watched folder, as said last
	importing sync.Mutex // one import at a time: each takes all processors
	sharing   sync.Mutex
}

// Open opens the publications in the folder. One that cannot be read is left out,
// and said so in the log.
func Open(cfg Config) (*Service, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Interval <= 0 {
		cfg.Interval = 2 * time.Second
	}
	library, err := omi.OpenLibrary(cfg.Dir)
	if err != nil {
		cfg.Log.Error("a publication cannot be read", "error", err)
	}
	k := &Service{cfg: cfg, library: library}
	if cfg.WatchDir != "" {
		k.watcher = &omi.Watcher{Dir: cfg.WatchDir, Library: library, AllowPartial: cfg.Partial}
	}
	return k, nil
}

// Addresses finds a street and a number among those that were imported.
func (k *Service) Addresses(cadastral, sought string) ([]omi.Address, error) {
	return k.library.Addresses(cadastral, sought)
}

// HasAddresses says whether street numbers were imported.
func (k *Service) HasAddresses() bool { return k.library.HasAddresses() }

// Check names publications whose files are damaged.
func (k *Service) Check() error { return k.library.Check() }

// Current is the publications as they are now; where only official ones are to
// answer, there may be none.
func (k *Service) Current() *omi.Set {
	set := k.library.Current()
	if k.cfg.Official && set.Sample() {
		return none
	}
	return set
}

var none = &omi.Set{}

// Run keeps the publications up to date until the context ends.
func (k *Service) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { k.every(ctx, k.refresh) })
	if k.watcher != nil {
		wg.Go(func() { k.every(ctx, k.watch) })
	}
	wg.Wait()
}

func (k *Service) every(ctx context.Context, do func(context.Context)) {
	tick := time.NewTicker(k.cfg.Interval)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// refresh takes over what other processes and other servers did.
func (k *Service) refresh(ctx context.Context) {
	changed, err := k.library.Refresh()
	if err != nil {
		k.cfg.Log.Error("a publication cannot be read", "error", err)
	}
	if err := k.library.Check(); err != nil {
		k.cfg.Log.Error("a publication is damaged", "error", err)
	}
	if err := k.Share(ctx); err != nil && ctx.Err() == nil {
		k.cfg.Log.Error("share publications", "error", err)
	}
	if set := k.Current(); changed && set.Active() != nil {
		k.cfg.Log.Info("publications changed", "active", set.Active().Semester().String(), "loaded", len(set.All()))
	}
}

// watch imports what is new in the watched folder. No name of a file is logged: an
// official archive's name holds a tax code.
func (k *Service) watch(ctx context.Context) {
	k.importing.Lock()
	defer k.importing.Unlock()
	outcomes, err := k.watcher.Poll(ctx)
	if err != nil && err.Error() != k.trouble {
		k.cfg.Log.Error("the watched folder cannot be read", "error", err) // once, not at every look
	}
	if k.trouble = ""; err != nil {
		k.trouble = err.Error()
	}
	for _, o := range outcomes {
		var refused *omi.RefusedError
		if errors.As(o.Err, &refused) && refused.Partial {
			o.Err = fmt.Errorf("%w (omi.allow_partial takes it all the same)", o.Err)
		}
		if o.Err != nil {
			k.cfg.Log.Error("publication in the watched folder refused", "error", o.Err)
			continue
		}
		k.cfg.Log.Info("publication imported from the watched folder", "semester", o.Semester.String(), "zones", o.Report.Zones, "values", o.Report.Values)
	}
}

// Import imports what an administrator sent. What is refused is fault 287.
func (k *Service) Import(ctx context.Context, inputs []omi.Input, o omi.ImportOptions) (omi.Report, error) {
	k.importing.Lock()
	defer k.importing.Unlock()
	pub, err := omi.ReadInputs(ctx, inputs, o)
	var refused *omi.RefusedError
	if errors.As(err, &refused) {
		text := "publication refused: " + refused.Reason
		if refused.Partial {
			text += ". With allowPartial=true it is taken all the same"
		}
		return omi.Report{}, fault.New(fault.PublicationRefused, "%s", text)
	}
	if err != nil {
		return omi.Report{}, err
	}
	if err := k.library.Add(pub); err != nil {
		return omi.Report{}, err
	}
	if err := k.Share(ctx); err != nil {
		k.cfg.Log.Error("share publications", "error", err) // tried again at the next look
	}
	return pub.Report, nil
}
