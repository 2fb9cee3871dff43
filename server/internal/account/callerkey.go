package account

// CallerKey is the key under which a context carries its caller, for a context
// that holds the caller itself rather than being wrapped for it.
func CallerKey() any { return callerKey{} }
