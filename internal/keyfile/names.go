package keyfile

import (
	"encoding/asn1"
	"fmt"
)

// nameOf is an identifier with its name, where it has one that people know.
func nameOf(id asn1.ObjectIdentifier) string {
	if name, ok := names[id.String()]; ok {
		return fmt.Sprintf("%s (%s)", name, id)
	}
	return id.String()
}

// names of unsupported algorithms that occur in such files.
var names = map[string]string{
	"1.2.840.113549.1.5.1":      "pbeWithMD2AndDES-CBC",
	"1.2.840.113549.1.5.3":      "pbeWithMD5AndDES-CBC",
	"1.2.840.113549.1.5.4":      "pbeWithMD2AndRC2-CBC",
	"1.2.840.113549.1.5.6":      "pbeWithMD5AndRC2-CBC",
	"1.2.840.113549.1.5.10":     "pbeWithSHA1AndDES-CBC",
	"1.2.840.113549.1.5.11":     "pbeWithSHA1AndRC2-CBC",
	"1.3.14.3.2.7":              "DES-CBC",
	"1.2.840.113549.3.2":        "RC2-CBC",
	"1.2.840.113549.3.4":        "RC4",
	"1.2.392.200011.61.1.1.1.2": "Camellia-128-CBC",
	"1.2.392.200011.61.1.1.1.3": "Camellia-192-CBC",
	"1.2.392.200011.61.1.1.1.4": "Camellia-256-CBC",
	"1.2.410.200004.1.4":        "SEED-CBC",
	"1.2.410.200046.1.1.2":      "ARIA-128-CBC",
	"1.2.410.200046.1.1.12":     "ARIA-256-CBC",
	"2.16.840.1.101.3.4.1.6":    "AES-128-GCM",
	"2.16.840.1.101.3.4.1.46":   "AES-256-GCM",
	"1.2.643.2.2.21":            "GOST 28147-89",
	"1.2.643.7.1.1.2.2":         "GOST R 34.11-2012 256",
	"1.2.643.7.1.1.2.3":         "GOST R 34.11-2012 512",
	"1.2.840.113549.2.2":        "MD2",
	"1.2.840.113549.2.5":        "MD5",
	"1.2.840.113549.2.6":        "HMAC-MD5",
	"1.3.36.3.2.1":              "RIPEMD-160",
	"2.16.840.1.101.3.4.2.5":    "SHA-512/224",
	"2.16.840.1.101.3.4.2.6":    "SHA-512/256",
	"2.16.840.1.101.3.4.2.8":    "SHA3-256",
	"2.16.840.1.101.3.4.2.10":   "SHA3-512",
	"1.2.840.10040.4.1":         "DSA",
	"1.2.840.10045.2.1":         "EC",
	"1.2.840.113549.1.1.10":     "RSASSA-PSS",
	"1.3.101.113":               "Ed448",
	"1.3.132.0.10":              "secp256k1",
	"1.3.36.3.3.2.8.1.1.7":      "brainpoolP256r1",
	"1.3.36.3.3.2.8.1.1.11":     "brainpoolP384r1",
	"1.3.36.3.3.2.8.1.1.13":     "brainpoolP512r1",
}
