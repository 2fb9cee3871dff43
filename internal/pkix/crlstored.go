package pkix

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
)

// stored is a list outside memory, with the position of its parts.
type stored struct {
	src       io.ReaderAt
	size      int64
	tbs, list span
}

// span is a part of a source.
type span struct{ at, n int64 }

// Bounds on a stored list except for its entries.
const (
	maxHead   = 1 << 20   // names, times, extensions
	maxTail   = 64 << 10  // algorithm and signature
	maxEntry  = 64 << 10  // one entry
	scanPiece = 256 << 10 // read at a time
)

// OpenCRL parses a list without loading it: its entries are scanned in the source for each
// certificate. The source must not change.
func OpenCRL(src io.ReaderAt, size int64) (*CRL, error) {
	c := &CRL{stored: &stored{src: src, size: size}}
	if err := c.open(); err != nil {
		return nil, &ades.MalformedError{Format: "CRL", Where: "CertificateList", Err: err}
	}
	c.issuerKey = c.Issuer.Canonical()
	return c, nil
}

// Size of the encoded list.
func (c *CRL) Size() int64 {
	if c.stored != nil {
		return c.stored.size
	}
	return int64(len(c.Raw))
}

// Bytes is the encoded list, for embedding it in a document.
func (c *CRL) Bytes() ([]byte, error) {
	if c.stored == nil {
		return c.Raw, nil
	}
	return c.stored.read(span{0, c.stored.size}, c.stored.size)
}

func (c *CRL) open() error {
	s := c.stored
	tag, whole, err := s.head(0, s.size)
	if err != nil || tag != tagSequence {
		return orDER(err)
	}
	s.size = whole.at + whole.n // bytes behind the list are ignored
	end := s.size
	if tag, s.tbs, err = s.head(whole.at, end); err != nil || tag != tagSequence {
		return orDER(err)
	}
	after := s.tbs.at + s.tbs.n
	b, err := s.read(span{after, end - after}, maxTail)
	if err != nil {
		return err
	}
	tail := reader(b)
	if err := c.readSignature(&tail); err != nil {
		return err
	}
	small, err := s.withoutEntries()
	if err != nil {
		return err
	}
	s.tbs = span{whole.at, after - whole.at} // the signed octets, with tag and length
	return c.parseTBS(small)
}

func orDER(err error) error {
	if err != nil {
		return err
	}
	return errDER
}

// withoutEntries reads the TBSCertList except for revokedCertificates, the sequence right after
// thisUpdate and nextUpdate, and records where that is.
func (s *stored) withoutEntries() ([]byte, error) {
	var small []byte
	times := 0 // number of times just before
	end := s.tbs.at + s.tbs.n
	for at := s.tbs.at; at < end; {
		tag, body, err := s.head(at, end)
		if err != nil {
			return nil, err
		}
		next := body.at + body.n
		if tag == tagSequence && (times == 1 || times == 2) {
			s.list, times = body, -1
			at = next
			continue
		}
		part, err := s.read(span{at, next - at}, maxHead-int64(len(small)))
		if err != nil {
			return nil, err
		}
		small = append(small, part...)
		switch {
		case times < 0:
		case tag == tagUTCTime || tag == tagGeneralizedTime:
			times++
		case times > 0:
			times = -1
		}
		at = next
	}
	return small, nil
}

// head reads tag and length at an offset and returns where the content is; it must end before end.
func (s *stored) head(at, end int64) (tag byte, body span, err error) {
	b, err := s.read(span{at, min(6, end-at)}, 6)
	if err != nil {
		return 0, span{}, err
	}
	if len(b) < 2 || b[0]&0x1f == 0x1f {
		return 0, span{}, errDER
	}
	n, head := int64(b[1]), int64(2)
	if n >= 0x80 {
		octets := n & 0x7f
		if octets == 0 || octets > 4 || int64(len(b)) < 2+octets {
			return 0, span{}, errDER
		}
		n = 0
		for _, c := range b[2 : 2+octets] {
			n = n<<8 | int64(c)
		}
		head += octets
	}
	if n > end-at-head {
		return 0, span{}, errDER
	}
	return b[0], span{at + head, n}, nil
}

func (s *stored) read(p span, most int64) ([]byte, error) {
	if p.n > most {
		return nil, errors.New("a part of the list is too large")
	}
	b := make([]byte, p.n)
	return b, s.fill(b, p.at)
}

// fill reads all of b or fails: a missing piece must not look like one without entries.
func (s *stored) fill(b []byte, at int64) error {
	if n, err := s.src.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read stored list: %w", err)
	}
	return nil
}

// contains searches the entries for octets.
func (s *stored) contains(octets []byte) (bool, error) {
	buf := make([]byte, scanPiece)
	for at, end := s.list.at, s.list.at+s.list.n; at < end; {
		piece := buf[:min(int64(len(buf)), end-at)]
		if err := s.fill(piece, at); err != nil {
			return false, err
		}
		if bytes.Contains(piece, octets) {
			return true, nil
		}
		if at += int64(len(piece)); at < end {
			at -= int64(len(octets) - 1) // they may be split between two pieces
		}
	}
	return false, nil
}

// each visits the entries, reading the list in pieces.
func (s *stored) each(visit func(body []byte) error) error {
	buf := make([]byte, 0, scanPiece)
	for at, end := s.list.at, s.list.at+s.list.n; at < end || len(buf) > 0; {
		more := min(int64(cap(buf)-len(buf)), end-at)
		if more == 0 {
			return errDER // an entry beyond the end of its list
		}
		have := len(buf)
		buf = buf[:have+int(more)]
		if err := s.fill(buf[have:], at); err != nil {
			return err
		}
		at += more
		rest := reader(buf)
		for !rest.empty() {
			e, ok := rest.take(tagSequence)
			if !ok {
				break
			}
			if err := visit(e.body); err != nil {
				return err
			}
		}
		if len(rest) > maxEntry {
			return errDER
		}
		buf = buf[:copy(buf, rest)]
	}
	return nil
}

// checkStored checks the signature over a list that is hashed while reading it.
func (c *CRL) checkStored(pub any) error {
	s, err := SchemeOf(c.SignatureAlgorithm, 0)
	if err != nil {
		return err
	}
	if s.Kind == Ed25519 || s.Kind == Ed448 { // these read the message twice
		tbs, err := c.stored.read(c.stored.tbs, c.stored.tbs.n)
		if err != nil {
			return err
		}
		return s.Verify(pub, tbs, c.Signature)
	}
	if !s.Hash.Available() {
		return fmt.Errorf("%w: hash of %s", ErrUnsupported, s.OID)
	}
	h := s.Hash.New()
	if _, err := io.Copy(h, io.NewSectionReader(c.stored.src, c.stored.tbs.at, c.stored.tbs.n)); err != nil {
		return fmt.Errorf("read stored list: %w", err)
	}
	return s.VerifyDigest(pub, h.Sum(nil), c.Signature)
}
