package revision

// Words lists the words of the table, so that translations can be complete.
func Words() map[string]string {
	out := make(map[string]string, len(table))
	for w, r := range table {
		out[w] = r.text
	}
	return out
}
