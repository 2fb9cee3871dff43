package saml

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldsig"
)

// RedirectURL is where the Redirect binding (SAML Bindings 3.4) sends a
// message: deflated in the query, which is signed as it is written. param is
// SAMLRequest or SAMLResponse.
func (s Signer) RedirectURL(location, param string, message []byte, relay string) (string, error) {
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestCompression) // fails for unknown levels only
	if _, err := w.Write(message); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	query := param + "=" + url.QueryEscape(base64.StdEncoding.EncodeToString(packed.Bytes()))
	if relay != "" {
		query += "&RelayState=" + url.QueryEscape(relay)
	}
	query += "&SigAlg=" + url.QueryEscape(rsaSHA256)
	value, err := s.value([]byte(query))
	if err != nil {
		return "", err
	}
	query += "&Signature=" + url.QueryEscape(base64.StdEncoding.EncodeToString(value))
	if strings.Contains(location, "?") {
		return location + "&" + query, nil
	}
	return location + "?" + query, nil
}

// Inflate takes the value of a query parameter of the Redirect binding to its
// octets.
func Inflate(field string) ([]byte, error) {
	packed, err := Decode(field)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxMessage+1))
	if err != nil || len(b) == 0 || len(b) > MaxMessage {
		return nil, errors.New("the message cannot be unpacked")
	}
	return b, nil
}

// CheckQuery checks the signature of a query as it was received, octet by
// octet: encoding it again may give other bytes. Each parameter of the
// binding may occur once.
func CheckQuery(rawQuery, param string, certs []*pkix.Certificate) error {
	raw := map[string]string{}
	for piece := range strings.SplitSeq(rawQuery, "&") {
		name, value, _ := strings.Cut(piece, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			return unsigned("query")
		}
		switch plain {
		case "SAMLRequest", "SAMLResponse", "RelayState", "SigAlg", "Signature":
			if _, twice := raw[plain]; twice {
				return unsigned("a parameter of the query stands there twice")
			}
			raw[plain] = value
		}
	}
	signed := param + "=" + raw[param]
	if relay, ok := raw["RelayState"]; ok {
		signed += "&RelayState=" + relay
	}
	signed += "&SigAlg=" + raw["SigAlg"]
	alg, err1 := url.QueryUnescape(raw["SigAlg"])
	text, err2 := url.QueryUnescape(raw["Signature"])
	value, err3 := xmldsig.DecodeBase64(text)
	scheme, ok := xmldsig.SchemeByURI(alg)
	if errors.Join(err1, err2, err3) != nil || !ok || !modern(scheme.Hash) || len(value) == 0 {
		return unsigned("query")
	}
	der := scheme
	der.Plain = false // some write ECDSA values as DER here
	for _, c := range certs {
		if strong(c.PublicKey) && (scheme.Verify(c.PublicKey, []byte(signed), value) == nil || der.Verify(c.PublicKey, []byte(signed), value) == nil) {
			return nil
		}
	}
	return unsigned("by none of the keys")
}
