package http

import (
	"crypto"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/store"
)

// get is a parameter by one of its names; absent is as good as null.
func (c *call) get(names ...string) (v jsontext.Value, name string) {
	for _, name := range names {
		if v := c.members[name]; v != nil && v.Kind() != 'n' {
			return v, name
		}
	}
	return nil, names[0]
}

// text is a string; the empty one where there is none.
func (c *call) text(names ...string) (string, error) {
	v, name := c.get(names...)
	var s string
	if v != nil && (v.Kind() != '"' || c.spool.Unmarshal(v, &s) != nil) {
		return "", missing("string", name)
	}
	return s, nil
}

// must is a string that has to be there.
func (c *call) must(names ...string) (string, error) {
	s, err := c.text(names...)
	if err == nil && s == "" {
		err = missing("string", names[0])
	}
	return s, err
}

func missing(kind, name string) error {
	return cscserver.Invalid("Missing (or invalid type) %s parameter %s", kind, name)
}

func (c *call) flag(name string) (b bool, err error) {
	v, _ := c.get(name)
	if v != nil && c.spool.Unmarshal(v, &b) != nil {
		return false, missing("boolean", name)
	}
	return b, nil
}

// texts are the strings of an array; ok says that there is one.
func (c *call) texts(names ...string) (list []string, ok bool, err error) {
	v, name := c.get(names...)
	if v == nil {
		return nil, false, nil
	}
	if v.Kind() != '[' || c.spool.Unmarshal(v, &list) != nil {
		return nil, false, missing("array", name)
	}
	return list, true, nil
}

// own is the name of a parameter in the version that is spoken, first, and in the
// other one.
func (c *call) own(v1, v2 string) []string {
	if c.version == 1 {
		return []string{v1, v2}
	}
	return []string{v2, v1}
}

// hashes are the digests of a request, and the identifier of their function; that
// may be empty.
func (c *call) hashes() (all [][]byte, oid string, err error) {
	names := c.own("hash", "hashes")
	if one, _ := c.get(names[0]); one != nil {
		if two, _ := c.get(names[1]); two != nil {
			return nil, "", cscserver.Invalid("hash and hashes are two names of one parameter")
		}
	}
	list, ok, err := c.texts(names...)
	switch {
	case err != nil:
		return nil, "", err
	case !ok:
		return nil, "", missing("array", names[0])
	case len(list) == 0:
		return nil, "", cscserver.Invalid("Empty hash array")
	case len(list) > cscserver.MaxSignatures:
		return nil, "", cscserver.Invalid("Numbers of signatures is too high")
	}
	for _, text := range list {
		h, ok := cscserver.DecodeHash(text)
		if !ok {
			return nil, "", cscserver.Invalid("Invalid Base64 hash string parameter")
		}
		all = append(all, h)
	}
	names = c.own("hashAlgo", "hashAlgorithmOID")
	oid, err = c.text(names...)
	if err == nil && oid != "" && cscserver.HashSize(oid) == 0 {
		err = cscserver.Invalid("Invalid parameter %s", names[0])
	}
	return all, oid, err
}

// credentialID is the certificate that a request names, if the bearer's token may see it.
func (c *call) credentialID() (string, error) {
	id, err := c.must("credentialID")
	if err != nil {
		return "", err
	}
	if !store.IsID(id) || !c.bearer.Sees(id) {
		return "", badCredential()
	}
	return id, nil
}

func badCredential() error { return cscserver.Invalid("Invalid parameter credentialID") }

// algorithm is a signature algorithm.
type algorithm struct {
	oid  string
	key  string // RSA, EC
	hash crypto.Hash
}

// algorithms that keys are used with. Those of hash zero name the key alone, and
// need the hash beside them.
var algorithms = []algorithm{
	{"1.2.840.113549.1.1.11", "RSA", crypto.SHA256},
	{"1.2.840.113549.1.1.12", "RSA", crypto.SHA384},
	{"1.2.840.113549.1.1.13", "RSA", crypto.SHA512},
	{"1.2.840.10045.4.3.2", "EC", crypto.SHA256},
	{"1.2.840.10045.4.3.3", "EC", crypto.SHA384},
	{"1.2.840.10045.4.3.4", "EC", crypto.SHA512},
	{"1.2.840.113549.1.1.1", "RSA", 0},
	{"1.2.840.10045.2.1", "EC", 0},
}

// algorithmsFor are the identifiers for a key, each with its hash; of every key
// where none is named.
func algorithmsFor(key string) (oids []string) {
	for _, a := range algorithms {
		if a.hash != 0 && (key == "" || a.key == key) {
			oids = append(oids, a.oid)
		}
	}
	return oids
}

// hashNames are the hash functions as options of a signature name them, by the
// length of their digests.
var hashNames = map[int]string{32: "SHA256", 48: "SHA384", 64: "SHA512"}

// hashFor judges signAlgo and the hash beside it for a key of ours, and returns the
// length of the digests; zero where neither names it.
func hashFor(key, signAlgo, hashOID, hashName string) (int, error) {
	size := cscserver.HashSize(hashOID)
	if hashOID != "" && size == 0 {
		return 0, cscserver.Invalid("Invalid parameter %s", hashName)
	}
	for _, a := range algorithms {
		switch {
		case a.oid != signAlgo:
			continue
		case a.key != key:
			return 0, cscserver.Invalid("Invalid parameter signAlgo")
		case a.hash == 0:
			return size, nil
		case size != 0 && size != a.hash.Size():
			return 0, cscserver.Invalid("String parameter %s contradicts with signAlgo parameter", hashName)
		}
		return a.hash.Size(), nil
	}
	return 0, cscserver.Invalid("Invalid parameter signAlgo")
}

// keyType is RSA or EC.
func keyType(algorithm string) string {
	if strings.HasPrefix(algorithm, "RSA") {
		return "RSA"
	}
	return "EC"
}
