package quotations

import "rogito.dev/rogito/omi"

// The types here describe what the encoders of package omi write; the tests hold
// both to the same shape.

// Quotation is the answer to a lookup; an empty object where no zone is.
type Quotation struct {
	Year          int            `json:"year,omitempty" example:"2018" doc:"of the publication"`
	Semester      int            `json:"semester,omitempty" enum:"1,2" doc:"of the publication"`
	Location      *latLng        `json:"location,omitempty" doc:"the place that was asked for"`
	Distance      float64        `json:"distance,omitempty" doc:"metres to the zone, where the place is outside and the nearest one was asked for"`
	Region        string         `json:"region,omitempty" example:"LOMBARDIA" doc:"in capitals, as the source has it"`
	ProvinceCode  string         `json:"province_code,omitempty" example:"MI" doc:"two letters"`
	Municipality  string         `json:"municipality,omitempty" example:"MILANO" doc:"name, in capitals"`
	ISTATCode     string         `json:"istat_code,omitempty" example:"015146" doc:"empty where the source has none"`
	CadastralCode string         `json:"cadastral_code,omitempty" example:"F205" doc:"Belfiore code of the municipality"`
	OMIZone       string         `json:"omi_zone,omitempty" example:"B12" doc:"code of the zone in its municipality"`
	Zone          *zoneDetails   `json:"zone,omitempty" doc:"what the source says of the zone"`
	Values        []valuation    `json:"values,omitempty" doc:"one entry for each property type and condition"`
	Geometry      []polygonRings `json:"geometry,omitempty" doc:"absent with geometry=none"`
}

type latLng struct {
	Lat float64 `json:"lat" doc:"degrees north"`
	Lng float64 `json:"lng" doc:"degrees east"`
}

type zoneDetails struct {
	Description           string  `json:"description" doc:"streets and places"`
	PrevalentPropertyType string  `json:"prevalent_property_type" doc:"as the source names it"`
	Band                  string  `json:"band" doc:"B central, C semi-central, D peripheral, E suburban, R rural"`
	PrevalentCondition    *string `json:"prevalent_condition" doc:"as the source names it; null where it says none"`
	Microzone             *int    `json:"microzone" doc:"cadastral microzone; null where there is none"`
}

type valuation struct {
	PropertyType     string      `json:"property_type" example:"Abitazioni civili" doc:"as the source names it"`
	PropertyTypeCode int         `json:"property_type_code" example:"20" doc:"of the source"`
	Condition        string      `json:"condition" example:"NORMALE" doc:"OTTIMO, NORMALE or SCADENTE"`
	Prevalent        bool        `json:"prevalent" doc:"the condition is the prevalent one of the type in the zone"`
	Sale             *priceRange `json:"sale" doc:"euro per square metre; null: not quoted"`
	Rent             *priceRange `json:"rent" doc:"euro per square metre and month; null: not quoted"`
}

type priceRange struct {
	Min     float64 `json:"min" doc:"lowest"`
	Max     float64 `json:"max" doc:"highest"`
	Surface *string `json:"surface" enum:"gross,net" doc:"what the square metres measure"`
}

type polygonRings struct {
	Exterior []latLng   `json:"exterior" doc:"a closed ring: the last point is the first"`
	Holes    [][]latLng `json:"holes" doc:"closed rings"`
}

type quotationHistory struct {
	Location latLng          `json:"location" doc:"the place that was asked for"`
	History  []pastQuotation `json:"history" doc:"the newest first"`
}

type pastQuotation struct {
	Quotation
	MatchedBy string `json:"matched_by" enum:"perimeter,zone" doc:"perimeter: the place lies in this zone; zone: the semester has no perimeters of the municipality, and this zone has the code and the description of the one at the place in the nearest semester that has them"`
}

type batchResult struct {
	ID      any       `json:"id" doc:"as it was given"`
	Found   bool      `json:"found" doc:"a zone is there"`
	Result  Quotation `json:"result" doc:"as a single lookup answers; empty where nothing was found"`
	Error   *int      `json:"error" doc:"code of a point that is wrong; else null"`
	Message string    `json:"message" doc:"what is wrong with it, or that there is no zone"`
}

// Feature describes a zone as GeoJSON (RFC 7946).
type Feature struct {
	Type       string         `json:"type" enum:"Feature" doc:"Feature"`
	Geometry   map[string]any `json:"geometry" nullable:"true" doc:"the perimeter, a MultiPolygon; null where none was asked for or there is no zone"`
	Properties map[string]any `json:"properties" doc:"what the answer in JSON has, without the perimeter"`
}

// omiQuery describes the query of GET /IT-omi.
type omiQuery struct {
	Latitude  float64 `query:"latitude" required:"true" minimum:"-90" maximum:"90" example:"45.4642" doc:"degrees north; also lat"`
	Longitude float64 `query:"longitude" required:"true" minimum:"-180" maximum:"180" example:"9.19" doc:"degrees east; also lng"`
	Semester  string  `query:"semester" example:"2018/2" doc:"a loaded semester; by default the newest, from the active one backwards, that has a zone at the place"`
	Geometry  string  `query:"geometry" enum:"full,simplified,none" default:"full" doc:"how much of the perimeter"`
	Format    string  `query:"format" enum:"json,geojson" default:"json" doc:"geojson: a bare Feature"`
	Nearest   float64 `query:"nearest" minimum:"0" maximum:"1000" doc:"metres: outside every zone, answer the nearest within them"`
	Strict    bool    `query:"strict" doc:"look into the active publication only, not into older ones where it lacks the place"`
}

type historyQuery struct {
	Latitude  float64 `query:"latitude" required:"true" minimum:"-90" maximum:"90" doc:"degrees north; also lat"`
	Longitude float64 `query:"longitude" required:"true" minimum:"-180" maximum:"180" doc:"degrees east; also lng"`
	Geometry  string  `query:"geometry" enum:"full,simplified,none" default:"none" doc:"how much of the perimeters"`
}

// estimateQuery describes the query of GET /IT-omi/estimate.
type estimateQuery struct {
	Latitude     float64 `query:"latitude" minimum:"-90" maximum:"90" example:"45.4642" doc:"degrees north; also lat"`
	Longitude    float64 `query:"longitude" minimum:"-180" maximum:"180" example:"9.19" doc:"degrees east; also lng"`
	Zone         string  `query:"zone" example:"H501/B12" doc:"cadastral code and zone code, in place of the coordinates"`
	Surface      float64 `query:"surface" required:"true" minimum:"1" maximum:"1000000" example:"85" doc:"square metres, of the kind that the quotation counts: surface_kind says which"`
	PropertyType string  `query:"property_type" example:"Abitazioni civili" doc:"name or code of the source; by default the prevalent one of the zone"`
	Condition    string  `query:"condition" enum:"NORMALE,OTTIMO,SCADENTE" doc:"by default the prevalent one"`
	Semester     string  `query:"semester" example:"2018/2" doc:"a loaded semester; by default the newest, from the active one backwards, that has the zone"`
	Strict       bool    `query:"strict" doc:"look into the active publication only, not into older ones where it lacks the place"`
}

// propertyEstimate is an estimate; an empty object where no zone is, or the type is not
// quoted there.
type propertyEstimate struct {
	Year             int          `json:"year,omitempty" example:"2018" doc:"of the publication"`
	Semester         int          `json:"semester,omitempty" enum:"1,2" doc:"of the publication"`
	Region           string       `json:"region,omitempty" doc:"in capitals, as the source has it"`
	ProvinceCode     string       `json:"province_code,omitempty" doc:"two letters"`
	Municipality     string       `json:"municipality,omitempty" example:"ROMA" doc:"name, in capitals"`
	ISTATCode        string       `json:"istat_code,omitempty" doc:"empty where the source has none"`
	CadastralCode    string       `json:"cadastral_code,omitempty" example:"H501" doc:"Belfiore code of the municipality"`
	OMIZone          string       `json:"omi_zone,omitempty" example:"B12" doc:"code of the zone in its municipality"`
	Zone             *zoneDetails `json:"zone,omitempty" doc:"what the source says of the zone"`
	PropertyType     string       `json:"property_type,omitempty" example:"Abitazioni civili" doc:"as the source names it"`
	PropertyTypeCode int          `json:"property_type_code,omitempty" example:"20" doc:"of the source"`
	Condition        string       `json:"condition,omitempty" example:"NORMALE" doc:"OTTIMO, NORMALE or SCADENTE"`
	Surface          float64      `json:"surface,omitempty" example:"85" doc:"square metres, as asked"`
	SurfaceKind      *string      `json:"surface_kind,omitempty" nullable:"true" enum:"gross,net" doc:"what the square metres of the sale measure; of the rent where no sale is quoted"`
	Sale             *priceRange  `json:"sale,omitempty" null:"true" doc:"euro for the whole surface; null: not quoted"`
	Rent             *priceRange  `json:"rent,omitempty" null:"true" doc:"euro a month for the whole surface; null: not quoted"`
	Yield            *yieldRange  `json:"yield,omitempty" null:"true" doc:"gross rent of a year in per cent of the price: lowest rent by highest price, highest by lowest; null where a side is not quoted"`
	Source           string       `json:"source,omitempty" doc:"of the data: has to be named where it is shown"`
	Caveat           string       `json:"caveat,omitempty" doc:"what an estimate is not"`
}

type yieldRange struct {
	Min float64 `json:"min" doc:"lowest"`
	Max float64 `json:"max" doc:"highest"`
}

type zoneQuery struct {
	CadastralCode string `path:"cadastral_code" example:"F205" doc:"cadastral (Belfiore) code of the municipality"`
	OMIZone       string `path:"omi_zone" example:"B12" doc:"code of the zone"`
	Semester      string `query:"semester" example:"2018/2" doc:"a loaded semester; the active one by default"`
	Geometry      string `query:"geometry" enum:"full,simplified,none" default:"full" doc:"how much of the perimeter"`
	Format        string `query:"format" enum:"json,geojson" default:"json" doc:"geojson: a bare Feature"`
}

type zonesQuery struct {
	BBox     string `query:"bbox" required:"true" example:"9.1,45.4,9.3,45.5" doc:"minLng,minLat,maxLng,maxLat; at most one square degree"`
	Semester string `query:"semester" example:"2018/2" doc:"a loaded semester; the active one by default"`
	Geometry string `query:"geometry" enum:"full,simplified,none" default:"full" doc:"how much of the perimeters"`
}

type municipality struct {
	CadastralCode string `json:"cadastral_code" doc:"Belfiore code of the municipality"`
	Municipality  string `json:"municipality" doc:"name, in capitals"`
	ProvinceCode  string `json:"province_code" doc:"two letters"`
	Region        string `json:"region" doc:"in capitals, as the source has it"`
	ISTATCode     string `json:"istat_code" doc:"empty where the source has none"`
	ZoneCount     int    `json:"zone_count" doc:"zones of the municipality"`
}

func municipalityOf(m omi.Municipality, zones int) municipality {
	return municipality{
		CadastralCode: m.CadastralCode, Municipality: m.Name, ProvinceCode: m.Province,
		Region: m.Region, ISTATCode: m.ISTATCode, ZoneCount: zones,
	}
}

type municipalityZones struct {
	municipality
	Zones []zoneSummary `json:"zones" doc:"in the order of their codes"`
}

type zoneSummary struct {
	OMIZone     string      `json:"omi_zone" doc:"code of the zone in its municipality"`
	Zone        zoneDetails `json:"zone" doc:"what the source says of it"`
	ValueCount  int         `json:"value_count" doc:"its quotations"`
	HasGeometry bool        `json:"has_geometry" doc:"it has a perimeter"`
}

func zoneSummaryOf(z omi.Zone) zoneSummary {
	s := zoneSummary{OMIZone: z.Code(), ValueCount: z.Values(), HasGeometry: z.Polygons() > 0}
	s.Zone = zoneDetails{Description: z.Description(), PrevalentPropertyType: z.PrevalentType(), Band: z.Band()}
	if c := z.PrevalentCondition(); c != "" {
		s.Zone.PrevalentCondition = &c
	}
	if m := z.Microzone(); m > 0 {
		s.Zone.Microzone = &m
	}
	return s
}

type publicationWire struct {
	Semester       string     `json:"semester" example:"2018/2" doc:"that it is of"`
	ProcessedAt    *string    `json:"processedAt" example:"2019-04-27" doc:"the day the Agenzia processed it"`
	Municipalities int        `json:"municipalities" doc:"in it"`
	Zones          int        `json:"zones" doc:"in it"`
	Values         int        `json:"values" doc:"in it"`
	Active         bool       `json:"active" doc:"answers where no semester is asked for"`
	Sample         bool       `json:"sample" doc:"made up; steps aside when anything is imported"`
	Report         omi.Report `json:"report" doc:"what the import found"`
}
