package cie

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Limits on what others make us fetch.
const (
	maxEntity  = 1024 // characters of an entity's address
	maxList    = 1 << 20
	maxAnswer  = 2*jwt.MaxToken + 64<<10 // of the token endpoint: two tokens
	maxFetches = 40                      // for one trust chain with its trust marks
	resolving  = 20 * time.Second        // for the same
)

// unreachable says that an entity did not answer, so nothing can be said about
// what the answer would have been.
type unreachable struct {
	what string
	err  error
}

func (u *unreachable) Error() string { return u.what + " cannot be reached" }
func (u *unreachable) Unwrap() error { return u.err }

// checkEntity says whether an entity identifier may be followed: an https
// address (http where the operator names it), without query, fragment, user,
// escapes or dots that would lead its well-known address elsewhere.
func (c *CIE) checkEntity(id string) error {
	u, err := c.checkAddress(id)
	switch {
	case err != nil:
		return err
	case strings.ContainsAny(id, "?#%"):
		return errors.New("the entity's address has a query, a fragment or escapes")
	}
	segments := strings.Split(strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/"), "/")
	for i, s := range segments {
		if s == "." || s == ".." || s == "" && (i > 0 || len(segments) > 1) {
			return errors.New("the entity's address has a path with empty or dotted segments")
		}
	}
	return nil
}

// checkAddress says whether an address that a statement names may be followed.
func (c *CIE) checkAddress(raw string) (*url.URL, error) {
	if raw == "" || len(raw) > maxEntity {
		return nil, errors.New("the address is missing or too long")
	}
	for _, r := range raw {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`\"<>^{|}`+"`", r) {
			return nil, errors.New("the address has characters that addresses have not")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return nil, errors.New("the address cannot be read")
	case u.User != nil || u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("the address has a user or a fragment")
	case u.Scheme == "https", u.Scheme == "http" && c.deps.Plain != nil && c.deps.Plain(u):
		return u, nil
	}
	return nil, errors.New("the address is not https, and network.allow_private does not name it")
}

// wellKnown is where an entity publishes its configuration.
func wellKnown(entity string) string {
	return strings.TrimSuffix(entity, "/") + "/.well-known/openid-federation"
}

// get fetches a document of at most limit bytes.
func (c *CIE) get(ctx context.Context, address string, limit int, header ...string) ([]byte, error) {
	if _, err := c.checkAddress(strings.SplitN(address, "?", 2)[0]); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	b, status, err := c.send(r, limit)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers with status %d", r.URL.Host, status)
	}
	return b, err
}

// post sends a form and returns answer and status.
func (c *CIE) post(ctx context.Context, address string, form url.Values, limit int) ([]byte, int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, 0, errors.New("the address cannot be read")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	return c.send(r, limit)
}

func (c *CIE) send(r *http.Request, limit int) ([]byte, int, error) {
	resp, err := c.deps.Client.Do(r)
	if err != nil {
		var no *fetch.Refused
		if errors.As(err, &no) {
			return nil, 0, fmt.Errorf("%s may not be reached: %w", r.URL.Host, no)
		}
		return nil, 0, &unreachable{r.URL.Host, err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, 0, &unreachable{r.URL.Host, err}
	case resp.StatusCode >= 500 || slices.Contains([]int{http.StatusTooManyRequests, http.StatusRequestTimeout}, resp.StatusCode):
		return nil, 0, &unreachable{r.URL.Host, fmt.Errorf("status %d", resp.StatusCode)}
	case len(b) > limit:
		return nil, 0, fmt.Errorf("%s answers with more than %d bytes", r.URL.Host, limit)
	}
	return bytes.TrimSpace(b), resp.StatusCode, nil
}
