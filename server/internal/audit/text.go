package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"

	"rogito.dev/rogito/internal/memo"
	"rogito.dev/rogito/server/internal/store"
)

// The texts of events are mostly words that every event of its kind has, and
// certificates that every signature with them has: six kilobytes a signature,
// of which one is its own. What is stored is the difference from a dictionary
// (S2, which costs 5 µs a text; entropy coding would save a fifth more and cost
// 25), both condensed. The digests are over the texts themselves, so a
// changed dictionary changes texts, and verification shows it.
//
// What begins with a brace is the text itself; any other begins with a mark, the
// digest of its dictionary where it has one, and the difference.
const (
	packedWith  = 1 + iota
	packedWords // without a dictionary of its own
)

// dictionaryID is the digest of what a dictionary has beyond the words that all
// events share; zero: nothing.
type dictionaryID [16]byte

// dictionaries are those in use. What one says follows from its id, whichever
// database it came from.
var dictionaries = newDictionaryCache()

func newDictionaryCache() *dictionaryCache {
	return &dictionaryCache{memo.Memo[dictionaryID, *s2.Dict]{Most: mostDictionaries}}
}

type dictionaryCache struct {
	memo.Memo[dictionaryID, *s2.Dict]
}

// mostDictionaries bounds them in a generation: one has 70 kB of tables.
const mostDictionaries = 64

// mostRecurring bounds what a dictionary holds beyond the common words: S2 reads
// the last 64 kB.
const mostRecurring = 48 << 10

func (c *dictionaryCache) get(id dictionaryID) *s2.Dict {
	d, _ := c.Get(id)
	return d
}

func (c *dictionaryCache) add(id dictionaryID, recurring []byte) *s2.Dict {
	words, _ := condense(append([]byte(commonWords), recurring...)) // of our own making, and without marks
	d := s2.MakeDictManual(append(words, signedAttributes...), 0)
	c.Put(id, d, 0)
	return d
}

// mostText bounds what is stored as a difference; a longer text is stored as it is.
const mostText = 64 << 20

// pack is a text in its stored form. One that cannot be condensed, which no JSON of ours is, is
// stored as it is.
func pack(text []byte, id dictionaryID, d *s2.Dict) []byte {
	condensed, ok := condense(text)
	if !ok || len(text) > mostText {
		return text
	}
	small := append(make([]byte, 0, len(condensed)/2+64), packedWith)
	small = append(small, id[:]...)
	if id == (dictionaryID{}) {
		small = append(small[:0], packedWords)
	}
	head := len(small)
	small = append(small, d.Encode(nil, condensed)...)
	if len(small) >= len(text) || len(small) == head {
		return text
	}
	return small
}

// split separates the parts of a stored text; ok is false for one that is stored as it is.
func split(stored []byte) (id dictionaryID, difference []byte, ok bool) {
	if len(stored) == 0 || stored[0] > packedWords {
		return id, nil, false
	}
	mark, difference := stored[0], stored[1:]
	if mark == packedWith {
		if len(difference) < len(id) {
			return id, nil, true // which nobody can read
		}
		id, difference = dictionaryID(difference[:len(id)]), difference[len(id):]
	}
	return id, difference, true
}

// Recurring is text that is in many events, such as certificates. It is kept
// once for all of them, and longer than any: it belongs to none of their records.
type Recurring struct {
	id   dictionaryID
	text []byte
}

// NewRecurring takes a text as it will be in the JSON of the events.
func NewRecurring(text []byte) *Recurring {
	sum := sha256.Sum256(text)
	r := &Recurring{text: text}
	if len(text) > 0 && len(text) <= mostRecurring {
		r.id = dictionaryID(sum[:len(r.id)])
	}
	return r
}

// dictionary is what the text of an event is packed with. The recurring text is
// stored with the first event that has it: in the transaction, by each process
// once.
func (l *Log) dictionary(ctx context.Context, tx *store.Tx, r *Recurring) (id dictionaryID, d *s2.Dict, err error) {
	var text []byte
	if r != nil {
		id, text = r.id, r.text
	}
	if d = dictionaries.get(id); d == nil {
		d = dictionaries.add(id, text)
	}
	if _, stored := l.stored.Load(id); stored || id == (dictionaryID{}) {
		return id, d, nil
	}
	tx.OnCommit(func() { l.stored.Store(id, true) })
	return id, d, tx.LaterOr(ctx, unwritten, `insert into audit_dictionaries (id, text) values ($1, $2) on conflict do nothing`, id[:], text)
}

// errText says that a stored text cannot be read, since it or its dictionary was changed.
var errText = errors.New("audit: a text cannot be read")

// unpack turns the stored texts of rows into those of their events. One that
// cannot be read becomes something that does not have its digest.
func (c *dictionaryCache) unpack(ctx context.Context, q store.Querier, list []*row) error {
	for _, r := range list {
		id, difference, ok := split(r.text)
		if !ok {
			if len(r.text) > 0 {
				r.setTexts(r.text)
			}
			continue
		}
		d := c.get(id)
		if d == nil {
			recurring, err := readDictionary(ctx, q, id)
			if err != nil && !errors.Is(err, errText) {
				return err
			}
			if err == nil {
				d = c.add(id, recurring)
			}
		}
		r.setTexts(undo(d, difference))
	}
	return nil
}

// unpackWords is unpack for a row whose text has no dictionary of its own.
func (r *row) unpackWords() {
	text := r.text
	if id, difference, ok := split(text); ok {
		var d *s2.Dict
		if id == (dictionaryID{}) {
			if d = dictionaries.get(id); d == nil {
				d = dictionaries.add(id, nil)
			}
		}
		text = undo(d, difference)
	}
	if len(text) > 0 {
		r.setTexts(text)
	}
}

// unreadable replaces a text that no longer exists.
var unreadable = []byte(`{"log":""}`)

// undo is the text that a difference was made of. How long it is the difference
// itself says, which anybody may have written: what is longer than any text of
// ours is not made room for.
func undo(d *s2.Dict, difference []byte) []byte {
	if n, err := s2.DecodedLen(difference); d == nil || err != nil || n > mostText {
		return unreadable
	}
	text, err := d.Decode(nil, difference)
	if err == nil {
		text, err = expand(text)
	}
	if err != nil {
		return unreadable
	}
	return text
}

// readDictionary reads what a dictionary has beyond the common words.
func readDictionary(ctx context.Context, q store.Querier, id dictionaryID) (recurring []byte, err error) {
	if id == (dictionaryID{}) {
		return nil, nil
	}
	err = q.QueryRow(ctx, `select text from audit_dictionaries where id = $1`, id[:]).Scan(&recurring)
	if errors.Is(err, store.ErrNoRows) {
		return nil, errText
	}
	if err != nil {
		return nil, fmt.Errorf("audit: read dictionary: %w", err)
	}
	if sum := sha256.Sum256(recurring); !bytes.Equal(sum[:len(id)], id[:]) {
		return nil, errText
	}
	return recurring, nil
}

// commonWords is what events share: one of each kind that a signature has. From the first
// release on it never changes: what is stored was made with it. Other words would be
// another mark.
const commonWords = `{"log":"ended in error 117: ","detail":{"ended":"` +
	`{"log":"approved by another token","detail":{"address":"127.0.0.1","token":"` +
	`{"log":"documents deleted at the end of their retention"}` +
	`{"log":"record removed at the end of its retention","detail":{"events":6}}` +
	`{"log":"record deleted by its owner","detail":{"events":` +
	`{"log":"signed document downloaded by 127.0.0.1","detail":{"address":"127.0.0.1","token":"` +
	`{"log":"callback delivered to ","detail":{"attempt":1,"status":200,"url":"https://` +
	`{"log":"certificate issued","detail":{"certificate":"","subject":"","issuer":"","notBefore":"","notAfter":"","serialNumber":"` +
	`{"log":"time-stamped at 2026-01-01 00:00:00.000+00:00","detail":{"imprint":"","index":0,"kind":"signature-time-stamp","serialNumber":"","token":"MII` +
	`{"log":"new signature request from 127.0.0.1","detail":{"address":"127.0.0.1","certificate":"","certificateType":"EU-QES_automatic","EU-QES_otp","EU-QES_eseal","documents":1,"options":{"asyncDocumentsValidation":false,"asyncSignature":false,"level":"B","hashAlgorithm":"SHA256","encryptInAnyCase":false,"page":1,"x":null,"y":null,"signerImage":null,"lockFields":null,"withSignatureField":false,"packaging":"","serialization":"flattened","detached":false,"counterSignature":false,"parallelSignature":true,"withoutSignatureExclusion":false,"XPathQuery":"","signElement":"","signatureId":"","withTimestamp":false,"timestampUrl":"","timestampUsername":"","timestampHashAlgo":"SHA256","timezone":"UTC","batch":false,"askedType":""},"requestId":"","terms":"","token":"` +
	`{"log":"input document 0 with MD5 and SHA-256 ","detail":{"id":"","index":0,"md5":"","mimetype":"application/pdf","sha256":"","size":` +
	`{"log":"validated document with MD5 and SHA-256 ","detail":{"id":"","index":0,"md5":"","size":1,"type":"pades","updatedAt":17` +
	`{"log":"private key used","detail":{"intent":"","digest":"","certificateSerialNumber":"","number":0,"certificate":"","credential":"","at":17` +
	`{"log":"signed with SHA256withRSA, level B","detail":{"algorithm":{"name":"SHA256withECDSA","key":"EC","digest":"SHA256","content":"SHA256","keySize":256,"oid":"1.2.840.10045.4.3.2"},` +
	`"algorithm":{"name":"SHA256withRSA","key":"RSA","digest":"SHA256","content":"SHA256","keySize":2048,"oid":"1.2.840.113549.1.1.11"},"certificates":["MII` +
	`"],"index":0,"level":"B","revocation":null,"toBeSigned":"MYHtMBgGCSqGSIb3DQEJAzELBgkqhkiG9w0BBwEwLwYJKoZIhvcNAQkEMSIEI","toBeSignedDigest":"","value":"` +
	`{"log":"signed document with MD5 and SHA-256 ","detail":{"id":"","index":0,"md5":"","mimetype":"application/pdf","sha256":"","size":1,"ended":"","uses":1}}`

// signedAttributes is how the signed attributes of a PAdES signature begin, and
// what surrounds the digests in them: content-type, message-digest,
// signing-certificate-v2 (RFC 5652, 11; RFC 5035, 3). It never changes either.
const signedAttributes = "\x30\x18\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03\x31\x0b\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01" +
	"\x30\x2f\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04\x31\x22\x04\x20" +
	"\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x02\x2f\x31"
