package http

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// langOf is the language that is asked for: Italian, or else English.
func langOf(tag string) string {
	if tag = strings.ToLower(tag); tag == "it" || strings.HasPrefix(tag, "it-") {
		return "it"
	}
	return "en"
}

func (c *call) lang() (string, error) {
	tag, err := c.text("lang")
	return langOf(tag), err
}

// info says what this service is (11.1).
func (s *Service) info(_ context.Context, c *call) (object, error) {
	lang, err := c.lang()
	if err != nil {
		return nil, err
	}
	specs := map[int]string{1: "1.0.4.0", 2: "2.0.0.2"}[c.version]
	o := object{
		"specs": specs, "name": s.Name, "logo": s.PublicURL + "/pages/csc-logo.png", "region": s.Region, "lang": lang, "description": words[lang].Service,
		"authType": []string{"external", "oauth2code"}, "oauth2": s.PublicURL + "/csc", "methods": methodsOf(c.version),
	}
	if c.version == 2 {
		o["asynchronousOperationMode"], o["validationInfo"] = false, false
		o["signAlgorithms"] = object{"algos": algorithmsFor("")}
		o["signature_formats"] = object{"formats": formatNames, "envelope_properties": envelopes()}
		o["conformance_levels"] = []string{"Ades-B-B", "Ades-B-T", "Ades-B-LT", "Ades-B-LTA"}
	}
	return o, nil
}

// issued are the states of a certificate that is there, usable or not.
var issued = map[enroll.State]string{enroll.Done: "valid", enroll.Suspended: "suspended", enroll.Expired: "expired", enroll.Revoked: "revoked"}

// statusOf a certificate, as the specification names it; empty: it was never
// issued.
func statusOf(c *enroll.Certificate, now time.Time) string {
	status := issued[c.State]
	if len(c.DER) == 0 {
		return ""
	}
	if status == "valid" && now.After(c.NotAfter) {
		return "expired"
	}
	return status
}

// find is the certificate that a request names.
func (s *Service) find(ctx context.Context, c *call) (*enroll.Certificate, error) {
	id, err := c.credentialID()
	if err != nil {
		return nil, err
	}
	return s.findID(ctx, c, id)
}

func (s *Service) findID(ctx context.Context, c *call, id string) (*enroll.Certificate, error) {
	cert, err := s.Certificates.Find(ctx, c.bearer.Account, id)
	if errors.Is(err, fault.NotFound) || err == nil && statusOf(cert, time.Now()) == "" {
		return nil, badCredential()
	}
	return cert, err
}

// listPage is how many credentials are listed at once, at most.
const listPage = 100

// list names the credentials that the bearer sees (11.4; of v1 11.4 too).
func (s *Service) list(ctx context.Context, c *call) (object, error) {
	if v, _ := c.get("userID"); v != nil {
		return nil, cscserver.Invalid("userID parameter MUST be null")
	}
	after, err := c.text("pageToken")
	if err == nil && after != "" && !store.IsID(after) {
		err = cscserver.Invalid("Invalid parameter pageToken")
	}
	if err != nil {
		return nil, err
	}
	most, onlyValid, show, err := c.listOptions()
	if err != nil {
		return nil, err
	}
	certificates, next, err := s.page(ctx, c, after, most, onlyValid)
	if err != nil {
		return nil, err
	}
	ids, infos := make([]string, 0, len(certificates)), make([]object, 0, len(certificates))
	for _, cert := range certificates {
		ids = append(ids, cert.ID)
		if show != nil {
			o, err := s.describe(c, cert, show)
			if err != nil {
				return nil, err
			}
			o["credentialID"] = cert.ID
			infos = append(infos, o)
		}
	}
	o := object{"credentialIDs": ids}
	if next != "" {
		o["nextPageToken"] = next
	}
	if show != nil {
		o["credentialInfos"] = infos
	}
	if onlyValid {
		o["onlyValid"] = true
	}
	return o, nil
}

func (c *call) listOptions() (most int, onlyValid bool, show *shown, err error) {
	most = listPage
	if v, _ := c.get("maxResults"); v != nil {
		if c.spool.Unmarshal(v, &most) != nil || most < 1 {
			return 0, false, nil, cscserver.Invalid("Invalid parameter maxResults")
		}
		most = min(most, listPage)
	}
	if c.version == 1 {
		return most, false, nil, nil
	}
	if onlyValid, err = c.flag("onlyValid"); err != nil {
		return 0, false, nil, err
	}
	infos, err := c.flag("credentialInfo")
	if err == nil && infos {
		show, err = c.shown()
	}
	return most, onlyValid, show, err
}

// page reads credentials, newest first, from behind the one that a page token
// names.
func (s *Service) page(ctx context.Context, c *call, after string, most int, onlyValid bool) (all []*enroll.Certificate, next string, err error) {
	now := time.Now()
	if id := c.bearer.Certificate; id != "" { // of the OAuth flow: the one that logged in
		cert, err := s.findID(ctx, c, id)
		if err != nil || onlyValid && statusOf(cert, now) != "valid" {
			return nil, "", err
		}
		return []*enroll.Certificate{cert}, "", nil
	}
	for page := (enroll.Filter{After: after, Limit: listPage}); ; {
		some, err := s.Certificates.List(ctx, c.bearer.Account, page)
		if err != nil {
			return nil, "", err
		}
		for _, cert := range some {
			status := statusOf(cert, now)
			page.After = cert.ID
			if status == "" || onlyValid && status != "valid" {
				continue
			}
			if len(all) == most {
				return all, all[most-1].ID, nil
			}
			all = append(all, cert)
		}
		if len(some) < listPage {
			return all, "", nil
		}
	}
}

// shown is what of a credential is asked for.
type shown struct {
	certificates string // none, single, chain
	details      bool
	lang         string
}

func (c *call) shown() (*shown, error) {
	kind, err := c.text("certificates")
	if err != nil {
		return nil, err
	}
	switch kind {
	case "":
		kind = "single"
	case "none", "single", "chain":
	default:
		return nil, cscserver.Invalid("Invalid parameter certificates")
	}
	details, err := c.flag("certInfo")
	if err != nil {
		return nil, err
	}
	if _, err := c.flag("authInfo"); err != nil { // always told
		return nil, err
	}
	lang, err := c.lang()
	return &shown{kind, details, lang}, err
}

// credential describes one (11.5).
func (s *Service) credential(ctx context.Context, c *call) (object, error) {
	cert, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	show, err := c.shown()
	if err != nil {
		return nil, err
	}
	return s.describe(c, cert, show)
}

// curves are the identifiers of the curves that keys may have.
var curves = map[string]string{"P256": "1.2.840.10045.3.1.7", "P384": "1.3.132.0.34"}

// generalizedTime is the form of times.
const generalizedTime = "20060102150405Z"

func (s *Service) describe(c *call, cert *enroll.Certificate, show *shown) (object, error) {
	parsed, err := x509.ParseCertificate(cert.DER)
	if err != nil {
		return nil, fmt.Errorf("csc: certificate: %w", err)
	}
	status := statusOf(cert, time.Now())
	key := object{"status": "disabled", "algo": algorithmsFor(keyType(cert.Algorithm))}
	if status == "valid" {
		key["status"] = "enabled"
	}
	switch pub := parsed.PublicKey.(type) {
	case *rsa.PublicKey:
		key["len"] = pub.N.BitLen()
	case *ecdsa.PublicKey:
		key["len"], key["curve"] = pub.Curve.Params().BitSize, curves[cert.Algorithm]
	}
	about := object{"status": status}
	switch show.certificates {
	case "single":
		about["certificates"] = [][]byte{cert.DER}
	case "chain":
		about["certificates"] = append([][]byte{cert.DER}, cert.Chain...)
	}
	if show.details {
		about["issuerDN"], about["subjectDN"], about["serialNumber"] = parsed.Issuer.String(), parsed.Subject.String(), fmt.Sprintf("%X", parsed.SerialNumber)
		about["validFrom"], about["validTo"] = parsed.NotBefore.UTC().Format(generalizedTime), parsed.NotAfter.UTC().Format(generalizedTime)
	}
	o := object{"description": words[show.lang].Kinds[cert.Kind], "key": key, "cert": about, "SCAL": "2", "multisign": cscserver.MaxSignatures, "lang": show.lang}
	s.describeAuth(c, o, s.Signing.NeedsOTP(cert), show.lang)
	return o, nil
}

// describeAuth says what the holder gives: in version 1 by members of their own
// names, in version 2 by authentication objects (8.3).
func (s *Service) describeAuth(c *call, o object, otp bool, lang string) {
	w := words[lang]
	if c.version == 1 {
		o["authMode"] = "explicit"
		o["PIN"] = object{"presence": "true", "format": "A", "label": "PIN", "description": w.PIN}
		o["OTP"] = object{"presence": "false"}
		if otp {
			o["OTP"] = object{"presence": "true", "type": "offline", "format": "N", "label": "OTP", "description": w.OTP}
		}
		return
	}
	expression, objects := "PIN", []object{{"type": "Password", "id": "PIN", "format": "A", "label": "PIN", "description": w.PIN}}
	if otp {
		expression = "PIN AND OTP"
		objects = append(objects, object{"type": "Password", "id": "OTP", "format": "N", "generator": "totp", "label": "OTP", "description": w.OTP})
	}
	o["auth"] = object{"mode": "explicit", "expression": expression, "objects": objects}
}
