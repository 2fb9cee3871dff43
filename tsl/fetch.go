package tsl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Bounds of fetching: one list, and all of them.
const (
	fetchTimeout   = 30 * time.Second
	refreshTimeout = 5 * time.Minute
	maxRedirects   = 3
)

// published fetches lists from their publishers.
type published struct{ set *Set }

func (p published) lotl(ctx context.Context) ([]*candidate, error) {
	c, err := p.get(ctx, p.set.config.LOTL)
	return one(c), err
}

// pivots returns those named by the list of lists, newest first, and the Official Journal last.
// Unavailable ones are left out; if one was needed, the chain of signers ends before the list of
// lists.
func (p published) pivots(ctx context.Context, lotl *List) ([]*candidate, error) {
	var urls []string
	for _, u := range lotl.URIs {
		if strings.HasSuffix(strings.ToLower(u), ".xml") && u != p.set.config.LOTL && !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	if len(urls) > maxPivots {
		return nil, fmt.Errorf("tsl: %d pivots are too many", len(urls))
	}
	slices.Reverse(urls)
	var out []*candidate
	var errs []error
	for _, u := range urls {
		c, err := p.get(ctx, u)
		if err != nil {
			errs = append(errs, fmt.Errorf("tsl: pivot %s: %w", u, err))
			continue
		}
		out = append(out, c)
	}
	return out, errors.Join(errs...)
}

func (p published) national(ctx context.Context, pointer Pointer) ([]*candidate, error) {
	c, err := p.get(ctx, pointer.URL)
	return one(c), err
}

func one(c *candidate) []*candidate {
	if c == nil {
		return nil
	}
	return []*candidate{c}
}

func (p published) get(ctx context.Context, address string) (*candidate, error) {
	raw, err := p.set.fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	l, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return &candidate{list: l, raw: raw, at: p.set.now()}, nil
}

// fetch downloads a published file. Lists are signed, so the address does not matter: redirects are
// followed, each through the client, which may guard the addresses it dials.
func (s *Set) fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for range maxRedirects + 1 {
		raw, next, err := s.request(ctx, address)
		if err != nil || next == "" {
			return raw, err
		}
		address = next
	}
	return nil, fmt.Errorf("more than %d redirects", maxRedirects)
}

// request makes one request; next is the target of a redirect.
func (s *Set) request(ctx context.Context, address string) (raw []byte, next string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", "application/vnd.etsi.tsl+xml, application/xml, text/xml")
	res, err := s.config.Client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		raw, err := io.ReadAll(io.LimitReader(res.Body, maxList+1))
		return raw, "", err
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := res.Location()
		if err != nil {
			return nil, "", err
		}
		if to.Scheme != "http" && to.Scheme != "https" {
			return nil, "", &url.Error{Op: "Get", URL: address, Err: errors.New("redirected to what is not http")}
		}
		return nil, to.String(), nil
	}
	return nil, "", fmt.Errorf("%s answers with HTTP status %d", address, res.StatusCode)
}
