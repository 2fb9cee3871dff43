package pkix

import "slices"

// QcStatements are a certificate's statements about its own qualification (RFC 3739, ETSI EN 319
// 412-5).
type QcStatements struct {
	Compliance bool     // id-etsi-qcs-QcCompliance
	SSCD       bool     // id-etsi-qcs-QcSSCD: the key is in a qualified device
	Types      []string // of QcType: "esign", "eseal", "web"
	Countries  []string // of QcCClegislation
}

const (
	oidQcCompliance = "0.4.0.1862.1.1"
	oidQcSSCD       = "0.4.0.1862.1.4"
	oidQcType       = "0.4.0.1862.1.6"
	oidQcCountry    = "0.4.0.1862.1.7"
)

var qcTypes = map[string]string{
	"0.4.0.1862.1.6.1": "esign",
	"0.4.0.1862.1.6.2": "eseal",
	"0.4.0.1862.1.6.3": "web",
}

func parseQcStatements(der []byte) (*QcStatements, bool) {
	q := new(QcStatements)
	ok := eachIn(der, func(in reader) bool {
		id, ok := in.take(tagOID)
		if ok {
			q.apply(parseOID(id.body), in)
		}
		return ok
	})
	if !ok {
		return nil, false
	}
	return q, true
}

func (q *QcStatements) apply(id string, info reader) {
	switch id {
	case oidQcCompliance:
		q.Compliance = true
	case oidQcSSCD:
		q.SSCD = true
	case oidQcType:
		ids, _ := parseOIDs(info)
		for _, id := range ids {
			if t := qcTypes[id]; t != "" {
				q.Types = append(q.Types, t)
			}
		}
	case oidQcCountry:
		each(info, func(e element) bool {
			s, _ := decodeString(e)
			q.Countries = append(q.Countries, s)
			return true
		})
	}
}

// HasType reports whether QcType includes the type.
func (q *QcStatements) HasType(t string) bool {
	return q != nil && slices.Contains(q.Types, t)
}
