package omi

import "rogito.dev/rogito/internal/geo"

// AppendGeoJSON appends the answer as a GeoJSON Feature (RFC 7946). Without
// geometry, or without a perimeter, its geometry is null.
func (a Answer) AppendGeoJSON(b []byte, g Geometry) []byte {
	z := a.Zone
	b = append(b, `{"type":"Feature","id":`...)
	b = appendText(b, z.Municipality().CadastralCode+"/"+z.Code())
	b = append(b, `,"geometry":`...)
	b = z.appendGeometry(b, g)
	b = append(b, `,"properties":{`...)
	b = a.appendFields(b)
	return append(b, `}}`...)
}

// AppendFeatureCollection appends zones as a GeoJSON FeatureCollection.
func AppendFeatureCollection(b []byte, zones []Zone, g Geometry) []byte {
	b = append(b, `{"type":"FeatureCollection","features":[`...)
	for i, z := range zones {
		if i > 0 {
			b = append(b, ',')
		}
		b = Answer{Zone: z}.AppendGeoJSON(b, g)
	}
	return append(b, `]}`...)
}

func (z Zone) appendGeometry(b []byte, g Geometry) []byte {
	n := z.Polygons()
	switch {
	case g == NoGeometry || n == 0:
		return append(b, "null"...)
	case n == 1:
		b = append(b, `{"type":"Polygon","coordinates":`...)
		return append(z.appendCoordinates(b, 0, g), '}')
	}
	b = append(b, `{"type":"MultiPolygon","coordinates":[`...)
	for p := range n {
		if p > 0 {
			b = append(b, ',')
		}
		b = z.appendCoordinates(b, p, g)
	}
	return append(b, `]}`...)
}

func (z Zone) appendCoordinates(b []byte, polygon int, g Geometry) []byte {
	b = append(b, '[')
	z.eachRing(polygon, g, func(i int, ring []geo.Point) {
		if i > 0 {
			b = append(b, ',')
		}
		for k, p := range ring {
			if k == 0 {
				b = append(b, `[[`...)
			} else {
				b = append(b, `],[`...)
			}
			b = append(appendMicro(b, p.X), ',')
			b = appendMicro(b, p.Y)
		}
		b = append(b, `]]`...)
	})
	return append(b, ']')
}
