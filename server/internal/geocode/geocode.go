// Package geocode asks a service of the operator's choice where an address is.
package geocode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/fetch"
)

// Place is where something is.
type Place struct {
	Name     string
	Lat, Lng float64
}

const (
	patience   = 5 * time.Second
	mostBytes  = 1 << 20
	mostPlaces = 20
	mostName   = 300
	mostSought = 200
)

// Client asks one service.
type Client struct {
	template string
	http     *http.Client
}

// Check finds an address that cannot work.
func Check(template string) error {
	if template == "" {
		return nil
	}
	one, err1 := url.Parse(strings.ReplaceAll(template, "{q}", "1"))
	two, err2 := url.Parse(strings.ReplaceAll(template, "{q}", "2"))
	if err1 != nil || err2 != nil || one.Scheme != "http" && one.Scheme != "https" || one.Host == "" || one.RequestURI() == two.RequestURI() {
		return errors.New("omi.geocoder is not an http(s) address with {q} in it")
	}
	before := func(u *url.URL) string { return (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}).String() }
	if before(one) != before(two) {
		return errors.New("omi.geocoder has {q} before its path: visitors would say who is asked")
	}
	return nil
}

// New returns a client that dials through the guard; template has {q} where the
// address goes.
func New(template string, guard *fetch.Guard) *Client {
	return &Client{template: template, http: guard.Client(patience)}
}

// Find asks for an address. No error holds what was sought.
func (c *Client) Find(ctx context.Context, sought string) ([]Place, error) {
	if len(sought) > mostSought {
		return nil, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(c.template, "{q}", url.QueryEscape(sought)), http.NoBody)
	if err != nil {
		return nil, errors.New("geocode: the request cannot be made")
	}
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, errors.New("geocode: the service does not answer")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("geocode: the service answers %d", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostBytes+1))
	if err != nil || len(b) > mostBytes {
		return nil, errors.New("geocode: the answer cannot be read")
	}
	return parse(b)
}

// parse reads a GeoJSON FeatureCollection (Photon, Pelias), or a list of places with
// lat, lon and display_name (Nominatim).
func parse(b []byte) ([]Place, error) {
	var all struct {
		Features []struct {
			Geometry struct {
				Coordinates []float64 `json:"coordinates"`
			} `json:"geometry"`
			Properties map[string]any `json:"properties"`
		} `json:"features"`
	}
	var places []Place
	if json.Unmarshal(b, &all) == nil {
		for _, f := range all.Features {
			if len(f.Geometry.Coordinates) > 1 {
				places = add(places, label(f.Properties), f.Geometry.Coordinates[1], f.Geometry.Coordinates[0])
			}
		}
		return places, nil
	}
	var list []struct {
		Lat  json.RawMessage `json:"lat"`
		Lon  json.RawMessage `json:"lon"`
		Name string          `json:"display_name"`
	}
	if json.Unmarshal(b, &list) != nil {
		return nil, errors.New("geocode: the answer is neither GeoJSON nor a list of places")
	}
	for _, one := range list {
		lat, err1 := strconv.ParseFloat(strings.Trim(string(one.Lat), `"`), 64)
		lng, err2 := strconv.ParseFloat(strings.Trim(string(one.Lon), `"`), 64)
		if err1 == nil && err2 == nil {
			places = add(places, one.Name, lat, lng)
		}
	}
	return places, nil
}

// add keeps places in Italy and around it.
func add(places []Place, name string, lat, lng float64) []Place {
	if !(lat >= 35 && lat <= 48 && lng >= 6 && lng <= 19) || len(places) >= mostPlaces {
		return places
	}
	if name == "" {
		name = strconv.FormatFloat(lat, 'f', 5, 64) + ", " + strconv.FormatFloat(lng, 'f', 5, 64)
	}
	if runes := []rune(name); len(runes) > mostName {
		name = string(runes[:mostName])
	}
	return append(places, Place{Name: name, Lat: lat, Lng: lng})
}

// label is how a feature is called: Pelias and Nominatim have one text, Photon has
// its parts.
func label(p map[string]any) string {
	for _, key := range []string{"label", "display_name"} {
		if s, ok := p[key].(string); ok && s != "" {
			return s
		}
	}
	var parts []string
	for _, key := range []string{"name", "street", "housenumber", "postcode", "city"} {
		if s, ok := p[key].(string); ok && s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}
