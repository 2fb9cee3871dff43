package blob

import (
	"crypto/md5" //nolint:gosec // a name on the wire, not a protection
	"crypto/sha256"
	"hash"
)

// digests of content while it is written.
type digests struct {
	size     int64 // digested so far
	sha, md5 hash.Cloner
}

// goOn is a copy to go on with: from the beginning where there is none yet, or
// it cannot be copied.
func (d *digests) goOn() *digests {
	if d != nil {
		sha, err1 := d.sha.Clone()
		sum, err2 := d.md5.Clone()
		if err1 == nil && err2 == nil {
			return &digests{size: d.size, sha: sha, md5: sum}
		}
	}
	return &digests{sha: sha256.New().(hash.Cloner), md5: md5.New().(hash.Cloner)} //nolint:gosec // as above
}

// write digests what stands at an offset, unless it is digested already.
func (d *digests) write(offset int64, p []byte) {
	if known := d.size - offset; known > 0 {
		p = p[min(known, int64(len(p))):]
	}
	d.sha.Write(p)
	d.md5.Write(p)
	d.size += int64(len(p))
}

func (d *digests) sum(b *Info) {
	d.sha.Sum(b.SHA256[:0])
	d.md5.Sum(b.MD5[:0])
}
