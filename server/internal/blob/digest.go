package blob

import (
	"crypto/md5" //nolint:gosec // a name on the wire, by which clients know a document, not a protection
	"crypto/sha256"
	"hash"
)

// digests of content while it is written.
type digests struct{ sha, md5 hash.Cloner }

func newDigests() *digests {
	return &digests{sha: sha256.New().(hash.Cloner), md5: md5.New().(hash.Cloner)} //nolint:gosec // as above
}

// goOn is a copy to go on with.
func (d *digests) goOn() *digests {
	sha, err1 := d.sha.Clone()
	sum, err2 := d.md5.Clone()
	if err1 != nil || err2 != nil {
		panic("blob: a hash of the standard library cannot be cloned") // they can, since Go 1.25
	}
	return &digests{sha: sha, md5: sum}
}

func (d *digests) write(p []byte) {
	d.sha.Write(p)
	d.md5.Write(p)
}

func (d *digests) sum(b *Info) {
	d.sha.Sum(b.SHA256[:0])
	d.md5.Sum(b.MD5[:0])
}
