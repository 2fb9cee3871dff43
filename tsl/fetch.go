package tsl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const fetchTimeout = 60 * time.Second

// fetch gets a list from where it is published.
func (s *Set) fetch(ctx context.Context, url string) ([]byte, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, time.Time{}, err
	}
	req.Header.Set("Accept", "application/vnd.etsi.tsl+xml, application/xml, text/xml")
	res, err := s.config.Client.Do(req)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, time.Time{}, fmt.Errorf("HTTP status %d", res.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxList+1))
	return b, s.now(), err
}

// file is where a list is kept.
func (s *Set) file(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(s.config.Dir, hex.EncodeToString(sum[:16])+".xml")
}

// cachedFile reads a list that was kept.
func (s *Set) cachedFile(_ context.Context, url string) ([]byte, time.Time, error) {
	if s.config.Dir == "" {
		return nil, time.Time{}, os.ErrNotExist
	}
	b, err := os.ReadFile(s.file(url))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("not fetched yet: %w", err)
	}
	info, err := os.Stat(s.file(url))
	if err != nil {
		return nil, time.Time{}, err
	}
	return b, info.ModTime(), nil
}

// keep writes a list that was verified. A cache that cannot be written costs
// a fetch after the next start and nothing else.
func (s *Set) keep(url string, b []byte) {
	if s.config.Dir == "" {
		return
	}
	if err := os.MkdirAll(s.config.Dir, 0o755); err != nil {
		return
	}
	path := s.file(url)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(b) {
		now := s.now()
		_ = os.Chtimes(path, now, now)
		return
	}
	tmp, err := os.CreateTemp(s.config.Dir, "list-*")
	if err != nil {
		return
	}
	_, err = tmp.Write(b)
	if cerr := tmp.Close(); err != nil || cerr != nil || os.Rename(tmp.Name(), path) != nil {
		_ = os.Remove(tmp.Name())
	}
}
