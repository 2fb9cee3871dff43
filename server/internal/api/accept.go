package api

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// Accepted lists the media types of Accept, the most wanted first (RFC 9110,
// section 12.5.1); equal ones stay in the order they came in. What has the
// quality 0 is not wanted at all.
func Accepted(header []string) []string {
	type wish struct {
		media   string
		quality float64
	}
	var list []wish
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		w := wish{media, 1}
		if q, ok := params["q"]; ok {
			if w.quality, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		if w.quality > 0 {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, func(a, b wish) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	media := make([]string, len(list))
	for i, w := range list {
		media[i] = w.media
	}
	return media
}
