package store

import (
	"errors"
	"testing"
	"time"
)

// Writes that share a transaction share what was judged in it, and a judgement
// that failed is made again; the next transaction judges anew.
func TestJudgedTogether(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), Config{Data: t.TempDir(), Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	refused := errors.New("refused")
	asked := 0
	judge := func(tx *Tx) error {
		return tx.Judged("a", func() error {
			if asked++; asked == 1 {
				return refused
			}
			return nil
		})
	}
	const others = 5
	begun, waiting, ended := make(chan struct{}), make(chan struct{}), make(chan error, others+1)
	go func() {
		ended <- db.Write(t.Context(), func(*Tx) error {
			close(begun)
			<-waiting // the others are, and will share this transaction
			return nil
		})
	}()
	<-begun
	for range others {
		go func() { ended <- db.Write(t.Context(), judge) }()
	}
	for e := db.engine.(*sqliteEngine); len(e.pending) < others; {
		time.Sleep(time.Millisecond)
	}
	close(waiting)
	failed := 0
	for range others + 1 {
		if err := <-ended; errors.Is(err, refused) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if failed != 1 || asked != 2 {
		t.Errorf("%d failed and %d asked of %d who share a transaction", failed, asked, others)
	}
	if err := db.Write(t.Context(), judge); err != nil || asked != 3 {
		t.Errorf("the next transaction: %d asked, %v", asked, err)
	}
}
