package store

// Waiting is how many writes wait for the writer of SQLite.
func (db *DB) Waiting() int { return len(db.engine.(*sqliteEngine).pending) }
