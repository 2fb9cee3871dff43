package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Quotation is the OMI zone at a place in Italy, with its property prices.
type Quotation struct {
	Year          int              `json:"year"`
	Semester      int              `json:"semester"`
	Location      LatLng           `json:"location"`
	Distance      float64          `json:"distance"` // metres, if the nearest zone was asked for
	Region        string           `json:"region"`
	ProvinceCode  string           `json:"province_code"`
	Municipality  string           `json:"municipality"`
	ISTATCode     string           `json:"istat_code"`
	CadastralCode string           `json:"cadastral_code"`
	OMIZone       string           `json:"omi_zone"`
	Zone          QuotationZone    `json:"zone"`
	Values        []QuotationValue `json:"values"`
	Geometry      []Polygon        `json:"geometry"` // if asked for
}

// LatLng is a place, in degrees.
type LatLng struct {
	Lat float64 `json:"lat"`
	Lng float64 `json:"lng"`
}

// QuotationZone is the source's description of a zone.
type QuotationZone struct {
	Description           string `json:"description"`
	PrevalentPropertyType string `json:"prevalent_property_type"`
	Band                  string `json:"band"`
	PrevalentCondition    string `json:"prevalent_condition"`
	Microzone             int    `json:"microzone"`
}

// QuotationValue is the quotation of a type of property in a condition.
type QuotationValue struct {
	PropertyType     string      `json:"property_type"`
	PropertyTypeCode int         `json:"property_type_code"`
	Condition        string      `json:"condition"`
	Prevalent        bool        `json:"prevalent"`
	Sale             *PriceRange `json:"sale"` // euro per square metre; nil: not quoted
	Rent             *PriceRange `json:"rent"` // euro per square metre and month; nil: not quoted
}

// PriceRange is from and to.
type PriceRange struct {
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Surface string  `json:"surface"` // gross or net
}

// Polygon is a part of a perimeter.
type Polygon struct {
	Exterior []LatLng   `json:"exterior"`
	Holes    [][]LatLng `json:"holes"`
}

// Place is a query for a quotation.
type Place struct {
	Latitude, Longitude float64
	Semester            string // such as 2018/2; empty: the active one
	Geometry            string // full, simplified or none; empty: none
	Nearest             int    // metres: outside every zone, the nearest within this distance
}

// Quotation looks up a place; nil if there is no zone. Source of the data: Agenzia Entrate - OMI.
func (c *Client) Quotation(ctx context.Context, p Place) (*Quotation, error) {
	q := url.Values{
		"latitude":  {strconv.FormatFloat(p.Latitude, 'f', -1, 64)},
		"longitude": {strconv.FormatFloat(p.Longitude, 'f', -1, 64)},
		"geometry":  {"none"},
	}
	if p.Geometry != "" {
		q.Set("geometry", p.Geometry)
	}
	if p.Semester != "" {
		q.Set("semester", p.Semester)
	}
	if p.Nearest > 0 {
		q.Set("nearest", strconv.Itoa(p.Nearest))
	}
	found, _, err := ask[*Quotation](ctx, c, &call{method: http.MethodGet, path: "/IT-omi", query: q})
	if err != nil || found == nil || found.OMIZone == "" {
		return nil, err
	}
	return found, nil
}

// Estimate applies the quotation of a zone to a property: not an appraisal.
type Estimate struct {
	Year             int           `json:"year"`
	Semester         int           `json:"semester"`
	Region           string        `json:"region"`
	ProvinceCode     string        `json:"province_code"`
	Municipality     string        `json:"municipality"`
	ISTATCode        string        `json:"istat_code"`
	CadastralCode    string        `json:"cadastral_code"`
	OMIZone          string        `json:"omi_zone"`
	Zone             QuotationZone `json:"zone"`
	PropertyType     string        `json:"property_type"`
	PropertyTypeCode int           `json:"property_type_code"`
	Condition        string        `json:"condition"`
	Surface          float64       `json:"surface"`
	SurfaceKind      string        `json:"surface_kind"` // gross or net
	Sale             *PriceRange   `json:"sale"`         // euro; nil: not quoted
	Rent             *PriceRange   `json:"rent"`         // euro a month; nil: not quoted
	Yield            *Yield        `json:"yield"`        // gross, per cent per year; nil if a side is not quoted
	Source           string        `json:"source"`
	Caveat           string        `json:"caveat"`
}

// Yield is from and to, in per cent.
type Yield struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Property is a query for an estimate.
type Property struct {
	Latitude, Longitude float64
	Zone                string  // such as H501/B12, instead of the coordinates
	Surface             float64 // square metres
	PropertyType        string  // name or code of the source; empty: the prevalent one
	Condition           string  // NORMALE, OTTIMO, SCADENTE; empty: the prevalent one
	Semester            string  // such as 2018/2; empty: the newest that has the zone
}

// Estimate applies the quotations of its zone to a property; nil if there is no zone, or the type
// is not quoted in it. Source of the data: Agenzia Entrate - OMI.
func (c *Client) Estimate(ctx context.Context, p Property) (*Estimate, error) {
	q := url.Values{"surface": {strconv.FormatFloat(p.Surface, 'f', -1, 64)}}
	if p.Zone != "" {
		q.Set("zone", p.Zone)
	} else {
		q.Set("latitude", strconv.FormatFloat(p.Latitude, 'f', -1, 64))
		q.Set("longitude", strconv.FormatFloat(p.Longitude, 'f', -1, 64))
	}
	for name, value := range map[string]string{"property_type": p.PropertyType, "condition": p.Condition, "semester": p.Semester} {
		if value != "" {
			q.Set(name, value)
		}
	}
	found, _, err := ask[*Estimate](ctx, c, &call{method: http.MethodGet, path: "/IT-omi/estimate", query: q})
	if err != nil || found == nil || found.OMIZone == "" {
		return nil, err
	}
	return found, nil
}
