package store

// Waiting is how many writes wait for the writer of SQLite.
func (d *DB) Waiting() int { return len(d.engine.(*sqliteEngine).pending) }
