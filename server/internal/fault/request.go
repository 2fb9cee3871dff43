package fault

import "context"

type requestKey struct{}

// RequestKey is the key under which a context carries the id of its request,
// which every answer and every log line repeats.
func RequestKey() any { return requestKey{} }

// RequestID is the id of the request that ctx belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
