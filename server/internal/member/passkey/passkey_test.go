package passkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
)

// device is an authenticator in memory.
type device struct {
	key  *ecdsa.PrivateKey
	id   []byte
	user string
}

func newDevice(t testing.TB, user string) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return &device{key, id, user}
}

const (
	present, verified, attested = 1, 4, 64
)

func (d *device) data(rp string, flags byte, more []byte) []byte {
	sum := sha256.Sum256([]byte(rp))
	return append(binary.BigEndian.AppendUint32(append(sum[:], flags), 0), more...)
}

func client(kind string, challenge []byte, origin string) []byte {
	b, _ := json.Marshal(m{"type": kind, "challenge": encode(challenge), "origin": origin, "crossOrigin": false})
	return b
}

// create answers a creation.
func (d *device) create(p Party, challenge []byte, flags byte) []byte {
	point, _ := d.key.PublicKey.Bytes() // 4, x, y
	cose := append(append(append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, point[1:33]...), 0x22, 0x58, 32), point[33:]...)
	more := append(append(make([]byte, 16), 0, byte(len(d.id))), d.id...)
	auth := d.data(p.ID, flags|attested, append(more, cose...))
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(auth)))
	b, _ := json.Marshal(m{
		"id": encode(d.id), "rawId": encode(d.id), "type": "public-key", "clientExtensionResults": m{},
		"response": m{"clientDataJSON": encode(client("webauthn.create", challenge, p.Origin)), "attestationObject": encode(append(object, auth...))},
	})
	return b
}

// get answers a request.
func (d *device) get(p Party, challenge []byte, flags byte) []byte {
	auth, data := d.data(p.ID, flags, nil), client("webauthn.get", challenge, p.Origin)
	sum := sha256.Sum256(data)
	digest := sha256.Sum256(append(auth, sum[:]...))
	sig, _ := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	b, _ := json.Marshal(m{
		"id": encode(d.id), "rawId": encode(d.id), "type": "public-key", "clientExtensionResults": m{},
		"response": m{"clientDataJSON": encode(data), "authenticatorData": encode(auth), "signature": encode(sig), "userHandle": encode([]byte(d.user))},
	})
	return b
}

var here = Party{ID: "sign.example", Origin: "https://sign.example", Name: "Sign"}

// A passkey that was made here logs its user in, here, once it knows them; nothing else
// does.
func TestPasskey(t *testing.T) {
	challenge, other := []byte("0123456789abcdef0123456789abcdef01234567"), []byte("76543210fedcba9876543210fedcba9876543210")
	d := newDevice(t, "ada")
	u := User{ID: "ada", Name: "ada@example.org"}
	elsewhere := Party{ID: "sign.example", Origin: "https://evil.sign.example"}
	for name, response := range map[string][]byte{
		"another challenge": d.create(here, other, present|verified), "nobody verified": d.create(here, challenge, present), "another origin": d.create(elsewhere, challenge, present|verified),
		"another site": d.create(Party{ID: "evil.example", Origin: here.Origin}, challenge, present|verified), "a request's answer": d.get(here, challenge, present|verified), "nothing": nil, "no JSON": []byte("{"),
	} {
		if key, err := here.Register(u, challenge, response); err == nil {
			t.Errorf("%s was registered: %s", name, key)
		}
	}
	key, err := here.Register(u, challenge, d.create(here, challenge, present|verified))
	if err != nil {
		t.Fatal(err)
	}
	u.Keys = []Key{key}
	find := func(id string) (*User, error) {
		if id != "ada" {
			return nil, errors.New("nobody")
		}
		return &u, nil
	}
	good := d.get(here, challenge, present|verified)
	if got, err := Challenge(good); err != nil || string(got) != string(challenge) {
		t.Errorf("it answers %q: %v", got, err)
	}
	if err := here.Verify(challenge, good, find); err != nil {
		t.Fatal(err)
	}
	stranger, liar := newDevice(t, "ada"), newDevice(t, "ugo")
	same := newDevice(t, "ada")
	same.id = d.id
	for name, response := range map[string][]byte{
		"another challenge": d.get(here, other, present|verified), "nobody verified": d.get(here, challenge, present), "nobody present": d.get(here, challenge, verified),
		"another origin": d.get(elsewhere, challenge, present|verified), "another site": d.get(Party{ID: "evil.example", Origin: here.Origin}, challenge, present|verified),
		"a passkey that is not ada's": stranger.get(here, challenge, present|verified), "nobody's": liar.get(here, challenge, present|verified), "another key of the same name": same.get(here, challenge, present|verified),
		"a creation": d.create(here, challenge, present|verified), "nothing": nil,
	} {
		if err := here.Verify(challenge, response, find); err == nil {
			t.Errorf("%s was let in", name)
		}
	}
}

// What a browser sends is untrusted.
func FuzzResponse(f *testing.F) {
	challenge := []byte("0123456789abcdef0123456789abcdef01234567")
	d := newDevice(f, "ada")
	f.Add(d.create(here, challenge, present|verified))
	f.Add(d.get(here, challenge, present|verified))
	stranger := newDevice(f, "ada")
	key, err := here.Register(User{ID: "ada"}, challenge, stranger.create(here, challenge, present|verified))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Challenge(b)
		_, _ = here.Register(User{ID: "ada"}, challenge, b)
		if here.Verify(challenge, b, func(string) (*User, error) { return &User{ID: "ada", Keys: []Key{key}}, nil }) == nil {
			t.Error("let in without the key")
		}
	})
}
